// Tells the other gateways, by way of Redis, and this one's operations how this gateway is.

internal import EnrouteWire
internal import HTTPValues
internal import LiveState
internal import NIOCore
internal import Realtime
internal import REST
internal import TrafficControl

/// Says how this gateway is, every few seconds.
package actor HealthReporter {
    /// No other gateway's, nor that of this one when it starts again.
    nonisolated let id: String
    private let name: String
    private let fleet: GatewayLoops
    private let registry: GatewayRegistry
    private let startedAt = Int64.now
    private var (live, ledger) = (Trips(), Trips())

    /// Round trips that are remembered: of five minutes.
    private static let maxRoundTrips = 60

    private struct Trips {
        var last: TimeAmount?
        var window = LatencyWindow(most: HealthReporter.maxRoundTrips)

        mutating func add(_ trip: TimeAmount?) {
            self.last = trip
            if let trip { self.window.add(trip) }
        }

        var latency: GatewayHealth.Latency {
            GatewayHealth.Latency(
                lastMs: self.last.map { Double($0.nanoseconds) / 1_000_000 },
                medianMs: self.window.percentile(50), p95Ms: self.window.percentile(95))
        }
    }

    init(name: String, fleet: GatewayLoops, registry: GatewayRegistry) {
        // A host's name may hold what a key's name is better without.
        let readable = name.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") ? $0 : "-" }.prefix(40)
        self.id = "\(String(readable))-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        (self.name, self.fleet, self.registry) = (name, fleet, registry)
    }

    /// Until it is cancelled; then it is not missed.
    func run() async {
        while !Task.isCancelled {
            let trips = await self.fleet.roundTrips()
            self.live.add(trips.live)
            self.ledger.add(trips.ledger)
            let (health, followed) = await self.health()
            // Where Redis is away nobody hears it, and the next word says the same.
            try? await self.registry.announce(self.id, try JSONDocument.bytes(health), followed: followed, now: .now)
                .get()
            try? await Task.sleep(for: GatewayRegistry.pace)
        }
        // Not waited for: the connections to Redis end soon.
        _ = self.registry.withdraw(self.id)
    }

    /// How it is now, and how many follow which job.
    func health() async -> (health: GatewayHealth, followed: [JobID: Int]) {
        let census = await self.fleet.census()
        let load = self.fleet.load
        let state: GatewayHealth.State =
            load.isDraining ? .draining : load.isShedding ? .overloaded : census.isDegraded ? .degraded : .serving
        let lag = load.loopLag(now: NIODeadline.now().uptimeNanoseconds, tick: UInt64(Deadlines.tick.nanoseconds))
        let health = GatewayHealth(
            name: self.name, version: EnrouteVersion.current, state: state, startedAt: self.startedAt,
            sessions: census.sessions, connections: load.openSockets, followedJobs: census.jobs,
            followers: census.followed.values.reduce(0, +), loopLagMs: lag, memoryBytes: ProcessLoad.residentBytes,
            live: self.live.latency, ledger: self.ledger.latency)
        return (health, census.followed)
    }
}

extension GatewayLoops {
    /// What is at the moment, on all loops together.
    struct Census: Sendable {
        var (sessions, jobs) = (0, 0)
        /// How many follow each job, of so many jobs as a gateway tells of.
        var followed: [JobID: Int] = [:]
        var isDegraded = false
    }

    func census() async -> Census {
        var census = Census()
        for (loop, state) in zip(self.loops, self.states) {
            let most = GatewayRegistry.mostFollowed - census.followed.count
            let part = try? await loop.submit {
                let state = state.value
                return (state.census, state.relay.followers(most: most), state.isDegraded)
            }.get()
            guard let (counts, followed, isDegraded) = part else { continue }
            census.sessions += counts.sessions
            census.jobs += counts.jobs
            census.isDegraded = census.isDegraded || isDegraded
            census.followed.merge(followed) { $0 + $1 }
        }
        return census
    }

    /// How long each instance takes to answer, as the first loop sees it; `nil`: it does not.
    func roundTrips() async -> (live: TimeAmount?, ledger: TimeAmount?) {
        let (loop, state) = (self.loops[0], self.states[0])
        return (try? await loop.flatSubmit { state.value.roundTrips() }.get()) ?? (nil, nil)
    }
}

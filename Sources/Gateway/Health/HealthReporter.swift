// Publishes this gateway's health to Redis, from where every gateway reads it for the operations page.

internal import EnrouteWire
internal import HTTPValues
internal import LiveState
internal import NIOCore
internal import Realtime
internal import REST
internal import Telemetry
internal import TrafficControl

/// Publishes this gateway's health every few seconds.
package actor HealthReporter {
    /// The ID of this gateway. It is unique, and changes with every start.
    nonisolated let id: String
    private let name: String
    private let gatewayLoops: GatewayLoops
    private let registry: GatewayRegistry
    private let startedAt = WallClock.nowMilliseconds
    private var (live, ledger) = (RoundTrips(), RoundTrips())

    /// The number of round-trip times to keep: those of the last five minutes.
    private static let maxRoundTrips = 60

    /// How long a stopping gateway waits for its removal from Redis.
    private static let removalMilliseconds: Int64 = 1_000

    private struct RoundTrips {
        var last: TimeAmount?
        var window = LatencyWindow(capacity: HealthReporter.maxRoundTrips)

        mutating func add(_ time: TimeAmount?) {
            self.last = time
            if let time { self.window.add(time) }
        }

        var latency: GatewayHealth.Latency {
            GatewayHealth.Latency(
                lastMs: self.last.map { Double($0.nanoseconds) / 1_000_000 },
                medianMs: self.window.percentile(50), p95Ms: self.window.percentile(95))
        }
    }

    init(name: String, gatewayLoops: GatewayLoops, registry: GatewayRegistry) {
        // The ID is part of a Redis key, so characters that need escaping there are replaced.
        let readable = name.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") ? $0 : "-" }.prefix(40)
        self.id = "\(String(readable))-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        (self.name, self.gatewayLoops, self.registry) = (name, gatewayLoops, registry)
    }

    /// Publishes until the task is cancelled, and then removes this gateway from Redis.
    func run() async {
        while !Task.isCancelled {
            let readings = await self.gatewayLoops.clockReadings()
            self.live.add(readings.live?.roundTrip)
            self.ledger.add(readings.ledger?.roundTrip)
            self.gatewayLoops.clocks.observe(readings.live, of: .live)
            self.gatewayLoops.clocks.observe(readings.ledger, of: .ledger)
            let replicas = await self.gatewayLoops.replicaCounts()
            self.gatewayLoops.replicas.observe(replicas.live, of: .live)
            self.gatewayLoops.replicas.observe(replicas.ledger, of: .ledger)
            let (health, census) = await self.health()
            // Failures are ignored: the next report replaces this one anyway.
            try? await self.registry.report(
                self.id, try JSONDocument.bytes(health), followed: census.followed, riders: census.riders,
                now: WallClock.nowMilliseconds
            )
            .get()
            try? await Task.sleep(for: GatewayRegistry.reportInterval)
        }
        // The connections to Redis close afterwards. Without Redis, the entry expires by itself.
        await self.registry.remove(self.id).wait(milliseconds: Self.removalMilliseconds)
    }

    /// Returns the current health, and the census that it was calculated from.
    func health() async -> (health: GatewayHealth, census: GatewayLoops.Census) {
        let census = await self.gatewayLoops.census()
        let load = self.gatewayLoops.load
        let state: GatewayHealth.State =
            load.isDraining ? .draining : load.isOverloaded ? .overloaded : census.isDegraded ? .degraded : .serving
        let lag = load.loopLag(now: NIODeadline.now().uptimeNanoseconds, tick: UInt64(Deadlines.tick.nanoseconds))
        let health = GatewayHealth(
            name: self.name, version: EnrouteVersion.current, state: state, startedAt: self.startedAt,
            sessions: census.sessions, connections: load.openSockets, followedJobs: load.followedJobs.count,
            followers: census.followed.values.reduce(0, +), loopLagMs: lag, memoryBytes: ProcessLoad.residentBytes,
            live: self.live.latency, ledger: self.ledger.latency)
        return (health, census)
    }
}

extension GatewayLoops {
    /// A snapshot of all event loops together.
    struct Census: Sendable {
        var sessions = 0
        /// The number of followers by job, for at most `GatewayRegistry.maxFollowedJobs` jobs.
        var followed: [JobID: Int] = [:]
        /// The number of sessions by rider, for at most `GatewayRegistry.maxRiders` riders.
        var riders: [PersonID: Int] = [:]
        var isDegraded = false
    }

    func census() async -> Census {
        var census = Census()
        for (loop, state) in zip(self.loops, self.states) {
            let most = GatewayRegistry.maxFollowedJobs - census.followed.count
            let mostRiders = GatewayRegistry.maxRiders - census.riders.count
            let part = try? await loop.submit {
                let state = state.value
                let riders = state.riderSessionCounts(most: mostRiders)
                return (state.census, state.relay.followers(most: most), riders, state.isDegraded)
            }.get()
            guard let (counts, followed, riders, isDegraded) = part else { continue }
            census.sessions += counts.sessions
            census.isDegraded = census.isDegraded || isDegraded
            census.followed.merge(followed) { $0 + $1 }
            census.riders.merge(riders) { $0 + $1 }
        }
        return census
    }

    /// The replicas of both Redis instances, as the first event loop has last read them; `nil` for one that does not answer.
    func replicaCounts() async -> (live: Int?, ledger: Int?) {
        let (loop, state) = (self.loops[0], self.states[0])
        return (try? await loop.submit { state.value.replicas }.get()) ?? (nil, nil)
    }

    /// Reads the clocks of both Redis instances on the first event loop; `nil` for one that does not answer.
    func clockReadings() async -> (live: ClockReading?, ledger: ClockReading?) {
        let (loop, state) = (self.loops[0], self.states[0])
        return (try? await loop.flatSubmit { state.value.clockReadings() }.get()) ?? (nil, nil)
    }
}

// What this gateway depends on, as it sees it now. Each event loop watches its own connections to Redis; services that are asked
// now and then are noted when they are. `/healthz` and the metrics show all of it, readiness none of it (Readiness.swift).

internal import Access
internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import Synchronization
internal import Telemetry

/// What one event loop sees of both roles of Redis. A value.
struct RedisWatch {
    private(set) var live: DependencyState
    private(set) var ledger: DependencyState

    /// - Parameter now: ms since the epoch.
    init(now: Int64) {
        self.live = DependencyState(.redisLive, isUp: false, since: now)
        self.ledger = DependencyState(.redisLedger, isUp: false, since: now)
    }

    /// - Parameters:
    ///   - live: since when a connection to it has been silent; `nil` while all of them answer.
    ///   - now: by the clock of `live` and `ledger`.
    ///   - time: the same moment, ms since the epoch.
    mutating func observe(live: NIODeadline?, ledger: NIODeadline?, now: NIODeadline, time: Int64) {
        func since(_ silent: NIODeadline?) -> Int64 { time - (silent.map { (now - $0).nanoseconds / 1_000_000 } ?? 0) }
        self.live.heard(isUp: live == nil, since: since(live))
        self.ledger.heard(isUp: ledger == nil, since: since(ledger))
    }

    /// Roles that do not answer, for a line of the log.
    var silent: [DependencyState] { [self.live, self.ledger].filter { !$0.isUp } }
}

extension Dependency {
    /// The role's name in a line of the log; empty for what is no Redis.
    var redisRole: String {
        switch self {
        case .redisLive: "live"
        case .redisLedger: "ledger"
        case .tokenKeys, .queue, .azureMaps, .mapbox, .osrm: ""
        }
    }
}

extension Logger {
    /// The same for lines about one role of Redis, which they then name.
    func of(_ redis: Dependency) -> Logger {
        var logger = self
        logger[metadataKey: LogKey.role] = "\(redis.redisRole)"
        return logger
    }
}

/// Services that are asked now and then: what came of asking last. Safe from any thread.
final class DependencyNotes: Sendable {
    private let states = Mutex([Dependency: DependencyState]())

    /// - Parameter now: ms since the epoch.
    func note(_ dependency: Dependency, isUp: Bool, now: Int64 = .now) {
        self.states.withLock {
            $0[dependency, default: DependencyState(dependency, isUp: isUp, since: now)].heard(isUp: isUp, since: now)
        }
    }

    var all: [DependencyState] { self.states.withLock { Array($0.values) } }
}

/// The body of `/healthz`.
struct HealthReport: Encodable {
    struct Line: Encodable {
        let name: String
        let state: String
        /// RFC 3339, UTC.
        let since: String
        /// Where it is, without credentials.
        let place: String?
    }

    let gateway: String
    /// What `/readyz` says.
    let readiness: String
    let status: String
    let dependencies: [Line]

    init(
        gateway: String, readiness: Readiness, dependencies: [DependencyState], places: [Dependency: String]
    ) {
        self.gateway = gateway
        self.readiness = readiness.text
        self.status = dependencies.allSatisfy(\.isUp) ? "ok" : "degraded"
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        self.dependencies = dependencies.map { state in
            Line(
                name: state.dependency.rawValue, state: state.isUp ? "up" : "down",
                // Half a millisecond more: the style cuts off what a floating-point second lacks.
                since: Date(timeIntervalSince1970: (Double(state.since) + 0.5) / 1000).formatted(style),
                place: places[state.dependency])
        }
    }
}

extension Fleet {
    /// Everything that is configured and was asked at least once, in the order of `Dependency`.
    var dependencies: [DependencyState] {
        get async {
            var states = self.arrivalCounts.services.all
            for (loop, state) in zip(self.loops, self.states) {
                // A loop that does not answer says nothing; readiness does.
                guard let seen = try? await loop.submit({ state.value.redisWatch }).get() else { continue }
                states += [seen.live, seen.ledger]
            }
            if let keys = self.issuerKeys?.fetched, keys.good + keys.failed > 0 {
                let since = keys.failingSince ?? keys.goodSince
                states.append(DependencyState(.tokenKeys, isUp: keys.failingSince == nil, since: since))
            }
            let merged = Dictionary(states.map { ($0.dependency, $0) }) { $0.merged(with: $1) }
            return Dependency.allCases.compactMap { merged[$0] }
        }
    }

    var health: HealthReport {
        get async {
            let settings = self.settings
            return HealthReport(
                gateway: settings.name, readiness: self.readiness, dependencies: await self.dependencies,
                places: [.redisLive: "\(settings.live)", .redisLedger: "\(settings.ledger)"])
        }
    }
}

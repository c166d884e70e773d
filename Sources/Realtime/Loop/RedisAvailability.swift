// Whether both Redis roles answer, as seen by one event loop.

package import Logging
internal import NIOCore
package import Telemetry

/// The availability of both Redis roles, as seen by one event loop. A value.
package struct RedisAvailability {
    package private(set) var live: DependencyState
    package private(set) var ledger: DependencyState

    /// - Parameter now: ms since the epoch.
    init(now: Int64) {
        self.live = DependencyState(.redisLive, isUp: false, since: now)
        self.ledger = DependencyState(.redisLedger, isUp: false, since: now)
    }

    /// - Parameters:
    ///   - live: when the first unresponsive connection to the live instance stopped answering; `nil` while all of them answer.
    ///   - ledger: the same for the ledger.
    ///   - now: the current time on the clock of `live` and `ledger`.
    ///   - time: the current time in ms since the epoch.
    mutating func observe(live: NIODeadline?, ledger: NIODeadline?, now: NIODeadline, time: Int64) {
        func since(_ silent: NIODeadline?) -> Int64 { time - (silent.map { (now - $0).nanoseconds / 1_000_000 } ?? 0) }
        self.live.observe(isUp: live == nil, since: since(live))
        self.ledger.observe(isUp: ledger == nil, since: since(ledger))
    }

    /// The roles that do not answer, for log messages.
    var unresponsive: [DependencyState] { [self.live, self.ledger].filter { !$0.isUp } }
}

extension Dependency {
    /// The role's name in log messages; empty for dependencies other than Redis.
    var redisRole: String {
        switch self {
        case .redisLive: "live"
        case .redisLedger: "ledger"
        case .tokenKeys, .queue, .azureMaps, .mapbox, .osrm: ""
        }
    }
}

extension Logger {
    /// A logger for messages about one Redis role, which includes the role in their metadata.
    package func of(_ redis: Dependency) -> Logger {
        var logger = self
        logger[metadataKey: LogKey.role] = "\(redis.redisRole)"
        return logger
    }
}

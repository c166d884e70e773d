// Whether both roles of Redis answer, as one event loop sees it.

package import Logging
internal import NIOCore
package import Telemetry

/// What one event loop sees of both roles of Redis. A value.
package struct RedisAvailability {
    package private(set) var live: DependencyState
    package private(set) var ledger: DependencyState

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
    var unresponsive: [DependencyState] { [self.live, self.ledger].filter { !$0.isUp } }
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
    package func of(_ redis: Dependency) -> Logger {
        var logger = self
        logger[metadataKey: LogKey.role] = "\(redis.redisRole)"
        return logger
    }
}

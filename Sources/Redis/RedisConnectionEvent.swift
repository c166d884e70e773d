// Changes of the connections of one Redis role, for its observer or for the log.

package import Logging
internal import Telemetry

/// A change of a connection, or of the address to which connections are made.
package enum RedisConnectionEvent: Equatable, Sendable {
    /// An attempt to connect to this address failed.
    case attemptFailed(RedisError, at: String)
    /// The connection to this address ended; an attempt to connect follows.
    case connectionEnded(RedisError, at: String)
    /// Sentinels announced that this is the master now.
    case masterSwitched(to: String)
    /// The slots of a cluster belong to these masters now.
    case slotsMoved(to: String)

    package var message: Logger.Message {
        switch self {
        case .attemptFailed: "redis connection failed"
        case .connectionEnded: "redis connection ended"
        case .masterSwitched: "sentinels switched the master"
        case .slotsMoved: "cluster slots moved"
        }
    }

    package var error: RedisError? {
        switch self {
        case .attemptFailed(let error, _), .connectionEnded(let error, _): error
        case .masterSwitched, .slotsMoved: nil
        }
    }

    package var address: String {
        switch self {
        case .attemptFailed(_, let address), .connectionEnded(_, let address), .masterSwitched(let address),
            .slotsMoved(let address):
            address
        }
    }

    package var metadata: Logger.Metadata {
        // Empty when no Sentinel has named a master yet.
        var metadata: Logger.Metadata = self.address.isEmpty ? [:] : [LogKey.redis: "\(self.address)"]
        if let error { metadata[LogKey.reason] = "\(error.withoutArguments)" }
        return metadata
    }

    /// The level for clients without an observer, which report a failure to their caller.
    private var level: Logger.Level {
        switch self {
        case .attemptFailed: .debug
        case .connectionEnded: .warning
        case .masterSwitched, .slotsMoved: .notice
        }
    }

    /// Passes the event to the observer, or logs it if there is none.
    func report(to witness: (any RedisObserver)?, _ logger: Logger) {
        if let witness { return witness.observed(self) }
        logger.log(level: self.level, self.message, metadata: self.metadata)
    }
}

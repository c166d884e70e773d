// Logs each outage of Redis once for all event loops of a gateway: when the first loop notices it, and when the last
// loop has resynced its jobs.

internal import Logging
internal import Synchronization
internal import Telemetry

/// Logs the start and the end of each outage. Thread-safe.
final class OutageLog: Sendable {
    private struct State {
        /// The number of event loops for which Redis is unavailable.
        var loops = 0
        /// The roles and addresses of the first event loop.
        var roles: Logger.Metadata = [:]
    }

    private let logger: Logger
    private let state = Mutex(State())

    init(logger: Logger) { self.logger = logger }

    /// Redis has become unavailable for an event loop.
    ///
    /// - Parameter metadata: of the log messages. The message about the end has no reason.
    func started(_ metadata: Logger.Metadata) {
        let isFirst = self.state.withLock { state in
            state.loops += 1
            if state.loops == 1 { state.roles = metadata.filter { $0.key != LogKey.reason } }
            return state.loops == 1
        }
        if isFirst { self.logger.warning("redis unavailable or refusing writes", metadata: metadata) }
    }

    /// Redis is available for an event loop again, and its jobs are resynced.
    func ended() {
        let (isLast, roles) = self.state.withLock { state in
            state.loops -= 1
            return (state.loops == 0, state.roles)
        }
        if isLast { self.logger.warning("redis available again; followed jobs resynced", metadata: roles) }
    }
}

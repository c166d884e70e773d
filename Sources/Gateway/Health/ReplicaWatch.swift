// Detects that Redis has lost a replica. Nothing else reports it: reads and writes continue. But if the master fails
// next, data that no replica has is lost, or no replica can replace the master.

internal import Logging
internal import Synchronization
internal import Telemetry

/// Watches the number of replicas of both Redis instances: a gauge, and a log line when it changes. Thread-safe.
final class ReplicaWatch: Sendable {
    private struct State {
        /// The current number of each instance that answers.
        var current: [RedisMetrics.Role: Int] = [:]
        /// The last number of each instance.
        var last: [RedisMetrics.Role: Int] = [:]
    }

    private let addresses: [RedisMetrics.Role: String]
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameter addresses: of both instances, without credentials.
    init(addresses: [RedisMetrics.Role: String], logger: Logger) {
        (self.addresses, self.logger) = (addresses, logger)
    }

    /// - Parameter replicas: `nil` if the instance does not answer. The gauge then has no sample.
    func observe(_ replicas: Int?, of role: RedisMetrics.Role) {
        let last = self.state.withLock { state -> Int? in
            state.current[role] = replicas
            guard let replicas else { return nil }
            defer { state.last[role] = replicas }
            return state.last[role]
        }
        guard let replicas, let last, last != replicas else { return }
        var metadata: Logger.Metadata = [
            LogKey.role: "\(role.rawValue)", LogKey.redis: "\(self.addresses[role] ?? "")",
            LogKey.replicas: "\(replicas)",
        ]
        guard replicas < last else { return self.logger.notice("redis has more replicas", metadata: metadata) }
        metadata[LogKey.reason] = """
            \(last) were connected before; if the master fails now, changes that no replica has are lost, or nothing replaces it
            """
        self.logger.warning("redis has fewer replicas", metadata: metadata)
    }

    /// The replicas of each instance that answers.
    var gauge: GaugeSamples { GaugeSamples(replicas: self.state.withLock { $0.current }) }
}

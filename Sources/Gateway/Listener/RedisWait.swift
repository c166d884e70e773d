// Waits for Redis while a gateway connects to it. An earlier check has reached both instances with a few connections. A
// gateway opens more, and Redis may have reached its maximum number of clients, or become unavailable in between.

internal import Logging
internal import NIOCore
internal import Redis
internal import Telemetry
internal import TrafficControl

/// Repeats attempts to connect while Redis is unavailable. A value.
struct RedisWait {
    /// Time between two attempts.
    static let pace = Duration.seconds(1)
    /// The maximum number of different reasons to remember.
    private static let maxReasons = 100

    private let logger: Logger
    private var throttle = KeyedLogThrottle<String>(maxSubjects: Self.maxReasons)
    private var hasWaited = false

    init(logger: Logger) { self.logger = logger }

    /// Returns when `connect` has succeeded. Until then, it logs the reason every minute.
    ///
    /// - Parameter connect: may be called again after it failed.
    /// - Throws: an error that waiting does not solve, or `CancellationError`.
    mutating func untilConnected(_ connect: () async throws -> Void) async throws {
        while true {
            do {
                return try await connect()
            } catch let error as RedisError where error.isOutage {
                self.hasWaited = true
                let reason = error.withoutArguments
                if self.throttle.record(reason, now: .now()) != nil {
                    self.logger.warning("waiting for Redis", metadata: [LogKey.reason: "\(reason)"])
                }
            }
            try await Task.sleep(for: Self.pace)
        }
    }

    /// Logs the end of the wait, if there was one.
    func log() {
        if self.hasWaited { self.logger.notice("Redis answers; starting") }
    }
}

// Before a gateway accepts connections, it waits until both Redis answer, and checks them like `enroute check`. In production
// it does not start if that finds an error. An unavailable Redis is no such error: supervisors stop restarting a process that
// keeps exiting, and an operator would have to start it by hand.

import Gateway
import Realtime
import LiveState
import Logging
import NIOCore
import Telemetry
import TrafficControl

/// The check of Redis before a gateway starts.
struct StartCheck: Sendable {
    let inspection: RedisInspection
    let logger: Logger

    /// Time between two checks while Redis is unavailable.
    static let pace = Duration.seconds(1)
    /// Errors that may pass while the gateway runs: a missing replica usually reconnects, and memory can be freed or added.
    private static let passing: Set<Finding.Subject> = [.replicas, .memory]

    /// - Parameter inspection: run in production mode even during development, to warn about what would stop a gateway in
    ///   production.
    init(_ inspection: RedisInspection, logger: Logger) {
        self.inspection = inspection
        self.logger = logger
    }

    /// Returns when both Redis answer and the gateway may start. While it waits, it logs each minute what it waits for.
    ///
    /// - Throws: `ConfigurationError` with everything that is wrong, or `CancellationError`.
    func run() async throws {
        var strict = self.inspection
        strict.mode = .production
        var (isWaiting, throttle) = (false, KeyedLogThrottle<Finding.Subject>(maxSubjects: 1))
        while true {
            let outcome = try await strict.run()
            try self.evaluate(outcome)
            guard outcome.isUnavailable else { break }
            isWaiting = true
            if throttle.record(.connection, now: .now()) != nil {
                let missing = outcome.findings.filter { $0.subject == .connection }.map(\.what)
                self.logger.warning(
                    "waiting for Redis", metadata: [LogKey.reason: "\(missing.joined(separator: " "))"])
            }
            try await Task.sleep(for: Self.pace)
        }
        if isWaiting { self.logger.notice("Redis answers; starting") }
    }

    private func evaluate(_ outcome: RedisInspection.Outcome) throws {
        // With one Redis unavailable only connection errors count: other findings may depend on both.
        let mistakes = outcome.mistakes.filter { !outcome.isUnavailable || $0.subject == .connection }
        let isDevelopment = self.inspection.mode == .development
        // In development, only a refused connection keeps the gateway from starting.
        let grave = mistakes.filter { isDevelopment ? $0.subject == .connection : !Self.passing.contains($0.subject) }
        guard !grave.isEmpty else {
            for mistake in mistakes {
                self.logger.warning(
                    "starting although a check failed", metadata: [LogKey.reason: "\(mistake.what)"])
            }
            return
        }
        let isAcceptedInDevelopment = !isDevelopment && !grave.contains { $0.subject == .connection }
        let texts = grave.map { "\($0.role?.rawValue ?? "gateway"): \($0.what) \($0.why) Do: \($0.remedy)." }
        throw ConfigurationError(
            description: texts.joined(separator: "\n")
                + (isAcceptedInDevelopment
                    ? "\nFor development, without personal data of real people, set ENROUTE_MODE=development." : "")
                + "\nRun `enroute check` for the full report.")
    }
}

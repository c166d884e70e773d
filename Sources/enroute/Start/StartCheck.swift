// What a gateway does before it takes anybody: it waits until both Redis answer, and it looks at them as `enroute check` does.
// In production it does not start where that finds an error. A Redis that is away is no such error: a process that gave up
// would have to be started by hand, since supervisors stop trying.

import Gateway
import Realtime
import LiveState
import Logging
import NIOCore
import Telemetry

/// The look at Redis before a gateway starts.
struct StartCheck: Sendable {
    let inspection: RedisInspection
    let logger: Logger

    /// Between two looks at a Redis that is away.
    static let pace = Duration.seconds(1)

    /// - Parameters:
    ///   - inspection: judges in production mode, so that development hears what would stop it there.
    init(_ inspection: RedisInspection, logger: Logger) {
        self.inspection = inspection
        self.logger = logger
    }

    /// Returns when both answer and a gateway may start.
    ///
    /// - Throws: `ConfigurationError` with all that is wrong; `CancellationError`.
    func run() async throws {
        var strict = self.inspection
        strict.mode = .production
        var isSaid = false
        while true {
            let outcome = try await strict.run()
            try self.judge(outcome)
            guard outcome.isUnavailable else { break }
            if !isSaid {
                isSaid = true
                let missing = outcome.findings.filter { $0.subject == .connection }.map(\.what)
                self.logger.warning(
                    "waiting for Redis, not ready until it answers",
                    metadata: [LogKey.reason: "\(missing.joined(separator: " "))"])
            }
            try await Task.sleep(for: Self.pace)
        }
        if isSaid { self.logger.notice("Redis answers, the gateway starts") }
    }

    private func judge(_ outcome: RedisInspection.Outcome) throws {
        // Half of it is not enough to judge by: what one Redis lacks may be explained by the other.
        let mistakes = outcome.mistakes.filter { !outcome.isUnavailable || $0.subject == .connection }
        let isTrial = self.inspection.mode == .development
        // A replica that is away comes back. Development may be careless, but a gateway that is not let in can do nothing.
        let grave = mistakes.filter { isTrial ? $0.subject == .connection : $0.subject != .replicas }
        guard !grave.isEmpty else {
            for mistake in mistakes {
                self.logger.warning(
                    "starting although a check failed", metadata: [LogKey.reason: "\(mistake.what)"])
            }
            return
        }
        let texts = grave.map { "\($0.role?.rawValue ?? "gateway"): \($0.what) \($0.why) Do: \($0.remedy)." }
        throw ConfigurationError(
            description: texts.joined(separator: "\n")
                + (isTrial ? "" : "\nFor a trial without real people, ENROUTE_MODE=development starts nevertheless.")
                + "\n`enroute check` says all there is to say.")
    }
}

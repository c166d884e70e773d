// Before a gateway accepts connections, it waits until both Redis instances respond and the clocks agree, and checks
// both as `enroute check` does. In production it does not start if that finds an error. An unavailable Redis and a
// clock that is not set yet are not such errors: supervisors stop restarting a process that keeps exiting, and somebody
// would have to start it by hand.

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

    /// Time between two checks while the gateway waits.
    static let pace = Duration.seconds(1)

    /// - Parameter inspection: run in production mode even during development, to warn about what would stop a gateway in
    ///   production.
    init(_ inspection: RedisInspection, logger: Logger) {
        self.inspection = inspection
        self.logger = logger
    }

    /// Returns when both Redis instances respond and the gateway may start. While it waits, it logs the reason once a
    /// minute.
    ///
    /// - Throws: `ConfigurationError` with everything that is wrong, or `CancellationError`.
    func run() async throws {
        var strict = self.inspection
        strict.mode = .production
        var (awaited, throttle) = (StartDecision.Awaited?.none, KeyedLogThrottle<StartDecision.Awaited>(maxSubjects: 2))
        while true {
            switch try StartDecision(on: try await strict.run(), in: self.inspection.mode) {
            case .wait(let cause, let findings):
                awaited = cause
                if throttle.record(cause, now: .now()) != nil { self.log(cause, findings) }
                try await Task.sleep(for: Self.pace)
            case .start(let warnings):
                for warning in warnings {
                    self.logger.warning(
                        "starting although a check failed", metadata: [LogKey.reason: "\(warning.what)"])
                }
                switch awaited {
                case .redis: self.logger.notice("Redis answers; starting")
                case .clock: self.logger.notice("the clocks agree; starting")
                case nil: break
                }
                return
            }
        }
    }

    private func log(_ cause: StartDecision.Awaited, _ findings: [Finding]) {
        switch cause {
        case .redis:
            let missing = findings.map(\.what).joined(separator: " ")
            self.logger.warning("waiting for Redis", metadata: [LogKey.reason: "\(missing)"])
        case .clock:
            let wrong = findings.map { "\($0.role?.rawValue ?? "gateway"): \($0.what) Do: \($0.remedy)." }
            self.logger.warning(
                "waiting for the clock", metadata: [LogKey.reason: "\(wrong.joined(separator: " "))"])
        }
    }
}

/// What an inspection means for a gateway that starts.
enum StartDecision: Equatable {
    /// A condition that usually passes without an operator.
    enum Awaited: Hashable, Sendable { case redis, clock }

    case start(warnings: [Finding])
    case wait(Awaited, [Finding])

    /// Errors that may pass without a restart: a missing replica usually reconnects, memory can be freed or added,
    /// `maxclients` can be raised, and a time service synchronizes the clock.
    private static let passing: Set<Finding.Subject> = [.replicas, .memory, .clients, .clock]

    /// - Parameters:
    ///   - outcome: of an inspection in production mode.
    ///   - mode: of the gateway.
    /// - Throws: if only an operator can correct the problem.
    init(on outcome: RedisInspection.Outcome, in mode: DeploymentMode) throws(ConfigurationError) {
        // While one Redis is unavailable, findings about the other one may be wrong, because some depend on both.
        guard !outcome.isUnavailable else {
            self = .wait(.redis, outcome.findings.filter { $0.subject == .connection })
            return
        }
        let (mistakes, isDevelopment) = (outcome.mistakes, mode == .development)
        // In development, only a refused connection prevents the start.
        let lasting = mistakes.filter { isDevelopment ? $0.subject == .connection : !Self.passing.contains($0.subject) }
        guard lasting.isEmpty else { throw ConfigurationError(lasting, in: mode) }
        // After a boot, this machine's clock is wrong until it has been synchronized.
        let ofClock = isDevelopment ? [] : mistakes.filter { $0.subject == .clock }
        self = ofClock.isEmpty ? .start(warnings: mistakes) : .wait(.clock, ofClock)
    }
}

extension ConfigurationError {
    fileprivate init(_ mistakes: [Finding], in mode: DeploymentMode) {
        let isAcceptedInDevelopment = mode != .development && !mistakes.contains { $0.subject == .connection }
        let texts = mistakes.map { "\($0.role?.rawValue ?? "gateway"): \($0.what) \($0.why) Do: \($0.remedy)." }
        self.init(
            description: texts.joined(separator: "\n")
                + (isAcceptedInDevelopment
                    ? "\nFor development, without personal data of real people, set ENROUTE_MODE=development." : "")
                + "\nRun `enroute check` for the full report.")
    }
}

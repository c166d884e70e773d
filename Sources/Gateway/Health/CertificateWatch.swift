// Logs that clients reject the certificate of new connections. libssl presents an expired certificate without an error,
// and no operator sees the errors of the clients.

internal import Logging
internal import NIOCore
internal import SecureSocket
internal import Telemetry

/// Checks the dates of the listener's certificate while the gateway runs.
struct CertificateWatch: Sendable {
    let credentials: TLSCredentials
    let logger: Logger

    /// Time between two checks.
    static let interval = Duration.seconds(60)

    /// Decides when a lasting problem is logged again. A value.
    struct Reminders {
        /// Time between two log messages about the same problem.
        static let interval = TimeAmount.hours(1)

        private var logged: (problem: TLSConfigurationError, at: NIODeadline)?

        /// - Parameter problem: the current one; `nil` if there is none.
        /// - Returns: whether to log it.
        mutating func isDue(_ problem: TLSConfigurationError?, now: NIODeadline) -> Bool {
            guard let problem else {
                self.logged = nil
                return false
            }
            if let logged, logged.problem == problem, now - logged.at < Self.interval { return false }
            self.logged = (problem, now)
            return true
        }
    }

    /// Checks until the task is cancelled.
    func run() async {
        var reminders = Reminders()
        while !Task.isCancelled {
            self.check(&reminders, now: .now())
            try? await Task.sleep(for: Self.interval)
        }
    }

    func check(_ reminders: inout Reminders, now: NIODeadline) {
        let problem = self.credentials.dateProblem
        guard reminders.isDue(problem, now: now), let problem else { return }
        self.logger.error("clients reject the certificate", metadata: [LogKey.reason: "\(problem)"])
    }
}

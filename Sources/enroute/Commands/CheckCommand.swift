// enroute check: is what the configuration names fit to run on?

import Access
import ArgumentParser
import Foundation
import LiveState
import NIOPosix
import SecureSocket

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Looks at the configuration and at both Redis, and says what is wrong.",
        discussion: wrappable(
            """
            Reads the same settings as serve, connects to Redis and changes nothing there. Each finding says what is so,
            why it matters and what to do. It needs the settings of Redis only; what else serve needs and is not set is a
            warning. Exit codes: 0 no errors, 78 something is set wrong, 69 Redis is not there.

            ENROUTE_REDIS_LIVE_ADMIN_URL and ENROUTE_REDIS_LEDGER_ADMIN_URL may name users that see settings (CONFIG GET).
            Behind Sentinels or in a cluster it sees the node it is led to, not the others.

            Examples:
              enroute check
              enroute check --config /etc/enroute.env --format json
            """))

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    @Option(help: "text for people, json for programs.")
    var format = Format.text

    @Option(help: configurationFileHelp)
    var config: String?

    func run() async throws {
        try await exitingCleanly {
            var (mode, findings) = (DeploymentMode.production, [Finding]())
            var outcome = RedisInspection.Outcome()
            do {
                let configuration = try ProcessConfiguration(file: self.config)
                mode = try configuration.mode()
                findings += try await configuration.findings()
                let inspection = try configuration.inspection(group: MultiThreadedEventLoopGroup.singleton)
                outcome = try await inspection.run()
            } catch {
                findings += try [Finding(configuration: error, isNeeded: true)]
            }
            let report = CheckReport(mode: mode, findings: findings.gravestFirst + outcome.findings)
            switch self.format {
            case .text: say(report.text)
            case .json: say(try report.json())
            }
            let isMisconfigured = findings.contains { $0.severity == .error } || !outcome.mistakes.isEmpty
            if isMisconfigured { throw ExitCode.wrongConfiguration }
            if outcome.isUnavailable { throw ExitCode.unavailable }
        }
    }
}

extension ProcessConfiguration {
    /// What is wrong with the gateway's own settings. The look at Redis needs neither a certificate nor keys for tokens: that
    /// one is not set is no reason not to look, and no error here, since `serve` may run elsewhere with it.
    fileprivate func findings() async throws -> [Finding] {
        var findings = try await self.problems().map { problem in
            let mayBeMissing = problem.area == .certificate || problem.area == .tokenKeys
            return try Finding(configuration: problem.error, isNeeded: !mayBeMissing)
        }
        if let problem = try? self.credentials()?.dateProblem { findings.append(Finding(development: problem)) }
        return findings
    }
}

extension Finding {
    /// Of a setting that cannot be used.
    ///
    /// - Parameter isNeeded: that it is not set is an error too.
    /// - Throws: `error`, when it is about something else.
    fileprivate init(configuration error: any Error, isNeeded: Bool) throws {
        guard let code = exitCode(of: error), code == .wrongConfiguration || code == .unusableInput else { throw error }
        let isMissing = (error as? ConfigurationError)?.isMissing ?? false
        self.init(
            isMissing && !isNeeded ? .warning : .error, nil, .configuration, what: "\(error)",
            why: "A gateway does not start with this.",
            remedy: isMissing ? "set it where `enroute serve` runs" : "correct it where `enroute serve` runs")
    }

    /// Of a certificate that only development starts with.
    fileprivate init(development problem: TLSConfigurationError) {
        self.init(
            .warning, nil, .configuration, what: "\(problem)", why: "Clients refuse it, and production does not start.",
            remedy: "renew it")
    }
}

/// All findings, to be read by people or programs.
struct CheckReport: Encodable {
    let mode: DeploymentMode
    let errors: Int
    let warnings: Int
    let findings: [Finding]

    init(mode: DeploymentMode, findings: [Finding]) {
        self.mode = mode
        self.findings = findings
        self.errors = findings.count { $0.severity == .error }
        self.warnings = findings.count { $0.severity == .warning }
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    var text: String {
        let lines = self.findings.flatMap { finding -> [String] in
            let head = [finding.severity.rawValue, finding.role?.rawValue ?? "gateway", finding.subject.rawValue]
            let columns = zip(head, [8, 7, 12]).map { word, width in
                word.padding(toLength: max(width, word.count + 1), withPad: " ", startingAt: 0)
            }
            return [columns.joined() + finding.what]
                + (finding.why.isEmpty ? [] : ["        why: " + finding.why])
                + (finding.remedy.isEmpty ? [] : ["        do:  " + finding.remedy])
        }
        let sum = "enroute check (\(self.mode.rawValue)): errors: \(self.errors), warnings: \(self.warnings)."
        return (lines + [sum]).joined(separator: "\n")
    }
}

// enroute check: is what the configuration names fit to run on?

import ArgumentParser
import Foundation
import LiveState
import NIOPosix

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Looks at the configuration and at both Redis, and says what is wrong.",
        discussion: wrappable(
            """
            Reads the same settings as serve, connects to Redis and changes nothing there. Each finding says what is so,
            why it matters and what to do. Exit codes: 0 no errors, 78 something is set wrong, 69 Redis is not there.

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

    @Option(help: ArgumentHelp("Settings that the environment does not name.", valueName: "file"))
    var config: String?

    func run() async throws {
        try await exitingCleanly {
            let configuration = try await ProcessConfiguration(file: self.config)
            let settings = try await configuration.gateway(host: nil, port: nil)
            let inspection = try configuration.inspection(
                of: settings, group: MultiThreadedEventLoopGroup.singleton)
            let outcome = try await inspection.run()
            let report = CheckReport(mode: inspection.mode, findings: outcome.findings)
            switch self.format {
            case .text: say(report.text)
            case .json: say(try report.json())
            }
            let isMisconfigured = outcome.findings.contains {
                $0.severity == .error && !(outcome.isUnavailable && $0.subject == .connection)
            }
            if isMisconfigured { throw ExitCode.wrongConfiguration }
            if outcome.isUnavailable { throw ExitCode.unavailable }
        }
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
            let head = [finding.severity.rawValue, finding.role.rawValue, finding.subject.rawValue]
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

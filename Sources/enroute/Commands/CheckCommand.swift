// enroute check: checks the configuration and both Redis instances.

import Access
import ArgumentParser
import Foundation
import LiveState
import NIOPosix
import SecureSocket

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks the configuration and both Redis instances.",
        discussion: wrappable(
            """
            Uses the same configuration as serve. It connects to Redis and changes nothing there. Each finding says what was
            found, why it matters and what to do. Only the settings of Redis are required; a missing certificate or missing
            token keys are a warning. Exit codes: 0 no errors, 69 Redis is unavailable, 78 invalid configuration of Enroute
            or of Redis.

            ENROUTE_REDIS_LIVE_ADMIN_URL and ENROUTE_REDIS_LEDGER_ADMIN_URL may contain Redis users that may read the
            configuration of Redis (CONFIG GET). With Sentinels the current master is checked, and in a cluster every master.

            Examples:
              enroute check
              enroute check --config /etc/enroute/enroute.env --format json
            """))

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    @Option(help: "Output format: text or json.")
    var format = Format.text

    @Option(help: configurationFileHelp)
    var config: String?

    func run() async throws {
        try await exitingCleanly {
            var (mode, findings) = (DeploymentMode.production, [Finding]())
            var outcome = RedisInspection.Outcome()
            do {
                let configuration = try ProcessConfiguration(file: self.config, command: nil)
                mode = (try? configuration.mode()) ?? .production
                findings += try await configuration.findings()
                // Without valid Redis settings there is nothing to inspect; the findings above explain why.
                if let inspection = try? configuration.inspection(group: MultiThreadedEventLoopGroup.singleton) {
                    outcome = try await inspection.run()
                }
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
    /// The problems of the gateway's own settings. Checking Redis requires neither a certificate nor token keys, and
    /// `serve` may run elsewhere with them, so missing ones are only a warning.
    fileprivate func findings() async throws -> [Finding] {
        var findings = try await self.problems().map { problem in
            let mayBeMissing = problem.area == .certificate || problem.area == .tokenKeys
            return try Finding(configuration: problem.error, isNeeded: !mayBeMissing)
        }
        let credentials = try? self.credentials()
        if let problem = credentials?.dateProblem { findings.append(Finding(development: problem)) }
        if let problem = credentials?.chainProblem { findings.append(Finding(chain: problem)) }
        findings += self.sources.repeatedNames.map(Finding.init(repeatedName:))
        if (try? self.mode()) == .production { findings += self.tokenSecrets.map(Finding.init(tokenSecret:)) }
        return findings
    }
}

extension Finding {
    /// A finding about an invalid setting.
    ///
    /// - Parameter isNeeded: whether a missing setting is an error.
    /// - Throws: `error` itself when it is not about the configuration.
    fileprivate init(configuration error: any Error, isNeeded: Bool) throws {
        let isFinding =
            error is TLSConfigurationError || [.wrongConfiguration, .unusableInput].contains(exitCode(of: error))
        guard isFinding else { throw error }
        let isMissing = (error as? ConfigurationError)?.isMissing ?? false
        self.init(
            isMissing && !isNeeded ? .warning : .error, nil, .configuration, what: "\(error)",
            why: isMissing ? "Without it, `enroute serve` does not start." : "The gateway does not start.",
            remedy: isMissing ? "set it for `enroute serve`" : "correct it")
    }

    /// A finding about a certificate that only development mode accepts.
    fileprivate init(development problem: TLSConfigurationError) {
        self.init(
            .warning, nil, .configuration, what: "\(problem)",
            why: "Clients reject it, and in production the gateway does not start.",
            remedy: "renew the certificate")
    }
}

extension Finding {
    /// A finding about a certificate that some clients reject.
    fileprivate init(chain problem: TLSConfigurationError) {
        self.init(
            .warning, nil, .configuration, what: "\(problem)",
            why: "Browsers may fetch the missing certificate; curl, apps and other servers do not.",
            remedy: "use a file with the whole chain, the server's certificate first")
    }

    /// A finding about a token secret (HS256) that is set in production.
    ///
    /// - Parameter place: where it is set.
    fileprivate init(tokenSecret place: String) {
        self.init(
            .warning, nil, .configuration, what: "\(place) is set, which is for development.",
            why: "Anyone who can verify such a token can also sign one, for any person and role.",
            remedy:
                "verify tokens with public keys, ENROUTE_TOKEN_JWKS_URL or ENROUTE_TOKEN_PUBLIC_KEY_FILES, and unset it"
        )
    }

    /// A finding about a name that the configuration file sets more than once.
    fileprivate init(repeatedName problem: String) {
        self.init(
            .warning, nil, .configuration, what: problem, why: "Only the last of these lines has an effect.",
            remedy: "keep only one line with that name")
    }
}

/// All findings, as text or JSON.
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

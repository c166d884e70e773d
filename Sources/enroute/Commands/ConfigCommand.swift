// enroute config: prints the effective configuration of a gateway, and all problems in it.

import ArgumentParser
import Foundation
import REST

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Prints the effective configuration and checks it.",
        discussion: wrappable(
            """
            Prints every setting, its value and where the value comes from: the environment, a line of the file, or the
            default. Secrets and passwords in URLs are masked. It reads the files that settings name, but connects to
            nothing; `enroute check` also checks Redis. Errors are printed to standard error, and so are warnings about names
            that the file sets more than once. Exit codes: 0 no errors, 78 errors.

            Examples:
              enroute config
              enroute config --config /etc/enroute/enroute.env --format json
              enroute config --language-template > /etc/enroute/languages/fr.json
            """))

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json, env
    }

    @Option(help: .init("text, json, or env: a configuration file.", valueName: "kind"))
    var format = Format.text

    @Option(help: configurationFileHelp)
    var config: String?

    @Flag(help: "Prints all texts of the customer's page, in English, as a file for ENROUTE_PAGES_LANGUAGES_DIR.")
    var languageTemplate = false

    @Flag(help: ArgumentHelp("Prints deploy/configuration.md.", visibility: .hidden))
    var reference = false

    @Flag(help: ArgumentHelp("Prints deploy/enroute.env.example.", visibility: .hidden))
    var example = false

    func run() async throws {
        try await exitingCleanly {
            guard !self.languageTemplate else { return Output.say(LanguageFile.template) }
            guard !self.reference, !self.example else {
                return Output.say(self.reference ? SettingsReference.page : SettingsReference.example)
            }
            var (file, problems): ((path: String, settings: SettingsFile)?, [String]) = (nil, [])
            var isFileUsable = true
            do {
                file = try self.config.map { (path: $0, settings: try SettingsFile(path: $0)) }
            } catch {
                isFileUsable = false
                problems += "\(error)".split(separator: "\n").map(String.init)
            }
            let environment = ProcessInfo.processInfo.environment
            let configuration = ProcessConfiguration(SettingSources(environment: environment, file: file))
            problems += configuration.sources.unknownNames + configuration.sources.fileFaults(for: nil)
            if isFileUsable {
                problems += await configuration.problems().map { "\($0.error)" }.filter { !problems.contains($0) }
            } else {
                // Settings that seem to be missing may be in the file.
                problems.append(
                    "The values of settings were not checked, because the configuration file cannot be used.")
            }
            let warnings = configuration.sources.repeatedNames
            let effective = EffectiveConfiguration(configuration)
            switch self.format {
            case .text: say(effective.text)
            case .env: say(effective.environmentFile)
            case .json: say(try effective.json(problems: problems, warnings: warnings))
            }
            for warning in warnings { Output.complain("enroute: warning: \(warning)\n") }
            guard problems.isEmpty else {
                for problem in problems { Output.complain("enroute: \(problem)\n") }
                throw ExitCode.wrongConfiguration
            }
        }
    }
}

/// The help of --config.
let configurationFileHelp = ArgumentHelp(
    "Configuration file; the environment takes precedence.", valueName: "file")

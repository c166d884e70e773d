// Settings from the environment and a file, read by name. The table defines their allowed values and defaults; the
// files beside this one turn them into the settings of the gateway.

import Foundation
import Logging
import Redis

/// The settings of this process.
struct ProcessConfiguration {
    let sources: SettingSources
    /// The command that reads the settings; `nil` for one that may read all. Debug builds stop at a setting that does
    /// not list this command, so that the reference page stays complete.
    let command: String?

    /// - Parameters:
    ///   - file: as `SettingsFile` reads it; `nil` for the environment alone.
    ///   - command: the command that needs the settings; `nil` if it needs all. Files with secrets that it does not use need
    ///     not be readable.
    /// - Throws: `ConfigurationError` when a file cannot be read, or when something is set that is not a setting.
    init(file: String?, command: String?) throws {
        let settings = try file.map { (path: $0, settings: try SettingsFile(path: $0)) }
        self.init(SettingSources(environment: ProcessInfo.processInfo.environment, file: settings), command: command)
        let faults = self.sources.unknownNames + self.sources.fileFaults(for: command)
        guard faults.isEmpty else { throw ConfigurationError(description: faults.joined(separator: "\n")) }
    }

    init(_ sources: SettingSources, command: String? = nil) { (self.sources, self.command) = (sources, command) }

    // MARK: values

    /// Returns the text that is set, or else the default; `nil` if there is neither.
    func text(_ name: String) -> String? {
        let setting = self.setting(name)
        return self.sources.text(name) ?? setting.fallback.text
    }

    /// Whether the setting is set, rather than left at its default.
    func isSet(_ name: String) -> Bool { self.sources.text(self.setting(name).name) != nil }

    /// - Parameter why: what to set it to, as the end of a sentence, with further advice.
    func required(_ name: String, _ why: String) throws -> String {
        guard let value = self.text(name) else {
            if let fault = self.sources.fileFault(name) { throw ConfigurationError(description: fault) }
            throw ConfigurationError(description: "\(name) is not set. Set it to \(why)", isMissing: true)
        }
        return value
    }

    func integer(_ name: String) throws -> Int {
        guard case .integer(let range, _) = self.setting(name).type, let text = self.text(name) else {
            preconditionFailure("\(name) is not a number with a default")
        }
        guard let value = Int(text), range.contains(value) else {
            guard !UnknownSettings.isServiceLink(name, text) else {
                throw ConfigurationError(
                    description: "\(name) is \(text), which Kubernetes sets for a service of that name: set "
                        + "enableServiceLinks: false in the pod, or \(name) to a number.")
            }
            throw ConfigurationError(
                description:
                    "\(name) is \(text); it must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }

    func seconds(_ name: String) throws -> Duration { .seconds(try self.integer(name)) }

    func choice(_ name: String) throws -> String {
        guard case .choice(let choices) = self.setting(name).type, let text = self.text(name) else {
            preconditionFailure("\(name) is not a choice with a default")
        }
        guard choices.contains(text) else {
            let allowed =
                choices.count < 3 ? choices.joined(separator: " or ") : "one of \(choices.joined(separator: ", "))"
            throw ConfigurationError(description: "\(name) is \(text); it must be \(allowed).")
        }
        return text
    }

    func isOn(_ name: String) throws -> Bool { try self.choice(name) == "on" }

    /// The items of a list; empty if nothing is set.
    func list(_ name: String) -> [String] {
        (self.text(name) ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private func setting(_ name: String) -> Setting {
        guard let setting = SettingsTable.setting(name) else {
            preconditionFailure("\(name) is not in the table of settings")
        }
        if let command { assert(setting.commands.contains(command), "the commands of \(name) lack \(command)") }
        return setting
    }

    // MARK: settings that several commands use

    // `choice` allows only formats.
    func logFormat() throws -> LogFormat { LogFormat(rawValue: try self.choice("ENROUTE_LOG_FORMAT"))! }

    func logger() throws -> Logger {
        let format = try self.logFormat()
        var logger = Logger(label: "enroute") { _ in LogLineHandler(format: format) }
        // `choice` allows only levels.
        logger.logLevel = Logger.Level(rawValue: try self.choice("ENROUTE_LOG_LEVEL"))!
        return logger
    }

    /// - Parameter request: what to do instead with the gateway of `enroute dev`, whose Redis has no URL.
    func redis(withDev request: String? = nil) throws -> (live: RedisAddress, ledger: RedisAddress) {
        let advice =
            request.map { "With `enroute dev`, \($0) instead." } ?? "`enroute demo` and `enroute dev` need none."
        let url = try self.required(
            "ENROUTE_REDIS_LIVE_URL", "the URL of Redis, for example redis://127.0.0.1:6379. \(advice)")
        let live = try self.naming("ENROUTE_REDIS_LIVE_URL") { try RedisAddress(url: url) }
        return (live, try self.redisAddress("ENROUTE_REDIS_LEDGER_URL") ?? live)
    }

    /// - Returns: `nil` if it is not set.
    func redisAddress(_ name: String) throws -> RedisAddress? {
        try self.text(name).map { url in try self.naming(name) { try RedisAddress(url: url) } }
    }
}

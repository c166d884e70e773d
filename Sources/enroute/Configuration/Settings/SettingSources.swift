// Where the value of a setting comes from. The environment takes precedence over the file, and both over the default. A
// variable that is set to an empty string counts as not set, but hides the file's value. A value that may be secret can
// be read from a file of its own instead.

import Foundation

/// The settings of this process as text, with their origins.
struct SettingSources: Sendable {
    enum Origin: Sendable, Equatable {
        case environment
        case file(path: String, line: Int)
        /// The content of a file that `<name>_FILE` names.
        case content(path: String)
        /// Not set: the default applies.
        case fallback
    }

    private let environment: [String: String]
    private let file: (path: String, settings: SettingsFile)?
    private let lines: [String: SettingsFile.Setting]
    /// The contents of the files that settings name, and the problems with these files. The keys are the names of the
    /// settings whose values the files contain.
    private var contents: [String: String] = [:]
    private var faults: [String: String] = [:]

    init(environment: [String: String], file: (path: String, settings: SettingsFile)? = nil) {
        self.environment = environment
        self.file = file
        self.lines = Dictionary((file?.settings.settings ?? []).map { ($0.name, $0) }) { $1 }
        for setting in SettingsTable.all {
            guard let fileSetting = setting.fileSetting?.name, let path = self.literal(fileSetting) else { continue }
            guard self.literal(setting.name) == nil else {
                self.faults[setting.name] =
                    "\(setting.name) and \(fileSetting) are both set. Remove one of them, or set it to nothing."
                continue
            }
            do throws(SecretFile.Fault) {
                self.contents[setting.name] = try SecretFile.read(path, setting: fileSetting)
            } catch {
                self.faults[setting.name] = error.description
            }
        }
    }

    /// The text that is set; `nil` if the default applies.
    func text(_ name: String) -> String? {
        precondition(SettingsTable.setting(name) != nil, "\(name) is not in the table of settings")
        return self.literal(name) ?? self.contents[name]
    }

    /// The text in the environment or in the configuration file.
    private func literal(_ name: String) -> String? {
        let text = self.environment[name] ?? self.lines[name]?.value
        return text.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The problem of the file that contains the value of this setting; `nil` if there is none.
    func fileFault(_ name: String) -> String? { self.faults[name] }

    /// The problems of all these files, one sentence each.
    ///
    /// - Parameter command: only settings that this command uses; `nil` for all settings.
    func fileFaults(for command: String?) -> [String] {
        SettingsTable.all.filter { command.map($0.commands.contains) ?? true }.compactMap { self.faults[$0.name] }
    }

    func origin(of name: String) -> Origin {
        guard self.text(name) != nil else { return .fallback }
        guard self.literal(name) != nil else {
            return .content(path: self.literal(name + Setting.fileSuffix) ?? "")
        }
        if self.environment[name] != nil { return .environment }
        return .file(path: self.file?.path ?? "", line: self.lines[name]?.line ?? 0)
    }

    /// Names that the configuration file sets more than once, one sentence each.
    var repeatedNames: [String] {
        guard let file else { return [] }
        return file.settings.repeated.map { name, lines in
            "\(file.path): \(name) is set in lines \(lines.map(String.init).joined(separator: ", ")). The last one applies."
        }
    }

    /// The problems of the names that are set, one sentence each.
    var unknownNames: [String] { UnknownSettings.faults(environment: self.environment, file: self.file) }
}

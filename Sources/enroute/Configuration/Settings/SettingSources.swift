// Where the value of a setting comes from. The environment takes precedence over the file, and both over the default. A variable
// that is set to an empty string counts as not set, and hides the file's value.

import Foundation

/// The settings of this process as text, with their origins.
struct SettingSources: Sendable {
    enum Origin: Sendable, Equatable {
        case environment
        case file(path: String, line: Int)
        /// Not set: the default applies.
        case fallback
    }

    private let environment: [String: String]
    private let file: (path: String, settings: SettingsFile)?
    private let lines: [String: SettingsFile.Setting]

    init(environment: [String: String], file: (path: String, settings: SettingsFile)? = nil) {
        self.environment = environment
        self.file = file
        self.lines = Dictionary((file?.settings.settings ?? []).map { ($0.name, $0) }) { $1 }
    }

    /// The text that is set; `nil` where the default applies.
    func text(_ name: String) -> String? {
        precondition(SettingsTable.setting(name) != nil, "\(name) is not in the table of settings")
        let text = self.environment[name] ?? self.lines[name]?.value
        return text.flatMap { $0.isEmpty ? nil : $0 }
    }

    func origin(of name: String) -> Origin {
        guard self.text(name) != nil else { return .fallback }
        if self.environment[name] != nil { return .environment }
        return .file(path: self.file?.path ?? "", line: self.lines[name]?.line ?? 0)
    }

    /// What is wrong with the names that are set, a sentence each.
    var unknownNames: [String] { UnknownSettings.faults(environment: self.environment, file: self.file) }
}

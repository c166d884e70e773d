// Declares a setting: its name, default, allowed values and help text. The help, `enroute config`, the example file and
// the reference page are generated from it.

/// One setting: an environment variable, which a configuration file may set too.
struct Setting: Sendable {
    /// The name of the environment variable.
    let name: String
    let type: SettingType
    let fallback: SettingDefault
    /// One sentence for help texts.
    let summary: String
    /// More for the reference page: consequences, examples, what happens at the limits. Empty if the summary is enough.
    let details: String
    let secrecy: Secrecy
    /// The commands that use it, without `check` and `config`, which read every setting. Other commands must not read
    /// it (`ProcessConfiguration.command`).
    let commands: [String]

    /// How `enroute config` prints a value.
    enum Secrecy: Sendable {
        case visible
        /// A URL. Its value may contain a password or an access key.
        case url
        /// No part of the value is printed.
        case secret
    }

    init(
        _ name: String, _ type: SettingType, default fallback: SettingDefault = .unset, _ summary: String,
        details: String = "", secrecy: Secrecy = .visible, commands: [String] = ["serve"]
    ) {
        self.name = name
        self.type = type
        self.fallback = fallback
        self.summary = summary
        self.details = details
        self.secrecy = secrecy
        self.commands = commands
    }

    /// The setting for the path of a file that contains this one's value; `nil` if the value is not secret.
    var fileSetting: Setting? {
        guard self.secrecy != .visible else { return nil }
        return Setting(
            self.name + Self.fileSuffix, .text("path of a file"), "File with the value of `\(self.name)`.",
            commands: self.commands)
    }

    static let fileSuffix = "_FILE"
}

/// The values that a setting allows, as far as they can be checked without other settings.
enum SettingType: Sendable, Equatable {
    case choice([String])
    /// A whole number, with its unit ("seconds") or the meaning of 0 ("0 for no limit").
    case integer(ClosedRange<Int>, unit: String)
    /// Any text; the parameter describes its form.
    case text(String)
    /// Several values, separated by commas; the parameter describes one.
    case list(String)

    static let onByDefault = SettingType.choice(["on", "off"])
    static let offByDefault = SettingType.choice(["off", "on"])

    /// The description of the values on the reference page.
    var description: String {
        switch self {
        case .choice(let choices) where choices.count == 2: choices.map { "`\($0)`" }.joined(separator: " or ")
        case .choice(let choices): "one of " + choices.map { "`\($0)`" }.joined(separator: ", ")
        case .integer(let range, let unit):
            "whole number from \(range.lowerBound) to \(range.upperBound)"
                + (unit.isEmpty ? "" : unit.first == "0" ? "; \(unit)" : ", in \(unit)")
        case .text(let form): form
        case .list(let form): "list, separated by commas; each item: \(form)"
        }
    }
}

/// The value of a setting that is not set.
enum SettingDefault: Sendable, Equatable {
    /// No default: without a value, the feature is off or the setting is required.
    case unset
    /// The command does not work without it.
    case required
    case value(String)
    /// A value that is known only when the process runs, and a description of it.
    case computed(String, value: @Sendable () -> String)
    /// A description of what applies instead: "the value of ENROUTE_REDIS_LIVE_URL".
    case described(String)

    static func number(_ value: Int) -> SettingDefault { .value("\(value)") }

    /// A default that a library defines as a duration.
    static func seconds(_ duration: Duration) -> SettingDefault { .value("\(duration.components.seconds)") }

    static func == (one: SettingDefault, other: SettingDefault) -> Bool { one.text == other.text }

    /// The value itself; `nil` if there is none.
    var text: String? {
        switch self {
        case .value(let value): value
        case .computed(_, let value): value()
        case .unset, .required, .described: nil
        }
    }

    /// The description on the reference page.
    var description: String {
        switch self {
        case .unset: "not set"
        case .required: "none; required"
        case .value(let value): "`\(value)`"
        case .computed(let what, _), .described(let what): what
        }
    }
}

/// A group of settings whose names have the same beginning.
struct SettingGroup: Sendable {
    let title: String
    /// The text about all settings of the group, for the reference page.
    let introduction: String
    let settings: [Setting]

    /// - Parameter settings: after each setting whose value may be secret, the setting for a file with its value is
    ///   inserted.
    init(_ title: String, _ introduction: String = "", _ settings: [Setting]) {
        self.title = title
        self.introduction = introduction
        self.settings = settings.flatMap { [$0] + [$0.fileSetting].compactMap { $0 } }
    }
}

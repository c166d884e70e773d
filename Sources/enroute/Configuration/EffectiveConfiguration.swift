// The configuration as `enroute config` prints it: each setting, its value, and where the value comes from. Secrets are masked.

import Foundation

/// All settings with their values.
struct EffectiveConfiguration {
    struct Entry: Encodable {
        let name: String
        /// Masked; `nil` if nothing is set and there is no default.
        let value: String?
        /// "environment", "file", "content" or "default".
        let source: String
        /// The configuration file, or the file that contains the value.
        let file: String?
        let line: Int?
        let isSecret: Bool
        /// Describes what applies if there is no value.
        let unset: String?

        /// The source, in words for people.
        var place: String {
            guard let file else { return self.source }
            return self.line.map { "\(file), line \($0)" } ?? "content of \(file)"
        }
    }

    let groups: [(title: String, entries: [Entry])]

    init(_ configuration: ProcessConfiguration) {
        self.groups = SettingsTable.groups.map { group in
            (group.title, group.settings.map { Self.entry($0, configuration) })
        }
    }

    private static func entry(_ setting: Setting, _ configuration: ProcessConfiguration) -> Entry {
        let (source, file, line): (String, String?, Int?) =
            switch configuration.sources.origin(of: setting.name) {
            case .environment: ("environment", nil, nil)
            case .file(let path, let line): ("file", path, line)
            case .content(let path): ("content", path, nil)
            case .fallback: ("default", nil, nil)
            }
        let value = configuration.text(setting.name).map { SettingMask.visible($0, setting.secrecy) }
        return Entry(
            name: setting.name, value: value, source: source, file: file, line: line,
            isSecret: setting.secrecy == .secret,
            unset: value == nil ? setting.fallback.description.withoutMarkdown : nil)
    }

    /// A table for people in each group.
    var text: String {
        self.groups.map { group in
            let width = group.entries.map(\.name.count).max() ?? 0
            let rows = group.entries.map { entry in
                let name = entry.name.padding(toLength: width, withPad: " ", startingAt: 0)
                guard let value = entry.value else { return "  \(name)  (\(entry.unset ?? "not set"))" }
                return "  \(name)  \(value)" + (entry.source == "default" ? "" : "    [\(entry.place)]")
            }
            return ([group.title] + rows).joined(separator: "\n")
        }.joined(separator: "\n\n")
    }

    /// A configuration file: settings that are set, and the others as comments. Masked values are comments too, so that
    /// nobody uses them by mistake. So are contents of files, because the file sets their paths.
    var environmentFile: String {
        self.groups.map { group in
            let rows = group.entries.map { entry in
                guard let value = entry.value else { return "# \(entry.name)=" }
                let line = "\(entry.name)=\(Self.quoted(value))"
                guard entry.source != "default" else { return "# \(line)" }
                let isComment = value.contains(SettingMask.mask) || entry.source == "content"
                return (isComment ? "# \(line)" : line) + "  # \(entry.place)"
            }
            return (["# \(group.title)"] + rows).joined(separator: "\n")
        }.joined(separator: "\n\n")
    }

    /// In the form that `SettingsFile` reads.
    private static func quoted(_ value: String) -> String {
        guard value.contains(where: { " \t\n#\"'\\$`".contains($0) }) else { return value }
        var quoted = ""
        for character in value {
            switch character {
            case "\"", "\\", "$", "`": quoted += "\\\(character)"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            default: quoted.append(character)
            }
        }
        return "\"\(quoted)\""
    }

    /// - Parameters:
    ///   - problems: what is wrong, one sentence each.
    ///   - warnings: what is probably unintended, one sentence each.
    func json(problems: [String], warnings: [String] = []) throws -> String {
        struct Document: Encodable {
            let settings: [Entry]
            let problems: [String]
            let warnings: [String]
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let document = Document(settings: self.groups.flatMap(\.entries), problems: problems, warnings: warnings)
        return String(decoding: try encoder.encode(document), as: UTF8.self)
    }
}

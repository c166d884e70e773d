// The configuration file that --config names, in the format of .env files. Any other line is an error with its line
// number: an ignored setting is worse than a gateway that does not start.

import Foundation

/// The settings of a file, with their line numbers.
struct SettingsFile: Equatable {
    struct Setting: Equatable {
        let name: String
        let value: String
        let line: Int
    }

    /// In the order of the file. When a name occurs twice, the later one applies.
    private(set) var settings: [Setting] = []

    /// The malformed lines, and why they are malformed. Contains no values, which may be secret.
    struct Malformed: Error, Equatable {
        struct Fault: Equatable {
            let line: Int
            let reason: String
        }

        let faults: [Fault]
    }

    /// Maximum size of a file, in bytes.
    static let maxBytes = 1 << 20
    /// Maximum number of faults that are reported.
    static let maxFaults = 20

    /// Reads lines of `NAME=value` or `export NAME=value`, blank lines, and comments. A comment starts with `#` at the
    /// beginning of a line or after a space. A value may be in single quotes (taken literally) or in double quotes (with the
    /// escapes `\n`, `\t`, `\"`, `\\`, `\$`). Variables are not expanded: a `$` is a `$`.
    init(_ text: String) throws(Malformed) {
        var faults: [Malformed.Fault] = []
        let text = text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            do throws(Fault) {
                guard let (name, value) = try Self.read(line) else { continue }
                self.settings.append(Setting(name: name, value: value, line: index + 1))
            } catch {
                faults.append(.init(line: index + 1, reason: error.rawValue))
            }
        }
        guard faults.isEmpty else { throw Malformed(faults: Array(faults.prefix(Self.maxFaults))) }
    }

    private enum Fault: String, Error {
        case neither = "not NAME=value, a comment or a blank line"
        case yaml = "looks like YAML; settings are lines of NAME=value"
        case noName = "no valid name before the =; a name has letters, digits and _, and does not start with a digit"
        case openQuote = "the closing quote is missing"
        case afterQuote = "there is text after the closing quote"
        case control = "contains a control character"
    }

    /// - Returns: `nil` for a blank line or a comment.
    private static func read(_ line: Substring) throws(Fault) -> (name: String, value: String)? {
        var rest = line.trimmed
        guard let first = rest.first, first != "#" else { return nil }
        guard rest.unicodeScalars.allSatisfy({ $0.value >= 32 && $0.value != 127 || $0 == "\t" }) else {
            throw .control
        }
        if rest.hasPrefix("export "), !rest.dropFirst(7).trimmed.hasPrefix("=") { rest = rest.dropFirst(7).trimmed }
        guard let equals = rest.firstIndex(of: "=") else {
            throw rest == "---" || rest.contains(/^[A-Za-z0-9_. -]+:(\s|$)/) ? .yaml : .neither
        }
        let name = rest[..<equals].trimmed
        guard name.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_]*/) != nil else {
            throw name.contains(":") ? .yaml : name.isEmpty ? .noName : name.contains(" ") ? .neither : .noName
        }
        return (String(name), try Self.value(rest[rest.index(after: equals)...].trimmed))
    }

    private static func value(_ text: Substring) throws(Fault) -> String {
        guard let quote = text.first, quote == "\"" || quote == "'" else { return String(Self.withoutComment(text)) }
        var (value, rest) = ("", text.dropFirst())
        while let character = rest.popFirst() {
            if character == quote {
                let after = rest.trimmed
                guard after.isEmpty || after.first == "#" else { throw .afterQuote }
                return value
            }
            guard quote == "\"", character == "\\", let escaped = rest.first else {
                value.append(character)
                continue
            }
            rest.removeFirst()
            switch escaped {
            case "n": value.append("\n")
            case "t": value.append("\t")
            case "\"", "\\", "$", "`": value.append(escaped)
            default: value.append("\\\(escaped)")
            }
        }
        throw .openQuote
    }

    /// The text before a comment. A `#` without a space before it is part of the value, as in a password or a color.
    private static func withoutComment(_ text: Substring) -> Substring {
        if text.first == "#" { return "" }
        return text.firstRange(of: /\s#/).map { text[..<$0.lowerBound].trimmed } ?? text
    }
}

extension SettingsFile {
    /// - Throws: `ConfigurationError`, which contains the path and the malformed lines.
    init(path: String) throws {
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw ConfigurationError(
                description:
                    "The configuration file \(path) cannot be read. Check that it exists and that this user may read it."
            )
        }
        defer { try? handle.close() }
        let bytes: Data
        do {
            bytes = try handle.read(upToCount: Self.maxBytes + 1) ?? Data()
        } catch {
            throw ConfigurationError(
                description: "The configuration file \(path) cannot be read: \(ReadFault.reason(path, error))")
        }
        guard bytes.count <= Self.maxBytes else {
            throw ConfigurationError(
                description: "The configuration file \(path) is longer than \(Self.maxBytes) bytes.")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationError(description: "The configuration file \(path) is not UTF-8 text.")
        }
        do throws(Malformed) {
            try self.init(text)
        } catch {
            throw ConfigurationError(
                description: error.faults.map { "\(path), line \($0.line): \($0.reason)." }.joined(separator: "\n"))
        }
    }

    /// The names that occur more than once, with their lines, in the order of their first occurrence.
    var repeated: [(name: String, lines: [Int])] {
        let lines = Dictionary(grouping: self.settings, by: \.name).mapValues { $0.map(\.line) }
        return self.settings.compactMap { setting in
            guard let all = lines[setting.name], all.count > 1, all.first == setting.line else { return nil }
            return (setting.name, all)
        }
    }

    /// The values by name.
    var values: [String: String] { Dictionary(self.settings.map { ($0.name, $0.value) }) { $1 } }
}

extension Substring {
    /// Without leading and trailing spaces and tabs.
    fileprivate var trimmed: Substring {
        let start = self.drop { $0 == " " || $0 == "\t" }
        return start.lastIndex { $0 != " " && $0 != "\t" }.map { start[...$0] } ?? ""
    }
}

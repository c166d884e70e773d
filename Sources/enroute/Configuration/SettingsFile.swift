// The file that --config names: what any .env has, and nothing else. Any other line is an error with its number,
// because a setting that is passed over in silence is worse than a gateway that does not start.

import Foundation

/// Settings of a file, each with the line it stands on.
struct SettingsFile: Equatable {
    struct Setting: Equatable {
        let name: String
        let value: String
        let line: Int
    }

    /// In the order of the file; of two with one name the later counts.
    private(set) var settings: [Setting] = []

    /// What is wrong in it: the lines, and why. Never a value, which may be a secret.
    struct Malformed: Error, Equatable {
        struct Fault: Equatable {
            let line: Int
            let reason: String
        }

        let faults: [Fault]
    }

    /// Bytes of such a file, at most.
    static let mostBytes = 1 << 20
    /// Faults that are told of at once.
    static let mostFaults = 20

    /// Reads lines of `NAME=value`, also `export NAME=value`; blank ones; and comments, which begin with `#`, at the line's
    /// start or after a space. A value may stand in single quotes (as it is) or double quotes (with `\n`, `\t`, `\"`, `\\`, `\$`).
    /// Nothing is expanded: a `$` is a `$`.
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
        guard faults.isEmpty else { throw Malformed(faults: Array(faults.prefix(Self.mostFaults))) }
    }

    private enum Fault: String, Error {
        case neither = "it is neither NAME=value nor a comment nor blank"
        case yaml = "it looks like YAML; settings are lines of NAME=value"
        case noName = "before its = there is no name: letters, digits and _, no digit first"
        case openQuote = "its quote does not end on the line"
        case afterQuote = "something follows its closing quote"
        case control = "it holds a control character"
    }

    /// - Returns: `nil` for a line that sets nothing.
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

    /// A `#` without a space before it belongs to the value, as in a password or in a colour.
    private static func withoutComment(_ text: Substring) -> Substring {
        if text.first == "#" { return "" }
        return text.firstRange(of: /\s#/).map { text[..<$0.lowerBound].trimmed } ?? text
    }
}

extension SettingsFile {
    /// - Throws: `ConfigurationError`, which names the file and its lines.
    init(path: String) throws {
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw ConfigurationError(
                description: "The configuration file \(path) cannot be read. Is it there, and may this user read it?")
        }
        defer { try? handle.close() }
        let bytes: Data
        do {
            bytes = try handle.read(upToCount: Self.mostBytes + 1) ?? Data()
        } catch {
            throw ConfigurationError(
                description: "The configuration file \(path) cannot be read: \(error.localizedDescription)")
        }
        guard bytes.count <= Self.mostBytes else {
            throw ConfigurationError(
                description: "The configuration file \(path) is longer than \(Self.mostBytes) bytes.")
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

    /// By name, as the environment has them.
    var values: [String: String] { Dictionary(self.settings.map { ($0.name, $0.value) }) { $1 } }
}

extension Substring {
    /// Without spaces and tabs at both ends.
    fileprivate var trimmed: Substring {
        let start = self.drop { $0 == " " || $0 == "\t" }
        return start.lastIndex { $0 != " " && $0 != "\t" }.map { start[...$0] } ?? ""
    }
}

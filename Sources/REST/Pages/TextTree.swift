// The texts of a language file as a tree, in the shape of its JSON. The English tree is the template: another language
// may have fewer texts, but no additional ones, and each text must have the same placeholders.

internal import FoundationEssentials

/// Texts by name.
package enum TextTree: Sendable, Hashable {
    case text(String)
    case list([TextTree])
    case object([String: TextTree])

    /// The problem with a text.
    struct Fault: Error, Hashable {
        /// The path of the text, such as `customer.apology`, and what it must be.
        let reason: String
    }

    /// Maximum length of a text in characters.
    package static let longestText = 1_000

    subscript(name: String) -> TextTree? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// Compares a translation with this tree, and adds the paths of missing texts to `missing`.
    ///
    /// - Parameter path: of the translation in its file.
    /// - Returns: the translation, completed with texts of this tree.
    func completed(by translation: TextTree, at path: String, _ missing: inout [String]) throws(Fault) -> TextTree {
        switch (self, translation) {
        case (.text(let english), .text(let text)):
            try Self.check(text, english, path)
            return translation
        case (.list(let english), .list(let texts)):
            guard english.count == texts.count else {
                throw Fault(reason: "\(path) must be a list of \(english.count) texts")
            }
            var all: [TextTree] = []
            for (index, pair) in zip(english, texts).enumerated() {
                all.append(try pair.0.completed(by: pair.1, at: "\(path)[\(index)]", &missing))
            }
            return .list(all)
        case (.object(var members), .object(let texts)):
            for name in texts.keys.sorted() where members[name] == nil {
                throw Fault(reason: "\(Self.path(path, name)) is not a known text")
            }
            for (name, english) in members.sorted(by: { $0.key < $1.key }) {
                guard let text = texts[name] else {
                    missing.append(Self.path(path, name))
                    continue
                }
                members[name] = try english.completed(by: text, at: Self.path(path, name), &missing)
            }
            return .object(members)
        case (.text, _): throw Fault(reason: "\(path) must be a text")
        case (.list(let english), _): throw Fault(reason: "\(path) must be a list of \(english.count) texts")
        case (.object, _): throw Fault(reason: "\(path) must be an object with texts")
        }
    }

    private static func path(_ path: String, _ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    private static func check(_ text: String, _ english: String, _ path: String) throws(Fault) {
        guard text.unicodeScalars.count <= Self.longestText else {
            throw Fault(reason: "\(path) is longer than \(Self.longestText) characters")
        }
        guard !text.isEmpty || english.isEmpty else { throw Fault(reason: "\(path) is empty") }
        let (places, wanted) = (Self.places(in: text), Self.places(in: english))
        guard places == wanted else {
            let list = wanted.sorted().map { "{\($0)}" }.joined(separator: " and ")
            throw Fault(
                reason: wanted.isEmpty
                    ? "\(path) must have no places for values, but has {\(places.sorted().joined(separator: "}, {"))}"
                    : "\(path) must contain \(list), and no other place for a value")
        }
    }

    /// The names in braces: `{time}`.
    private static func places(in text: String) -> Set<String> {
        Set(
            text.split(separator: "{").dropFirst(text.hasPrefix("{") ? 0 : 1).compactMap { part in
                let name = part.prefix { $0 != "}" }
                let isName = !name.isEmpty && name.utf8.allSatisfy { $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A }
                return isName && name.endIndex < part.endIndex ? String(name) : nil
            })
    }
}

extension TextTree: Codable {
    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([TextTree].self) {
            self = .list(list)
        } else {
            self = .object(try value.decode([String: TextTree].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .text(let text): try value.encode(text)
        case .list(let list): try value.encode(list)
        case .object(let members): try value.encode(members)
        }
    }

    /// - Throws: if it is not JSON that consists of texts, lists and objects.
    init(json: [UInt8]) throws { self = try JSONDecoder().decode(TextTree.self, from: Data(json)) }

    /// - Parameter isPretty: with line breaks, for people.
    func json(isPretty: Bool = false) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting =
            isPretty ? [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes] : [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { preconditionFailure("texts are always valid JSON") }
        return Array(data)
    }
}

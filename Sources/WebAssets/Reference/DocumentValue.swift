// The API documents as values, for the reference page: members by name, references resolved.

internal import FoundationEssentials

/// A JSON value. Its text members come from this project's own documents.
enum DocumentValue: Decodable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case array([DocumentValue])
    case object([String: DocumentValue])

    init(json: [UInt8]) throws { self = try JSONDecoder().decode(Self.self, from: Data(json)) }

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let boolean = try? value.decode(Bool.self) {
            self = .boolean(boolean)
        } else if let integer = try? value.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let array = try? value.decode([DocumentValue].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: DocumentValue].self))
        }
    }

    subscript(name: String) -> DocumentValue? { self.object?[name] }
    var object: [String: DocumentValue]? { if case .object(let members) = self { members } else { nil } }
    var array: [DocumentValue]? { if case .array(let elements) = self { elements } else { nil } }
    var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The name at the end of `$ref`: of a schema, a parameter, a response or a message.
    var referenceName: String? { self["$ref"]?.text?.split(separator: "/").last.map(String.init) }

    /// Returns the value that `$ref` names, or the value itself. Members beside the reference take precedence.
    func resolved(in document: DocumentValue) -> DocumentValue {
        guard let path = self["$ref"]?.text, path.hasPrefix("#/"), var own = self.object else { return self }
        var target: DocumentValue? = document
        for name in path.dropFirst(2).split(separator: "/") { target = target?[String(name)] }
        guard let target else { preconditionFailure("\(path) is not in the document") }
        own["$ref"] = nil
        guard case .object(let members) = target.resolved(in: document) else { return target }
        return .object(members.merging(own) { $1 })
    }

    // MARK: text

    /// The value as it is written in a sentence.
    var short: String {
        switch self {
        case .text(let text): text
        case .integer(let number): "\(number)"
        case .number(let number): "\(number)"
        case .boolean(let isTrue): "\(isTrue)"
        case .null: "null"
        case .array, .object: self.pretty()
        }
    }

    /// The value as indented JSON, members by name. Short values stay on one line.
    func pretty(_ indent: String = "") -> String {
        let inner = indent + "  "
        switch self {
        case .text(let text): return Self.quoted(text)
        case .array(let elements):
            let flat = "[" + elements.map { $0.pretty(inner) }.joined(separator: ", ") + "]"
            guard flat.contains("\n") || flat.count > Self.width else { return flat }
            return "[\n" + elements.map { inner + $0.pretty(inner) }.joined(separator: ",\n") + "\n\(indent)]"
        case .object(let members):
            let parts = members.sorted { $0.key < $1.key }.map { (Self.quoted($0.key), $0.value.pretty(inner)) }
            let flat = "{" + parts.map { "\($0.0): \($0.1)" }.joined(separator: ", ") + "}"
            guard flat.contains("\n") || flat.count > Self.width else { return flat }
            return "{\n" + parts.map { "\(inner)\($0.0): \($0.1)" }.joined(separator: ",\n") + "\n\(indent)}"
        default: return self.short
        }
    }

    private static let width = 72

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

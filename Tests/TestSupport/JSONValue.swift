// A JSON text as a value, for traversal and for comparison regardless of white space and member order.

package import FoundationEssentials

package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// Integers are exact up to 2^53.
    case number(Double)
    case text(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// - Throws: the error of `JSONDecoder` for a text that is not JSON.
    package init(json: some Sequence<UInt8>) throws {
        self = try JSONDecoder().decode(JSONValue.self, from: Data(json))
    }

    /// A member of an object; `nil` when absent.
    package subscript(name: String) -> JSONValue? { self.object?[name] }

    package var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
    package var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
    package var text: String? { if case .text(let text) = self { text } else { nil } }
    package var number: Double? { if case .number(let number) = self { number } else { nil } }
    package var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

    /// The strings of an array of strings.
    package var texts: [String] { self.array?.compactMap(\.text) ?? [] }

    package var json: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // These values can always be encoded: their numbers were parsed from JSON.
        return (try? encoder.encode(self)) ?? Data()
    }

    /// Resolves a pointer such as `#/components/schemas/JobID` (RFC 6901).
    package func at(_ pointer: String) -> JSONValue? {
        pointer.split(separator: "/").dropFirst().reduce(Optional(self)) { value, part in
            value?[String(part).replacing("~1", with: "/").replacing("~0", with: "~")]
        }
    }

    /// Resolves a `$ref` of this value in `document`, or returns the value itself.
    package func resolved(in document: JSONValue) -> JSONValue {
        guard let pointer = self["$ref"]?.text else { return self }
        return document.at(pointer) ?? .null
    }
}

extension JSONValue: Codable {
    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let elements = try? value.decode([JSONValue].self) {
            self = .array(elements)
        } else {
            self = .object(try value.decode([String: JSONValue].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .bool(let bool): try value.encode(bool)
        case .number(let number): try value.encode(number)
        case .text(let text): try value.encode(text)
        case .array(let elements): try value.encode(elements)
        case .object(let members): try value.encode(members)
        }
    }
}

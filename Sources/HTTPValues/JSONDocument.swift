// JSON documents of the REST interface. Members are sorted by name, so equal documents have equal bytes.

internal import EnrouteWire
internal import FoundationEssentials

package enum JSONDocument {
    /// - Throws: `EncodingError` for numbers that JSON cannot represent, such as NaN.
    package static func bytes(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    /// - Returns: `nil` if the bytes are not such a document.
    package static func value<Value: Decodable>(_ type: Value.Type, of bytes: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }

    /// Why bytes cannot be decoded, if the decoder does not report it.
    package enum Fault: Error, Hashable {
        /// Not JSON.
        case malformed
        /// The member with this path has an invalid number, or one that does not fit into 64 bits.
        case number(path: String)
        /// A number has a fraction, or is too large, where an integer is expected.
        case integer
    }

    /// Explains why a type could not be decoded from bytes, after the decoder reported that they were corrupted. O(bytes).
    package static func fault(of bytes: [UInt8]) -> Fault {
        do {
            _ = try JSONDecoder().decode(Numbers.self, from: Data(bytes))
            return .integer
        } catch let fault as Fault {
            return fault
        } catch {
            return .malformed
        }
    }
}

/// Reads every number and text of a document, and fails with a `JSONDocument.Fault` for a number that cannot be read.
private struct Numbers: Decodable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Greater than the depth of any document of the interface. Deeper values are not read, so that no document exhausts the
    /// stack.
    private static let maxDepth = 16

    init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count <= Self.maxDepth else { return }
        if let members = try? decoder.container(keyedBy: Key.self) {
            for key in members.allKeys { _ = try members.decode(Numbers.self, forKey: key) }
        } else if var elements = try? decoder.unkeyedContainer() {
            while !elements.isAtEnd { _ = try elements.decode(Numbers.self) }
        } else {
            let value = try decoder.singleValueContainer()
            do {
                _ = try value.decode(Double.self)
            } catch is DecodingError {
                // Not a number. A text with a malformed escape fails with another error, which the caller understands.
                do { _ = try value.decode(String.self) } catch is DecodingError {}
            } catch {
                throw JSONDocument.Fault.number(path: decoder.codingPath.memberPath)
            }
        }
    }
}

// JSON of REST's own documents: members in the order of their names, so that the same is always written the same.

internal import FoundationEssentials

package enum JSONDocument {
    /// - Throws: `EncodingError` for a number that JSON has no form for. Every other value can be written.
    package static func bytes(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    /// - Returns: `nil` when it is no such document.
    package static func value<Value: Decodable>(_ type: Value.Type, of bytes: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }
}

// JSON documents of the REST interface. Members are sorted by name, so equal documents have equal bytes.

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
}

// JSON of REST's own documents: members in the order of their names, so that the same is always written the same.

internal import FoundationEssentials

package enum JSONDocument {
    /// - Parameter value: of texts, numbers, truth values and lists of such alone, which can not fail to encode.
    package static func bytes(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { Array($0) } ?? []
    }

    /// - Returns: `nil` when it is no such document.
    package static func value<Value: Decodable>(_ type: Value.Type, of bytes: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }
}

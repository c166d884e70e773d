// The texts that are part of the binary, which CTexts embeds.

internal import CTexts

enum EmbeddedTexts {
    /// Bytes of the embedded files by their names.
    static let files: [String: [UInt8]] = {
        let table = enroute_texts()
        return Dictionary(
            uniqueKeysWithValues: UnsafeBufferPointer(start: table.first, count: table.count).map { file in
                (String(cString: file.name), Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
            })
    }()

    /// - Parameter language: of a file that CTexts embeds.
    static func json(_ language: String) -> [UInt8] {
        guard let bytes = Self.files["\(language).json"] else { preconditionFailure("CTexts embeds no \(language)") }
        return bytes
    }
}

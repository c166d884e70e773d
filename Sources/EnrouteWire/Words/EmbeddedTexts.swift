// The translation files that are part of the binary. CTexts embeds them.

internal import CTexts

enum EmbeddedTexts {
    /// The bytes of the embedded files by file name.
    static let files: [String: [UInt8]] = {
        let table = enroute_texts()
        return Dictionary(
            uniqueKeysWithValues: UnsafeBufferPointer(start: table.first, count: table.count).map { file in
                (String(cString: file.name), Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
            })
    }()

    /// - Parameter language: the language of a file that CTexts embeds.
    static func json(_ language: String) -> [UInt8] {
        guard let bytes = Self.files["\(language).json"] else {
            preconditionFailure("CTexts does not embed \(language).json")
        }
        return bytes
    }
}

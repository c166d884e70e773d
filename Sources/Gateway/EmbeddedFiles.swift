// Files that are part of the binary: the pages and the parts of the API documents, which CWebAssets embeds.

internal import CWebAssets

/// Bytes of embedded files by their names, without folders.
enum EmbeddedFiles {
    static let pages = Self.files(enroute_page_files())
    static let documents = Self.files(enroute_document_parts())

    private static func files(_ assets: enroute_assets) -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: UnsafeBufferPointer(start: assets.first, count: assets.count).map { file in
                (String(cString: file.name), Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
            })
    }
}

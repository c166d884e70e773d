// The files that are part of the binary: the pages and the parts of the API documents. CWebAssets embeds them.

internal import CWebAssets

/// The bytes of the embedded files by file name, without folders.
package enum EmbeddedFiles {
    package static let pages = Self.files(enroute_page_files())
    static let documents = Self.files(enroute_document_parts())

    /// The files of the demo's control panel.
    package static let panel = Self.files(enroute_panel_files())

    private static func files(_ assets: enroute_assets) -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: UnsafeBufferPointer(start: assets.first, count: assets.count).map { file in
                (String(cString: file.name), Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
            })
    }
}

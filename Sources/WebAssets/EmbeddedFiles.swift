// The files that are part of the binary: the pages, the parts of the API documents and two documents of the protocol.
// CWebAssets embeds them.

internal import CWebAssets

/// The bytes of the embedded files by file name, without folders.
package enum EmbeddedFiles {
    package static let pages = Self.files(enroute_page_files())
    static let documents = Self.files(enroute_document_parts())
    /// Close codes and limits, for the API reference.
    static let protocolDocuments = Self.files(enroute_protocol_documents())

    /// The files of the demo's control panel.
    package static let panel = Self.files(enroute_panel_files())

    private static func files(_ assets: enroute_assets) -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: UnsafeBufferPointer(start: assets.first, count: assets.count).map { file in
                (String(cString: file.name), Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
            })
    }
}

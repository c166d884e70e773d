// The files of the pages: the embedded ones, or those in a folder of the deployment, which replace embedded files of the same
// name: a logo, colors, translations. The folder is read at each request, so changes need no restart.

internal import FoundationEssentials
package import HTTPValues

/// The files by name, without folders.
package struct PageFiles: Sendable {
    /// A folder with replacements; `nil` if there is none.
    package let folder: String?

    package init(folder: String?) {
        self.folder = folder
    }

    package struct File: Sendable {
        package let bytes: [UInt8]
        package let mediaType: String
        /// The entity tag of an embedded file; `nil` for a file of the folder, which may change at any time.
        package let tag: EntityTag?
        /// The compressed bytes with an entity tag of their own (RFC 9110 section 8.8.3.3); `nil` if they are not shorter.
        package var gzip: (bytes: [UInt8], tag: EntityTag)?

        /// A file that does not change until the process ends.
        package init(lasting bytes: [UInt8], mediaType: String) {
            (self.bytes, self.mediaType, self.tag) = (bytes, mediaType, EntityTag(digestOf: bytes))
            self.gzip = PageCompression.gzip(bytes).map { ($0, EntityTag(digestOf: $0)) }
        }

        /// A file that may be different at the next request.
        package init(passing bytes: [UInt8], mediaType: String) {
            (self.bytes, self.mediaType, self.tag, self.gzip) = (bytes, mediaType, nil, nil)
        }

        /// The content type, with a charset for text.
        package var contentType: String {
            self.mediaType.hasPrefix("image/") || self.mediaType.hasPrefix("font/")
                ? self.mediaType : "\(self.mediaType); charset=utf-8"
        }
    }

    /// Longest accepted file name, in characters.
    static let longestName = 64
    /// Largest accepted file in the folder, in bytes. Larger ones are ignored.
    static let longestFile = 4_194_304

    /// Media types by file extension. Files with other extensions are not served.
    private static let mediaTypes = [
        "html": "text/html", "js": "text/javascript", "css": "text/css", "json": "application/json",
        "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "webp": "image/webp", "woff2": "font/woff2",
        "webmanifest": "application/manifest+json",
    ]

    /// Every file in web/.
    private static let builtIn = Self.files(EmbeddedFiles.pages)

    private static func files(_ files: [String: [UInt8]]) -> [String: File] {
        Dictionary(
            uniqueKeysWithValues: files.map { name, bytes in
                guard let mediaType = Self.mediaType(of: name) else {
                    preconditionFailure("\(name) is not a valid name of a page file")
                }
                return (name, File(lasting: Self.sent(bytes, as: mediaType), mediaType: mediaType))
            })
    }

    /// Returns `nil` for an invalid name, so that nothing outside the folder and no hidden file can be requested.
    private static func mediaType(of name: String) -> String? {
        guard (1...Self.longestName).contains(name.utf8.count), name.utf8.first != UInt8(ascii: "."),
            !name.contains(".."), name.utf8.allSatisfy(Self.isPartOfName), let dot = name.lastIndex(of: ".")
        else { return nil }
        return Self.mediaTypes[String(name[name.index(after: dot)...])]
    }

    private static func isPartOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// Embedded scripts and styles are sent without comments, styles also without indentation and empty lines, and a deployment's
    /// files unchanged.
    private static func sent(_ bytes: [UInt8], as mediaType: String) -> [UInt8] {
        switch mediaType {
        case "text/javascript": PageText.withoutComments(bytes)
        case "text/css": PageText.compacted(PageText.withoutComments(bytes))
        default: bytes
        }
    }

    /// The scripts that pages load. Each is sent as a bundle with its imports.
    package static let entries: Set<String> = ["ops.js", "rider.js", "track.js"]

    private static let builtInBundles: [String: File] = Dictionary(
        uniqueKeysWithValues: Self.entries.compactMap { name in
            PageBundle.script(of: name) { Self.builtIn[$0]?.bytes }.map { script in
                (name, File(lasting: PageText.compacted(script), mediaType: "text/javascript"))
            }
        })

    /// Returns a file, or `nil` if it does not exist.
    package subscript(name: String) -> File? {
        Self.entries.contains(name) ? self.bundle(of: name) ?? self.single(name) : self.single(name)
    }

    /// Returns a page's script as one file, with the current modules of the folder.
    private func bundle(of name: String) -> File? {
        guard self.folder != nil else { return Self.builtInBundles[name] }
        var isBuiltIn = true
        let script = PageBundle.script(of: name) { module in
            let file = self.single(module)
            if file?.tag == nil { isBuiltIn = false }
            return file?.bytes
        }
        if isBuiltIn { return Self.builtInBundles[name] }
        return script.map { File(passing: $0, mediaType: "text/javascript") }
    }

    /// Returns a single file, without its imports.
    func single(_ name: String) -> File? {
        guard let mediaType = Self.mediaType(of: name) else { return nil }
        if let folder, let content = FileManager.default.contents(atPath: "\(folder)/\(name)"),
            content.count <= Self.longestFile
        {
            return File(passing: Array(content), mediaType: mediaType)
        }
        return Self.builtIn[name] ?? Self.icon(name)
    }

    // Each icon is drawn on first use and then cached.
    private static let smallIcon = File(lasting: PageIcon.small, mediaType: "image/png")
    private static let largeIcon = File(lasting: PageIcon.large, mediaType: "image/png")
    private static let maskableIcon = File(lasting: PageIcon.maskable, mediaType: "image/png")

    private static func icon(_ name: String) -> File? {
        switch name {
        case "icon-192.png": Self.smallIcon
        case "icon-512.png": Self.largeIcon
        case "icon-maskable-512.png": Self.maskableIcon
        default: nil
        }
    }
}

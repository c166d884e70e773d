// The files of the pages: built in, or from a folder of the deployment's own, where a file takes the place of the built-in
// one of its name: a logo, colours, words. The folder is read at each request, so that nothing is to be restarted.

internal import FoundationEssentials
package import HTTPValues

/// Files by their names, without folders.
package struct PageFiles: Sendable {
    /// `nil`: all are the built-in ones.
    package let folder: String?

    package init(folder: String?) {
        self.folder = folder
    }

    package struct File: Sendable {
        package let bytes: [UInt8]
        package let mediaType: String
        /// Of a built-in file: changes with the gateway. `nil` for one of the folder, which may change at any time.
        package let tag: EntityTag?
        /// The same by gzip, with a tag of its own (RFC 9110 section 8.8.3.3); `nil` where that is no shorter.
        package var gzip: (bytes: [UInt8], tag: EntityTag)?

        /// One that is as it is until the gateway ends.
        package init(lasting bytes: [UInt8], mediaType: String) {
            (self.bytes, self.mediaType, self.tag) = (bytes, mediaType, EntityTag(digestOf: bytes))
            self.gzip = PageCompression.gzip(bytes).map { ($0, EntityTag(digestOf: $0)) }
        }

        /// One that may be another at the next request.
        package init(passing bytes: [UInt8], mediaType: String) {
            (self.bytes, self.mediaType, self.tag, self.gzip) = (bytes, mediaType, nil, nil)
        }

        /// With its charset, where it is text.
        package var contentType: String {
            self.mediaType.hasPrefix("image/") || self.mediaType.hasPrefix("font/")
                ? self.mediaType : "\(self.mediaType); charset=utf-8"
        }
    }

    /// Of a name, characters at most.
    static let longestName = 64
    /// Of a file of the folder, bytes at most; a longer one is as if it were not there.
    static let longestFile = 4_194_304

    /// What may be asked for, by how a name ends.
    private static let mediaTypes = [
        "html": "text/html", "js": "text/javascript", "css": "text/css", "json": "application/json",
        "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "webp": "image/webp", "woff2": "font/woff2",
        "webmanifest": "application/manifest+json",
    ]

    /// Every file of Pages/.
    private static let builtIn = Self.files(EmbeddedFiles.pages)

    private static func files(_ files: [String: [UInt8]]) -> [String: File] {
        Dictionary(
            uniqueKeysWithValues: files.map { name, bytes in
                guard let mediaType = Self.mediaType(of: name) else {
                    preconditionFailure("\(name) is no name of a file that pages ask for")
                }
                return (name, File(lasting: Self.sent(bytes, as: mediaType), mediaType: mediaType))
            })
    }

    /// `nil` for what is no name of a file: so nothing outside the folder can be asked for, nor anything hidden in it.
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

    /// Our own scripts and styles go without their comments; a deployment's go as they are.
    private static func sent(_ bytes: [UInt8], as mediaType: String) -> [UInt8] {
        mediaType == "text/javascript" || mediaType == "text/css" ? PageText.withoutComments(bytes) : bytes
    }

    /// Scripts that pages name: each is sent with all that it imports in it.
    package static let entries: Set<String> = ["ops.js", "rider.js", "track.js"]

    private static let builtInBundles: [String: File] = Dictionary(
        uniqueKeysWithValues: Self.entries.compactMap { name in
            PageBundle.script(of: name) { Self.builtIn[$0]?.bytes }.map { script in
                (name, File(lasting: script, mediaType: "text/javascript"))
            }
        })

    /// `nil` when there is none.
    package subscript(name: String) -> File? {
        Self.entries.contains(name) ? self.bundle(of: name) ?? self.single(name) : self.single(name)
    }

    /// A page's script in one file; with a module of the folder in it as it is at this request.
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

    /// One file as it is.
    func single(_ name: String) -> File? {
        guard let mediaType = Self.mediaType(of: name) else { return nil }
        if let folder, let content = FileManager.default.contents(atPath: "\(folder)/\(name)"),
            content.count <= Self.longestFile
        {
            return File(passing: Array(content), mediaType: mediaType)
        }
        return Self.builtIn[name] ?? Self.icon(name)
    }

    // Each is drawn when it is first asked for, then kept.
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

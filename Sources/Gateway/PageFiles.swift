// The files of the pages: built in, or from a folder of the deployment's own, where a file takes the place of the built-in
// one of its name: a logo, colours, words. The folder is read at each request, so that nothing is to be restarted.

internal import FoundationEssentials

/// Files by their names, without folders.
struct PageFiles: Sendable {
    /// `nil`: all are the built-in ones.
    let folder: String?

    struct File: Sendable {
        let bytes: [UInt8]
        let mediaType: String
        /// Of a built-in file: changes with the gateway. `nil` for one of the folder, which may change at any time.
        let tag: EntityTag?

        /// With its charset, where it is text.
        var contentType: String {
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
    ]

    /// Every file of Pages/. One more is a line here and a name in Package.swift; a test compares the three.
    private static let builtIn: [String: File] = Self.files([
        "ops-feed.js": PackageResources.ops_feed_js,
        "ops-filter.js": PackageResources.ops_filter_js,
        "ops-job.js": PackageResources.ops_job_js,
        "ops-list.js": PackageResources.ops_list_js,
        "ops-panels.js": PackageResources.ops_panels_js,
        "ops-table.js": PackageResources.ops_table_js,
        "ops-words.js": PackageResources.ops_words_js,
        "ops.css": PackageResources.ops_css,
        "ops.html": PackageResources.ops_html,
        "ops.js": PackageResources.ops_js,
        "rider.html": PackageResources.rider_html,
        "track.css": PackageResources.track_css,
        "track.html": PackageResources.track_html,
        "track.js": PackageResources.track_js,
    ])

    static var builtInNames: Set<String> { Set(Self.builtIn.keys) }

    private static func files(_ files: [String: [UInt8]]) -> [String: File] {
        Dictionary(
            uniqueKeysWithValues: files.map { name, bytes in
                guard let mediaType = Self.mediaType(of: name) else {
                    preconditionFailure("\(name) is no name of a file that pages ask for")
                }
                return (name, File(bytes: bytes, mediaType: mediaType, tag: EntityTag(digestOf: bytes)))
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

    /// `nil` when there is none.
    subscript(name: String) -> File? {
        guard let mediaType = Self.mediaType(of: name) else { return nil }
        if let folder, let content = FileManager.default.contents(atPath: "\(folder)/\(name)"),
            content.count <= Self.longestFile
        {
            return File(bytes: Array(content), mediaType: mediaType, tag: nil)
        }
        return Self.builtIn[name]
    }
}

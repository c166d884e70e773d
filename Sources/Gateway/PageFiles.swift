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
        /// The same by gzip, with a tag of its own (RFC 9110 section 8.8.3.3); `nil` where that is no shorter.
        var gzip: (bytes: [UInt8], tag: EntityTag)?

        /// One that is as it is until the gateway ends.
        init(lasting bytes: [UInt8], mediaType: String) {
            (self.bytes, self.mediaType, self.tag) = (bytes, mediaType, EntityTag(digestOf: bytes))
            self.gzip = PageCompression.gzip(bytes).map { ($0, EntityTag(digestOf: $0)) }
        }

        /// One that may be another at the next request.
        init(passing bytes: [UInt8], mediaType: String) {
            (self.bytes, self.mediaType, self.tag, self.gzip) = (bytes, mediaType, nil, nil)
        }

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
        "webmanifest": "application/manifest+json",
    ]

    /// Every file of Pages/. One more is a line here and a name in Package.swift; a test compares the three.
    private static let builtIn: [String: File] = Self.files([
        "enroute-line.js": PackageResources.enroute_line_js,
        "enroute-pace.js": PackageResources.enroute_pace_js,
        "enroute-rest.js": PackageResources.enroute_rest_js,
        "enroute-view.js": PackageResources.enroute_view_js,
        "enroute-words.js": PackageResources.enroute_words_js,
        "enroute.js": PackageResources.enroute_js,
        "notice.html": PackageResources.notice_html,
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
        "page-sign-in.js": PackageResources.page_sign_in_js,
        "page-words.js": PackageResources.page_words_js,
        "page.css": PackageResources.page_css,
        "page.js": PackageResources.page_js,
        "rider-availability.js": PackageResources.rider_availability_js,
        "rider-device.js": PackageResources.rider_device_js,
        "rider-jobs.js": PackageResources.rider_jobs_js,
        "rider-list.js": PackageResources.rider_list_js,
        "rider-location.js": PackageResources.rider_location_js,
        "rider-maps.js": PackageResources.rider_maps_js,
        "rider-navigation.js": PackageResources.rider_navigation_js,
        "rider-panel.js": PackageResources.rider_panel_js,
        "rider-permission-words.js": PackageResources.rider_permission_words_js,
        "rider-permission.js": PackageResources.rider_permission_js,
        "rider-sharing.js": PackageResources.rider_sharing_js,
        "rider-sheet.js": PackageResources.rider_sheet_js,
        "rider-silence.js": PackageResources.rider_silence_js,
        "rider-tasks.js": PackageResources.rider_tasks_js,
        "rider-travel.js": PackageResources.rider_travel_js,
        "rider-words.js": PackageResources.rider_words_js,
        "rider.css": PackageResources.rider_css,
        "rider.html": PackageResources.rider_html,
        "rider.js": PackageResources.rider_js,
        "track-first.js": PackageResources.track_first_js,
        "track-ground.js": PackageResources.track_ground_js,
        "track-icons.js": PackageResources.track_icons_js,
        "track-map.js": PackageResources.track_map_js,
        "track-movement.js": PackageResources.track_movement_js,
        "track-picture.js": PackageResources.track_picture_js,
        "track-speech.js": PackageResources.track_speech_js,
        "track-words.js": PackageResources.track_words_js,
        "track.css": PackageResources.track_css,
        "track.html": PackageResources.track_html,
        "track.js": PackageResources.track_js,
        "worker.js": PackageResources.worker_js,
    ])

    static var builtInNames: Set<String> { Set(Self.builtIn.keys) }

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

    /// `nil` when there is none.
    subscript(name: String) -> File? {
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

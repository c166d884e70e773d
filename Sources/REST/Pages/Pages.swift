// Serves the pages and every asset they load from this origin, so the content security policy can forbid all others.

internal import EnrouteWire
internal import FoundationEssentials
package import HTTPTypes
package import HTTPValues
package import Hummingbird
internal import NIOCore
package import TrafficControl
internal import WebAssets

/// Pages and their assets.
package struct Pages: Sendable {
    package let settings: PageSettings
    let files: PageFiles
    /// The files of Leaflet that existed when the gateway started.
    private let leaflet: [String: PageFiles.File]
    private let streets: PageFiles.File?
    private let logo: PageFiles.File?
    /// The texts by language, compressed once.
    private let texts: [String: PageFiles.File]

    private static let leafletTypes = ["leaflet.js": "text/javascript", "leaflet.css": "text/css"]
    /// The same scripts without comments and white space, a third of the size; Debian's package has both.
    private static let minified = ["leaflet.js": "leaflet.min.js"]

    package init(settings: PageSettings) {
        self.settings = settings
        self.files = PageFiles(folder: settings.pagesFolder)
        self.leaflet = Dictionary(
            uniqueKeysWithValues: Self.leafletTypes.keys.compactMap { name in
                Self.leaflet(name, settings).map { (name, $0) }
            })
        self.streets = settings.streets.map { PageFiles.File(lasting: $0, mediaType: "application/geo+json") }
        self.logo = settings.brand.logo?.file
        self.texts = Dictionary(
            uniqueKeysWithValues: settings.languages.all.map { texts in
                (texts.language, PageFiles.File(lasting: texts.json, mediaType: "application/json"))
            })
    }

    /// Returns the missing files of Leaflet. Without them, the pages have no map.
    package static func missingFiles(_ settings: PageSettings) -> [String] {
        Self.leafletTypes.keys.sorted().filter { name in
            !Self.paths(of: name, settings).contains { FileManager.default.isReadableFile(atPath: $0) }
        }.map { "\(settings.leafletFolder)/\($0)" }
    }

    /// Where a file of Leaflet may be, the best first.
    private static func paths(of name: String, _ settings: PageSettings) -> [String] {
        [Self.minified[name], name].compactMap(\.self).map { "\(settings.leafletFolder)/\($0)" }
    }

    private static func leaflet(_ name: String, _ settings: PageSettings) -> PageFiles.File? {
        guard let type = Self.leafletTypes[name] else { return nil }
        return Self.paths(of: name, settings).lazy.compactMap { FileManager.default.contents(atPath: $0) }.first.map {
            PageFiles.File(lasting: Array($0), mediaType: type)
        }
    }

    package func add(to router: Router<GatewayRequestContext>) {
        for page in ["rider", "ops"] {
            router.get("\(page)") { request, _ in self.shell(page, request) }
        }
        self.addManifest(to: router)
        router.get("docs") { request, _ in self.reference(request) }
        router.get("assets/{file}") { request, context in
            try self.asset(context.parameters.require("file"), request)
        }
        router.get("api/v1/texts") { request, _ in
            try RepeatedParameters.check(request)
            return self.texts(request)
        }
        router.get("assets/streets.geojson") { request, _ in
            self.streets.map { Self.response($0, request) } ?? Response(status: .noContent)
        }
        for name in Self.leafletTypes.keys {
            router.get("assets/leaflet/\(name)") { request, _ in
                guard let file = self.leaflet[name] ?? Self.leaflet(name, self.settings) else {
                    throw Problem(
                        .notFound, status: 404,
                        detail: "\(self.settings.leafletFolder)/\(name) is missing. "
                            + "Install it: apt-get install libjs-leaflet.")
                }
                return Self.response(file, request)
            }
        }
    }

    /// Returns a page without data. The page's script requests the data with the user's token.
    func shell(_ name: String, _ request: Request) -> Response {
        guard let file = self.files["\(name).html"] else { preconditionFailure("\(name).html is built in") }
        let language = self.language(request).language
        var response = Self.response(
            self.template(file, name, language, request).bytes, file.contentType, caching: "no-store")
        response.headers[.contentLanguage] = language
        return response
    }

    /// Returns the page in a language, with the settings for its script. The page's URLs are relative to its own.
    func template(_ file: PageFiles.File, _ name: String, _ language: String, _ request: Request) -> PageTemplate {
        var page = PageTemplate(file.bytes)
        page.setLanguage(language)
        page.show(self.settings.brand, hasName: name == "track")
        if name == "track" { self.addLanguages(to: &page, language) }
        if let url = self.settings.signInURL {
            page.addToHead(#"<meta name="enroute-sign-in" content="\#(url.escaped)">"#)
        }
        if !self.settings.photoOrigins.isEmpty {
            let origins = self.settings.photoOrigins.joined(separator: " ")
            page.addToHead(#"<meta name="enroute-photo-origins" content="\#(origins.escaped)">"#)
        }
        if let tiles = self.settings.tiles {
            page.addToHead(#"<meta name="enroute-tiles" content="\#(tiles.attribution.escaped)">"#)
        }
        if name == "track", let key = self.settings.pushKey {
            page.addToHead(#"<meta name="enroute-push" content="\#(key)">"#)
        }
        // A page file may already contain the links to the manifest and the icon. Its link to the manifest does not
        // contain the page's name, so the name is added.
        if Installable(rawValue: name) != nil {
            let manifest = #"href="/manifest.webmanifest?page=\#(name)""#
            page.replace(#"href="/manifest.webmanifest""#, with: manifest)
            if !page.contains(#"rel="manifest""#) { page.addToHead(#"<link rel="manifest" \#(manifest)>"#) }
            if !page.contains(#"rel="apple-touch-icon""#) {
                page.addToHead(#"<link rel="apple-touch-icon" href="/assets/icon-192.png">"#)
            }
        }
        page.makeAddressesRelative(to: request.uri.path)
        return page
    }

    /// Adds the languages of the deployment, and the texts of the page's language if they come from a file.
    private func addLanguages(to page: inout PageTemplate, _ language: String) {
        let files = self.settings.languageFiles
        guard !files.isEmpty else { return }
        page.add(json: LanguageFile.script(files, for: language), as: "languages")
        if files.contains(where: { $0.language == language && $0.isRightToLeft }) { page.setDirection("rtl") }
    }

    /// Returns the texts in the language of the query parameter `lang`, or else in the best match for `Accept-Language`.
    func language(_ request: Request) -> StatusTexts {
        let asked = request.uri.queryParameters["lang"].flatMap { self.settings.languages.lookup($0) }
        return asked ?? self.settings.languages.best(accepting: request.headers[.acceptLanguage] ?? "")
    }

    /// Returns a file of the pages. Browsers must revalidate built-in files by their entity tags, so that a page never mixes
    /// files of two versions of the gateway. Files from the deployment's folder are sent each time.
    func asset(_ name: String, _ request: Request) throws -> Response {
        guard let file = name == "logo" ? self.logo : self.files[name] else {
            throw Problem(.notFound, status: 404, detail: "No page asset has this name.")
        }
        return Self.response(file, request)
    }

    /// Returns the file, compressed if the client accepts that, or 304 if the client has it already.
    static func response(_ file: PageFiles.File, _ request: Request) -> Response {
        guard var tag = file.tag else { return Self.response(file.bytes, file.contentType, caching: "no-store") }
        var bytes = file.bytes
        var headers: HTTPFields = [.cacheControl: "no-cache", .vary: "Accept-Encoding"]
        let taken = request.headers[values: .acceptEncoding].joined(separator: ",")
        if let gzip = file.gzip, PageCompression.isTaken(by: taken) {
            (bytes, tag) = gzip
            headers[.contentEncoding] = "gzip"
        }
        headers[.eTag] = "\(tag)"
        guard !tag.matches(ifNoneMatch: request.headers[values: .ifNoneMatch].joined(separator: ",")) else {
            headers[.contentEncoding] = nil
            return Response(status: .notModified, headers: headers)
        }
        var response = Self.response(bytes, file.contentType)
        for field in headers { response.headers[field.name] = field.value }
        return response
    }

    /// Returns the texts of all statuses in the language of the query parameter `language`, or else in the best match for
    /// `Accept-Language`.
    private func texts(_ request: Request) -> Response {
        let asked = request.uri.queryParameters["language"].flatMap { self.settings.languages.lookup($0) }
        let texts = asked ?? self.settings.languages.best(accepting: request.headers[.acceptLanguage] ?? "")
        let taken = request.headers[values: .acceptEncoding].joined(separator: ",")
        let gzip = PageCompression.isTaken(by: taken) ? self.texts[texts.language]?.gzip?.bytes : nil
        var response = Self.response(gzip ?? texts.json, "application/json; charset=utf-8")
        if gzip != nil { response.headers[.contentEncoding] = "gzip" }
        response.headers[.contentLanguage] = texts.language
        response.headers[.vary] = "Accept-Language, Accept-Encoding"
        return response
    }

    package static func response(
        _ bytes: [UInt8], _ contentType: String, caching: String = "max-age=300", status: HTTPResponse.Status = .ok
    ) -> Response {
        Response(
            status: status, headers: [.contentType: contentType, .cacheControl: caching],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

/// Adds security headers to every response, such as the content security policy and the referrer policy.
package struct SecurityHeaders: RouterMiddleware {
    /// The policy of the customer's page, which other pages may be allowed to frame.
    private let trackingPolicy: String
    private let policy: String

    /// - Parameters:
    ///   - photoOrigins: further origins from which pages may load images: the photos of riders.
    ///   - frameAncestors: the origins of pages that may show the customer's page in a frame.
    ///   - stageOrigins: the origins of the demo's stage, which may show every page in a frame.
    package init(
        photoOrigins: [String] = [], frameAncestors: AllowedOrigins = .own, stageOrigins: AllowedOrigins = .own
    ) {
        let images = photoOrigins.map { " " + $0 }.joined()
        let common = Self.common.replacing("img-src 'self' data:", with: "img-src 'self' data:\(images)")
        func policy(framedBy origins: [AllowedOrigins]) -> String {
            let list = origins.map(\.list).filter { !$0.isEmpty }.joined(separator: " ")
            return "\(common); frame-ancestors \(list.isEmpty ? "'none'" : list)"
        }
        self.policy = policy(framedBy: [stageOrigins])
        self.trackingPolicy = policy(framedBy: [frameAncestors, stageOrigins])
    }

    /// Inline styles are allowed because Leaflet positions its panes and markers with them. Inline scripts are not.
    private static let common =
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        + "font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"

    package func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            let problem = error as? Problem ?? Problem(error.status)
            response = try problem.response(from: request, context: context)
        }
        // A page may have a stricter policy.
        if response.headers[.contentSecurityPolicy] == nil {
            let isTracking = request.uri.path.hasPrefix("/track/")
            response.headers[.contentSecurityPolicy] = isTracking ? self.trackingPolicy : self.policy
        }
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[HTTPField.Name("Referrer-Policy")!] = "no-referrer"
        response.headers[HTTPField.Name("X-Robots-Tag")!] = "noindex"
        response.headers[HTTPField.Name("Permissions-Policy")!] = "geolocation=(self)"
        // Other sites must not embed the map tiles, which the operator pays for.
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        return response
    }
}

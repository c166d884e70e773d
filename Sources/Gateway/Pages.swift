// The pages and what they load: all from here, so that it needs nobody else and its policy can say so.

internal import EnrouteWire
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Pages and their assets.
struct Pages: Sendable {
    let settings: GatewaySettings
    let files: PageFiles

    init(settings: GatewaySettings) {
        self.settings = settings
        self.files = PageFiles(folder: settings.pagesFolder)
    }

    /// Files of Leaflet that pages may ask for.
    private static let leaflet = ["leaflet.js": "text/javascript", "leaflet.css": "text/css"]

    func add(to router: Router<GatewayRequestContext>) {
        router.get("track/{job}") { request, _ in try self.page("track.html", request) }
        for page in ["rider", "ops"] {
            router.get("\(page)") { request, _ in try self.page("\(page).html", request) }
        }
        router.get("assets/{file}") { request, context in
            try self.asset(context.parameters.require("file"), request)
        }
        router.get("api/v1/texts") { request, _ in Self.texts(self.settings.languages, request) }
        router.get("assets/streets.geojson") { _, _ in
            guard let streets = self.settings.streets else { return Response(status: .noContent) }
            return Self.answer(streets, "application/geo+json; charset=utf-8")
        }
        for (name, type) in Self.leaflet {
            let path = "\(self.settings.leafletFolder)/\(name)"
            router.get("assets/leaflet/\(name)") { _, _ in
                guard let bytes = FileManager.default.contents(atPath: path) else {
                    throw Problem(
                        .notFound, status: 404,
                        detail: "\(path) is not there. Install it: apt-get install libjs-leaflet.")
                }
                return Self.answer(Array(bytes), "\(type); charset=utf-8")
            }
        }
    }

    private func page(_ name: String, _ request: Request) throws -> Response {
        guard let file = self.files[name] else { preconditionFailure("\(name) is built in") }
        return Self.answer(file.bytes, file.contentType, caching: "no-store")
    }

    /// A file of the pages. What is built in is asked for again with its tag, so that no page runs with files of two
    /// gateways' versions; what is not, is sent each time.
    private func asset(_ name: String, _ request: Request) throws -> Response {
        guard let file = self.files[name] else {
            throw Problem(.notFound, status: 404, detail: "There is no such file of the pages.")
        }
        guard let tag = file.tag else { return Self.answer(file.bytes, file.contentType, caching: "no-store") }
        let headers: HTTPFields = [.cacheControl: "no-cache", .eTag: "\(tag)"]
        guard !tag.isNamed(by: request.headers[values: .ifNoneMatch].joined(separator: ",")) else {
            return Response(status: .notModified, headers: headers)
        }
        var response = Self.answer(file.bytes, file.contentType)
        for field in headers { response.headers[field.name] = field.value }
        return response
    }

    /// The texts of all statuses in the language that is asked for, or liked best of those that are there.
    private static func texts(_ languages: StatusLanguages, _ request: Request) -> Response {
        let asked = request.uri.queryParameters["language"].flatMap { languages[String($0)] }
        let texts = asked ?? languages.best(accepting: request.headers[.acceptLanguage] ?? "")
        var response = Self.answer(texts.json, "application/json; charset=utf-8")
        response.headers[.contentLanguage] = texts.language
        response.headers[.vary] = "Accept-Language"
        return response
    }

    static func answer(_ bytes: [UInt8], _ contentType: String, caching: String = "max-age=300") -> Response {
        Response(
            status: .ok, headers: [.contentType: contentType, .cacheControl: caching],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

/// Headers that every answer carries: what a page may load, and that nobody is told where it came from.
struct SecurityHeaders: RouterMiddleware {
    /// Leaflet positions its panes and markers by inline styles, set from script; the policy allows no inline script.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        + "connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    func handle(
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
        response.headers[.contentSecurityPolicy] = Self.policy
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[HTTPField.Name("Referrer-Policy")!] = "no-referrer"
        response.headers[HTTPField.Name("X-Robots-Tag")!] = "noindex"
        response.headers[HTTPField.Name("Permissions-Policy")!] = "geolocation=(self)"
        return response
    }
}

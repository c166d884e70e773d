// The customer's page and what it loads: all from here, so that it needs nobody else and its policy can say so.

internal import EnrouteWire
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Pages and their assets.
struct Pages: Sendable {
    let settings: GatewaySettings

    /// Files of Leaflet that pages may ask for.
    private static let leaflet = ["leaflet.js": "text/javascript", "leaflet.css": "text/css"]

    func add(to router: Router<GatewayRequestContext>) {
        router.get("track/{job}") { _, _ in Self.file(PackageResources.track_html, "text/html") }
        router.get("assets/track.js") { _, _ in Self.file(PackageResources.track_js, "text/javascript") }
        router.get("assets/track.css") { _, _ in Self.file(PackageResources.track_css, "text/css") }
        router.get("api/v1/texts") { request, _ in Self.texts(self.settings.languages, request) }
        router.get("assets/streets.geojson") { _, _ in
            guard let streets = self.settings.streets else { return Response(status: .noContent) }
            return Self.file(streets, "application/geo+json")
        }
        for (name, type) in Self.leaflet {
            let path = "\(self.settings.leafletFolder)/\(name)"
            router.get("assets/leaflet/\(name)") { _, _ in
                guard let bytes = FileManager.default.contents(atPath: path) else {
                    throw Problem(
                        .notFound, status: 404,
                        detail: "\(path) is not there. Install it: apt-get install libjs-leaflet.")
                }
                return Self.file(Array(bytes), type)
            }
        }
    }

    /// The texts of all statuses in the language that is asked for, or liked best of those that are there.
    private static func texts(_ languages: StatusLanguages, _ request: Request) -> Response {
        let asked = request.uri.queryParameters["language"].flatMap { languages[String($0)] }
        let texts = asked ?? languages.best(accepting: request.headers[.acceptLanguage] ?? "")
        var response = Self.file(texts.json, "application/json")
        response.headers[.contentLanguage] = texts.language
        response.headers[.vary] = "Accept-Language"
        return response
    }

    private static func file(_ bytes: [UInt8], _ type: String) -> Response {
        let isText = !type.hasPrefix("image/")
        return Response(
            status: .ok,
            headers: [
                .contentType: isText ? "\(type); charset=utf-8" : type,
                .cacheControl: type == "text/html" ? "no-store" : "max-age=300",
            ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

/// Headers that every answer carries: what a page may load, and that nobody is told where it came from.
struct SecurityHeaders: RouterMiddleware {
    /// Leaflet positions its panes and markers by inline styles, set from script; the policy allows no inline script.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

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
        return response
    }
}

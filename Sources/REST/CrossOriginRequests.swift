// Cross-origin resource sharing (Fetch, section 3.2): defines which pages of other origins browsers allow to read
// responses. Pages of allowed origins may use the REST interface and its event streams. Any page may read the client
// modules and the interface documents, which are not secret. Credentials of the browser are never shared: clients send
// their token in a header, which requires a preflight, and a preflight for a page of any other origin is refused.

internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import NIOCore
internal import Realtime
internal import TrafficControl

/// Responds to preflights and adds the headers that allow a page to read a response. It must be the first middleware,
/// so that pages can read errors too.
struct CrossOriginRequests: RouterMiddleware {
    let origins: AllowedOrigins
    let loops: LoopMap

    private static let prefix = "/api/"
    /// The client modules and the interface documents.
    private static let publicPaths: Set<String> = [
        "/openapi.json", "/asyncapi.json", "/assets/enroute.js", "/assets/enroute-connection.js",
        "/assets/enroute-rest.js", "/assets/enroute-route.js", "/assets/enroute-timing.js", "/assets/enroute-view.js",
        "/assets/enroute-words.js",
    ]
    /// The request headers that pages may send.
    private static let requestHeaders =
        "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, traceparent"
    /// The response headers that pages may read, in addition to those of the Fetch standard.
    private static let responseHeaders =
        "Date, ETag, Location, Retry-After, traceresponse, RateLimit, RateLimit-Policy, Enroute-Durability, Allow"
    /// How long a browser may reuse the response to a preflight, in seconds. Chromium reduces anything above two hours
    /// to two hours.
    private static let preflightSeconds = 7200

    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        if Self.publicPaths.contains(request.uri.path) {
            var response = try await next(request, context)
            response.headers[.accessControlAllowOrigin] = "*"
            response.headers[.accessControlExposeHeaders] = "Date, ETag, traceresponse"
            response.headers[.crossOriginResourcePolicy] = "cross-origin"
            return response
        }
        guard request.uri.path.hasPrefix(Self.prefix) else { return try await next(request, context) }
        let sender = self.origins.sender(
            request.headers[values: .origin], host: request.head.authority,
            fetchSite: request.headers[.secFetchSite])
        if case .foreign(let origin) = sender {
            let (loops, loop) = (self.loops, context.channel.eventLoop)
            loop.execute { loops[loop].refused(origin: origin, isWebSocket: false) }
        }
        var response = try await self.response(to: request, from: sender, context, next)
        // Also for requests without an origin: a cache must not serve their response to a page.
        response.headers[.vary] = [response.headers[.vary], "Origin"].compactMap { $0 }.joined(separator: ", ")
        if case .allowed(let origin) = sender {
            response.headers[.accessControlAllowOrigin] = origin
            response.headers[.accessControlExposeHeaders] = Self.responseHeaders
        }
        return response
    }

    private func response(
        to request: Request, from sender: AllowedOrigins.Sender, _ context: GatewayRequestContext,
        _ next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        guard request.isPreflight else {
            do {
                return try await next(request, context)
            } catch {
                return try Problem(causedBy: error).response(from: request, context: context)
            }
        }
        if case .foreign = sender {
            return try Problem(
                .forbidden, status: 403,
                detail: "Pages of this origin are not allowed to send requests. Ask the operator to allow the origin."
            ).response(from: request, context: context)
        }
        // `AllowedMethods` responds with the methods of the path.
        var response = try await next(request, context)
        guard response.status == .noContent, let methods = response.headers[.allow] else { return response }
        response.headers[.accessControlAllowMethods] = methods
        response.headers[.accessControlAllowHeaders] = Self.requestHeaders
        response.headers[.accessControlMaxAge] = "\(Self.preflightSeconds)"
        return response
    }
}

extension Request {
    /// Whether a browser asks if a page may send a request (Fetch, section 4.8).
    var isPreflight: Bool {
        self.method == .options && self.headers[.origin] != nil && self.headers[.accessControlRequestMethod] != nil
    }
}

extension HTTPField.Name {
    static let crossOriginResourcePolicy = HTTPField.Name("Cross-Origin-Resource-Policy")!
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
}

// Responds 405 with the supported methods (RFC 9110 section 15.5.6) if a path exists but does not support the request's
// method. The router alone would respond 404, and the client's developer would look for a mistake in the path.

internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird

/// Handles requests that no route has handled. It must be added to the router after all routes.
struct AllowedMethods: RouterMiddleware {
    /// Every route: the segments of its path, with `nil` for a parameter, and its methods.
    private let paths: [(parts: [String?], methods: Set<HTTPRequest.Method>)]

    init(_ routes: [Router<GatewayRequestContext>.RouteDescription]) {
        var methods: [[String?]: Set<HTTPRequest.Method>] = [:]
        for route in routes {
            let parts = Self.parts("\(route.path)").map { $0.hasPrefix("{") ? nil : $0 }
            // Every GET route supports HEAD too.
            methods[parts, default: []].formUnion(route.method == .get ? [.get, .head] : [route.method])
        }
        self.paths = methods.map { ($0, $1) }
    }

    private static func parts(_ path: String) -> [String] { path.split(separator: "/").map(String.init) }

    /// Returns the methods of a path; empty if the path does not exist.
    func methods(of path: String) -> Set<HTTPRequest.Method> {
        let parts = Self.parts(path)
        let fitting = self.paths.filter { path in
            path.parts.count == parts.count && zip(path.parts, parts).allSatisfy { $0 == nil || $0 == $1 }
        }
        // A literal segment takes precedence over a parameter, as in the router.
        let fewestOpen = fitting.map { $0.parts.count { $0 == nil } }.min()
        return fitting.filter { $0.parts.count { $0 == nil } == fewestOpen }.reduce(into: []) {
            $0.formUnion($1.methods)
        }
    }

    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        let allowed = self.methods(of: request.uri.path)
        // A supported method arrives here if the router followed a literal segment and found nothing below it, as for
        // `assets/leaflet`.
        guard !allowed.isEmpty, !allowed.contains(request.method) else { return try await next(request, context) }
        let methods = allowed.map(\.rawValue).sorted().joined(separator: ", ")
        // `CrossOriginRequests` has checked the origin and adds what a browser needs.
        if request.isPreflight { return Response(status: .noContent, headers: [.allow: methods]) }
        let problem = Problem(
            .methodNotAllowed, status: 405, detail: "Method not allowed. This path supports \(methods).")
        var response = try problem.response(from: request, context: context)
        response.headers[.allow] = methods
        return response
    }
}

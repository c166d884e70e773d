// A path that is there, asked with a method that is not: 405 and which methods are (RFC 9110 section 15.5.6), in the place of
// the router's 404, which would send whoever asks to look for a mistake in the path.

internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird

/// Sees what no route has answered, when it is added after all of them.
struct AllowedMethods: RouterMiddleware {
    /// Of each path with parameters: its parts, `nil` where anything may stand, and its methods.
    private let paths: [(parts: [String?], methods: Set<HTTPRequest.Method>)]

    init(_ routes: [Router<GatewayRequestContext>.RouteDescription]) {
        var methods: [[String?]: Set<HTTPRequest.Method>] = [:]
        for route in routes {
            let parts = Self.parts("\(route.path)").map { $0.hasPrefix("{") ? nil : $0 }
            // Wherever there is GET there is HEAD.
            methods[parts, default: []].formUnion(route.method == .get ? [.get, .head] : [route.method])
        }
        self.paths = methods.map { ($0, $1) }
    }

    private static func parts(_ path: String) -> [String] { path.split(separator: "/").map(String.init) }

    /// The methods of a path; none when nothing is there.
    func methods(of path: String) -> Set<HTTPRequest.Method> {
        let parts = Self.parts(path)
        let fitting = self.paths.filter { path in
            path.parts.count == parts.count && zip(path.parts, parts).allSatisfy { $0 == nil || $0 == $1 }
        }
        // A part that is named goes before one where anything may stand, as with the router.
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
        // A method that is allowed came here where the router took a named part, and found nothing below it: `assets/leaflet`.
        guard !allowed.isEmpty, !allowed.contains(request.method) else { return try await next(request, context) }
        let methods = allowed.map(\.rawValue).sorted().joined(separator: ", ")
        let problem = Problem(
            .methodNotAllowed, status: 405, detail: "Method not allowed. This path supports \(methods).")
        var response = try problem.response(from: request, context: context)
        response.headers[.allow] = methods
        return response
    }
}

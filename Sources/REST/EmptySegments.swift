// Responds 404 to paths with an empty segment, such as `//api/v1/jobs`. The router would ignore the segment, so rules
// for the beginning of a path, such as those for pages of other origins, would not cover everything that the path
// reaches.

internal import HTTPValues
internal import Hummingbird

/// Refuses paths with two slashes in a row. A slash at the end is allowed.
struct EmptySegments: RouterMiddleware {
    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        guard !Self.exist(in: request.uri.path) else { throw HTTPError(.notFound) }
        return try await next(request, context)
    }

    static func exist(in path: String) -> Bool {
        // Compares bytes, because the path of every request is checked.
        zip(path.utf8, path.utf8.dropFirst()).contains { $0 == UInt8(ascii: "/") && $1 == UInt8(ascii: "/") }
    }
}

// No token in a URL, on any path: what is in a URL ends up in logs and histories. The gate before the upgrade sees the first
// request of a connection; those that come after it on the same connection are seen here.

internal import Hummingbird

/// Refuses requests whose query names a token, whatever they ask for.
struct TokenFreeURLs: RouterMiddleware {
    static let refusal = "A token must not be in a URL: use the Authorization header."

    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        guard !request.uri.string.namesToken else { throw Routes.bad(Self.refusal) }
        return try await next(request, context)
    }
}

extension String {
    /// Whether the query of this URL names a token.
    var namesToken: Bool {
        guard let query = self.split(separator: "?", maxSplits: 1).dropFirst().first else { return false }
        return query.split(separator: "&").contains { member in
            ["token", "access_token", "jwt", "bearer"].contains(member.prefix { $0 != "=" }.lowercased())
        }
    }
}

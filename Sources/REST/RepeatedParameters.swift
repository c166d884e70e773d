// Responds 400 to a query with a repeated parameter, such as `?status=assigned&status=cancelled`. The routes would use
// the first value only, so the client would get an answer to a request that it did not make.

internal import EnrouteWire
internal import HTTPValues
internal import Hummingbird

/// Refuses requests of the REST interface that name a parameter of the query twice.
struct RepeatedParameters: RouterMiddleware {
    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        try Self.check(request)
        return try await next(request, context)
    }

    static func check(_ request: Request) throws {
        guard let name = Self.first(of: request.uri.queryParameters.map(\.key)) else { return }
        // No parameter has a name of another form, and the response repeats no arbitrary text.
        let shown = name.wholeMatch(of: /[A-Za-z0-9_-]{1,64}/) == nil ? "a parameter" : name
        throw Routes.badRequest(
            "The query contains \(shown) more than once. Send it once; separate the values of a list by commas.")
    }

    /// Returns the first name that occurs for the second time, without percent-encoding.
    static func first(of names: [Substring]) -> String? {
        var known: Set<String> = []
        return names.lazy.map(\.percentDecoded).first { !$0.isEmpty && !known.insert($0).inserted }
    }
}

// Fetches the issuer's keys (JWKS) if the signing key of a request's token is unknown, before the route verifies the token.
// Only such requests wait, and all of them share one fetch (Access/IssuerKeys).

internal import Access
internal import EnrouteWire
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import NIOCore
internal import Realtime
internal import TrafficControl

/// Fetches unknown signing keys before the route verifies the token. The route decides whether the token is valid.
struct JWKSRefreshMiddleware: RouterMiddleware {
    let keys: IssuerKeys
    let routes: Routes

    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        if let header = request.headers[.authorization], let token = TokenVerifier.token(bearer: header),
            !self.routes.isLockedOut(request, context)
        {
            do throws(TokenRefusal) {
                _ = try await self.keys.verify(token, now: WallClock.nowMilliseconds / 1000)
            } catch {
                if error == .keyUnavailable {
                    throw Problem(
                        Refused(
                            code: .unavailable,
                            message:
                                "The token's signing key is unknown. The issuer does not answer, or its keys were fetched "
                                + "less than 30 s ago. Try again later."
                        ))
                }
                // The token is invalid. The route responds with the reason, if it requires a token at all.
            }
        }
        return try await next(request, context)
    }
}

extension Routes {
    /// An address that has sent too many invalid tokens must not cause requests to the issuer. The route verifies its tokens
    /// with the known keys.
    fileprivate func isLockedOut(_ request: Request, _ context: GatewayRequestContext) -> Bool {
        self.quotas.isLockedOut(
            self.clientAddress(of: request, context), at: NIODeadline.now().uptimeNanoseconds)
    }
}

// A request with a token whose key nobody knows yet: its issuer is asked before the route looks at the token. Only such a
// request waits, for one fetch that all of them share (Access/JWKSSource).

internal import Access
internal import EnrouteWire
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import NIOCore
internal import Realtime
internal import TrafficControl

/// Before a route looks at a token, the issuer is asked for its key when nobody knows it. The route decides what it is good
/// for, with the keys there are then.
struct JWKSRefreshMiddleware: RouterMiddleware {
    let keys: JWKSSource
    let routes: Routes

    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        if let header = request.headers[.authorization], let token = TokenVerifier.token(bearer: header),
            !self.routes.isLockedOut(request, context)
        {
            do throws(TokenRefusal) {
                _ = try await self.keys.verify(token, now: .now / 1000)
            } catch .keyUnavailable {
                throw Problem(
                    Refused(
                        code: .unavailable,
                        message:
                            "The token's signing key is unknown, and the issuer cannot be reached. Try again later."))
            } catch {
                // The route says why, if it looks at tokens at all.
            }
        }
        return try await next(request, context)
    }
}

extension Routes {
    /// Who guessed too many tokens makes nobody ask the issuer.
    fileprivate func isLockedOut(_ request: Request, _ context: GatewayRequestContext) -> Bool {
        let address = self.settings.trustedProxies.client(
            of: context.peer, forwardedFor: request.headers[values: .xForwardedFor])
        return address.flatMap { self.quotas.lockoutDelay($0, at: NIODeadline.now().uptimeNanoseconds, refuses: false) }
            != nil
    }
}

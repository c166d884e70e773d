// A token whose key nobody knows yet: its issuer may have made a new one since it was last asked. Only such a token waits,
// for one fetch that all of them share (Access/JWKSSource); everybody else is let in or refused meanwhile.

internal import Access
internal import EnrouteWire
internal import Hummingbird
internal import NIOCore

extension LoopState {
    /// Whoever was refused for a key nobody knows is let in when the issuer publishes it.
    ///
    /// - Returns: fails with `SignInRefusal`; at once for every other reason.
    func admit(_ token: String, refusedBecause refusal: TokenRefusal) -> EventLoopFuture<Admitted> {
        guard refusal == .unknownKey, let keys = self.settings.issuerKeys else {
            return self.eventLoop.makeFailedFuture(SignInRefusal(refusal))
        }
        // Its task ends with the fetch, in seconds; `JWKSSource.mostWaiting` bounds how many wait.
        return self.eventLoop.makeFutureWithTask { try await keys.verify(token, now: .now / 1000) }
            .flatMapThrowing { Admitted($0) }
            .flatMapErrorThrowing { throw SignInRefusal($0 as? TokenRefusal ?? refusal) }
    }
}

extension SignInRefusal {
    init(_ refusal: TokenRefusal) {
        self =
            switch refusal {
            case .expired: .tokenExpired
            case .keyNotFetched: .keyNotFetched
            default: .badToken
            }
    }

    /// Nobody can say yet whether the token is good: no guess, and worth coming back.
    static let keyNotFetched = SignInRefusal(
        code: .insufficientState, reason: "the issuer of the token's key cannot be asked at the moment")
}

/// Before a route looks at a token, the issuer is asked for its key when nobody knows it. The route decides what it is good
/// for, with the keys there are then.
struct KeysAwaited: RouterMiddleware {
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
            } catch .keyNotFetched {
                throw Problem(
                    Refused(
                        code: .unavailable,
                        message: "The token's key is not known, and its issuer cannot be asked now. Try again later."))
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
        return address.flatMap { self.quotas.isLockedOut($0, at: NIODeadline.now().uptimeNanoseconds, refuses: false) }
            != nil
    }
}

// Signing in with a token whose key is unknown. The issuer may have added a key since the last fetch. Only such tokens
// wait, and they all share one fetch (Access/IssuerKeys). Other clients are not delayed.

package import Access
internal import EnrouteWire
internal import HTTPValues
internal import NIOCore
internal import TrafficControl

extension LoopState {
    /// Verifies a token again after fetching the issuer's keys, if it was refused because its key is unknown.
    ///
    /// - Parameter lockout: a locked-out address must not cause requests to the issuer.
    /// - Returns: fails with `SignInRefusal`, and immediately if the token was refused for any other reason.
    func signInAfterKeyFetch(
        _ token: String, refusedBecause refusal: TokenRefusal, _ lockout: Lockout
    ) -> EventLoopFuture<AuthenticatedClient> {
        guard refusal.lacksKey, lockout == .none, let keys = self.settings.issuerKeys else {
            return self.eventLoop.makeFailedFuture(SignInRefusal(refusal))
        }
        // The task ends with the fetch, within seconds. `JWKSSource.maxWaiting` limits the number of waiting tasks.
        return self.eventLoop.makeFutureWithTask { try await keys.verify(token, now: WallClock.nowMilliseconds / 1000) }
            .flatMapThrowing { AuthenticatedClient($0) }
            .flatMapErrorThrowing { throw SignInRefusal($0 as? TokenRefusal ?? refusal) }
    }
}

extension SignInRefusal {
    package init(_ refusal: TokenRefusal) {
        self =
            switch refusal.reason {
            case .expired: .tokenExpired
            case .keyUnavailable: .keyUnavailable
            default: .badToken(refusal)
            }
    }

    /// The token could not be verified. This does not count as a failed attempt, and the client should retry.
    package static let keyUnavailable = SignInRefusal(
        code: .insufficientState, reason: "cannot fetch the token issuer's keys; retry later")
}

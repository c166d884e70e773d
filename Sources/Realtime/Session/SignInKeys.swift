// Signing in with a token whose key nobody knows yet: its issuer may have made a new one since it was last asked. Only such a
// token waits, for one fetch that all of them share (Access/JWKSSource); everybody else is let in or refused meanwhile.

package import Access
internal import EnrouteWire
internal import HTTPValues
internal import NIOCore

extension LoopState {
    /// Whoever was refused for a key nobody knows is let in when the issuer publishes it.
    ///
    /// - Returns: fails with `SignInRefusal`; at once for every other reason.
    func signInAfterKeyFetch(_ token: String, refusedBecause refusal: TokenRefusal) -> EventLoopFuture<
        AuthenticatedClient
    > {
        guard refusal == .unknownKey, let keys = self.settings.issuerKeys else {
            return self.eventLoop.makeFailedFuture(SignInRefusal(refusal))
        }
        // Its task ends with the fetch, in seconds; `JWKSSource.mostWaiting` bounds how many wait.
        return self.eventLoop.makeFutureWithTask { try await keys.verify(token, now: .now / 1000) }
            .flatMapThrowing { AuthenticatedClient($0) }
            .flatMapErrorThrowing { throw SignInRefusal($0 as? TokenRefusal ?? refusal) }
    }
}

extension SignInRefusal {
    package init(_ refusal: TokenRefusal) {
        self =
            switch refusal {
            case .expired: .tokenExpired
            case .keyUnavailable: .keyUnavailable
            default: .badToken
            }
    }

    /// Nobody can say yet whether the token is good: no guess, and worth coming back.
    package static let keyUnavailable = SignInRefusal(
        code: .insufficientState, reason: "cannot fetch the token issuer's keys; retry later")
}

// An attempt to authenticate by a token, a tracking link, a sign-in code or a signed message. Failed attempts count toward the
// limit of the client's address. While the address is locked out, a bounded number of its credentials is verified
// (TrafficControl/Lockout.swift).

internal import HTTPValues
internal import Hummingbird
internal import NIOCore
internal import Realtime
internal import TrafficControl

/// An attempt whose credential may be verified.
package struct CredentialAttempt: Sendable {
    /// `nil` if no limit applies to the client's address.
    let address: ClientAddress?
    let lockout: Lockout
}

extension Routes {
    /// Returns the address to which the limits of a client apply; `nil` if none apply.
    func clientAddress(of request: Request, _ context: GatewayRequestContext) -> ClientAddress? {
        self.settings.trustedProxies.client(of: context.peer, forwardedFor: request.headers[values: .xForwardedFor])
    }

    /// Starts an attempt. Call this once for each request, because attempts of a locked-out address are limited.
    ///
    /// - Parameter isKnown: whether this gateway has verified the credential before.
    /// - Throws: 429 if the credential must not be verified.
    func attempt(
        _ request: Request, _ context: GatewayRequestContext, isKnown: () -> Bool = { false }
    ) throws -> CredentialAttempt {
        let address = self.clientAddress(of: request, context)
        let lockout = self.quotas.lockout(of: address, at: NIODeadline.now().uptimeNanoseconds, isKnown: isKnown)
        if case .refuse(let wait) = lockout { throw Problem(tooManyInvalidTokens: wait) }
        return CredentialAttempt(address: address, lockout: lockout)
    }

    /// Records that the credential of an attempt was invalid.
    ///
    /// - Returns: 429 if the address is locked out, so that the response does not contain the reason. `nil` if it may.
    func problem(ofFailed attempt: CredentialAttempt) -> Problem? {
        self.quotas.recordInvalidToken(
            of: attempt.address, during: attempt.lockout, at: NIODeadline.now().uptimeNanoseconds
        ).map { Problem(tooManyInvalidTokens: $0) }
    }
}

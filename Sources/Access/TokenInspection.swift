// Explains a token: its claims, and which actions its grant allows or denies, and why. Only `enroute token inspect`
// uses this: claims that are read before the signature is verified decide nothing.

internal import EnrouteWire

/// The header and the claims of a token, whether or not its signature has been verified.
package struct UnverifiedToken: Sendable, Hashable {
    package let algorithm: String?
    package let keyID: String?
    package let type: String?
    package let issuer: String?
    /// Seconds since the epoch.
    package let expiresAt: Int64?
    /// The names of all claims of the payload, in alphabetical order.
    package let claims: [String]

    /// - Throws: if the token is malformed.
    package init(_ token: String) throws(TokenRefusal) {
        guard token.utf8.count <= TokenVerifier.longestToken else { throw .tooLong }
        let text = try CompactJWS(Array(token.utf8))
        let header = try TokenHeader(json: text.header)
        let claims = try ClaimSet(json: text.claims)
        (self.algorithm, self.keyID, self.type) = (header.algorithm, header.kid, header.type)
        self.issuer = try? claims.string(.issuer)
        self.expiresAt = try? claims.time(.expiry)
        self.claims = claims.names.sorted()
    }
}

extension TokenVerifier {
    /// The providers that may have issued the token.
    package func providers(of token: String) throws(TokenRefusal) -> [IdentityProvider] {
        try self.candidates(Array(token.utf8)).map { self.providers[$0] }
    }
}

extension Grant {
    /// Why an action is not allowed.
    package enum Obstacle: Sendable, Hashable {
        /// These roles may do it.
        case role([Role])
        /// The token is limited to one job, and the action concerns more.
        case limitedToJob
        /// The token is limited to the jobs of a rider, but does not belong to that rider.
        case limitedToRider
    }

    /// Returns why the grant does not permit an action.
    ///
    /// - Returns: `nil` if the action is allowed.
    package func obstacle(to verb: Verb) -> Obstacle? {
        guard !self.allows(verb) else { return nil }
        let plain = Grant(person: self.person, role: self.role)
        guard plain.allows(verb) else {
            return .role(Role.allCases.filter { Grant(person: self.person, role: $0).allows(verb) })
        }
        var withoutRider = self
        withoutRider.rider = nil
        return withoutRider.allows(verb) ? .limitedToRider : .limitedToJob
    }
}

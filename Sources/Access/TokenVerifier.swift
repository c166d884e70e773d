// Tokens are JWTs (RFC 7519), checked as RFC 8725 asks: the algorithm belongs to the key, never to the token; what names
// a key elsewhere is not looked at; issuer, audience and times are required; nothing is believed before its signature.

internal import FoundationEssentials
package import JWTKit

/// Why a token is not accepted. Says what to change, never what the token holds.
package enum TokenRefusal: Error, Hashable, Sendable, CaseIterable {
    case tooLong, malformed, repeatedMember, criticalHeader, unknownKey, wrongAlgorithm, badSignature
    case wrongIssuer, wrongAudience, notYetValid, expired, badSubject, unknownRole, badAuthorization
}

/// Checks tokens, synchronously and without looking anything up: the keys are fixed when it is made.
package struct TokenVerifier: Sendable {
    /// One key and the only algorithm it is used with.
    package struct Key: Sendable {
        package let kid: String?
        package let algorithm: any JWTAlgorithm

        package init(kid: String?, algorithm: any JWTAlgorithm) {
            self.kid = kid
            self.algorithm = algorithm
        }
    }

    /// Bytes of a token, at most.
    package static let longestToken = 4096
    /// Seconds by which clocks may differ.
    package static let skew: Int64 = 30

    private let keys: [String?: [Key]]
    private let issuer: String
    private let audience: String

    package init(keys: [Key], issuer: String, audience: String) {
        self.keys = Dictionary(grouping: keys, by: \.kid)
        self.issuer = issuer
        self.audience = audience
    }

    /// - Parameter now: seconds since the epoch.
    package func verify(_ token: String, now: Int64) throws(TokenRefusal) -> Grant {
        guard token.utf8.count <= Self.longestToken else { throw .tooLong }
        let text = try TokenText(Array(token.utf8))
        try self.checkSignature(text)
        let claims = try Claims(json: text.claims)
        guard claims.issuer == self.issuer else { throw .wrongIssuer }
        guard claims.audiences.contains(self.audience) else { throw .wrongAudience }
        guard claims.notBefore - Self.skew <= now else { throw .notYetValid }
        guard claims.expiresAt + Self.skew > now else { throw .expired }
        return Grant(
            person: claims.subject, role: claims.role, job: claims.job, rider: claims.rider,
            expiresAt: claims.expiresAt)
    }

    private func checkSignature(_ text: TokenText) throws(TokenRefusal) {
        let header = try TokenHeader(json: text.header)
        // A token with a kid gets the key of that name and no other; one without gets those without.
        guard let named = self.keys[header.kid] else { throw .unknownKey }
        let fitting = named.filter { $0.algorithm.name == header.algorithm }
        guard !fitting.isEmpty else { throw .wrongAlgorithm }
        // A signature of the wrong length makes some algorithms throw.
        guard fitting.contains(where: { (try? $0.algorithm.verify(text.signature, signs: text.signed)) == true }) else {
            throw .badSignature
        }
    }
}

// Tokens are JWTs (RFC 7519), checked as RFC 8725 asks: the algorithm belongs to the key, never to the token; what names
// a key elsewhere is not looked at; issuer, audience and times are required.

package import EnrouteWire
internal import FoundationEssentials
package import JWTKit

/// What a token says (RFC 7519 section 4.1, and `role`).
package struct Claims: JWTPayload, Sendable {
    package var iss: String
    package var aud: AudienceClaim
    package var sub: String
    package var exp: Int64
    package var iat: Int64
    package var jti: String
    package var role: Role

    package init(iss: String, aud: String, sub: PersonID, exp: Int64, iat: Int64, jti: String, role: Role) {
        self.iss = iss
        self.aud = AudienceClaim(value: [aud])
        self.sub = sub.text
        self.exp = exp
        self.iat = iat
        self.jti = jti
        self.role = role
    }

    /// Everything is checked by `TokenVerifier`, which knows the time and what is expected.
    package func verify(using algorithm: some JWTAlgorithm) async throws {}
}

/// Why a token is not accepted. Says what to change, never what the token holds.
package enum TokenRefusal: Error, Hashable, Sendable {
    case tooLong, malformed, unknownKey, wrongAlgorithm, badSignature, wrongIssuer, wrongAudience, notYetValid, expired
    case badSubject
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

    private let keys: [Key]
    private let issuer: String
    private let audience: String

    package init(keys: [Key], issuer: String, audience: String) {
        self.keys = keys
        self.issuer = issuer
        self.audience = audience
    }

    /// - Parameter now: seconds since the epoch.
    package func verify(_ token: String, now: Int64) throws(TokenRefusal) -> Grant {
        guard token.utf8.count <= Self.longestToken else { throw .tooLong }
        let bytes = Array(token.utf8)
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")),
            let parts = try? DefaultJWTParser().parse(bytes, as: Claims.self)
        else { throw .malformed }
        // A token with a kid gets the key of that name and no other; one without gets the key without.
        guard let key = self.keys.first(where: { $0.kid == parts.header.kid }) else { throw .unknownKey }
        guard parts.header.alg == key.algorithm.name else { throw .wrongAlgorithm }
        guard (try? key.algorithm.verify(parts.signature, signs: bytes[..<dot])) == true else { throw .badSignature }

        let claims = parts.payload
        guard claims.iss == self.issuer else { throw .wrongIssuer }
        guard claims.aud.value.contains(self.audience) else { throw .wrongAudience }
        guard claims.iat <= now + Self.skew else { throw .notYetValid }
        guard claims.exp > now - Self.skew else { throw .expired }
        guard let person = PersonID(claims.sub) else { throw .badSubject }
        return Grant(person: person, role: claims.role, expiresAt: claims.exp)
    }
}

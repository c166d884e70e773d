// Creates tokens for development and tests. In production, your application's sign-in creates them.

package import EnrouteWire
internal import FoundationEssentials
internal import JWTKit

/// Creates tokens signed with one key.
package struct TokenMint: Sendable {
    private let keys: JWTKeyCollection
    private let issuer: String
    private let audience: String
    private let kid: JWKIdentifier?

    package init(secret: String, issuer: String, audience: String) async throws {
        _ = try await TokenVerifier.Key.hs256(secret: secret)
        self.keys = await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
        (self.issuer, self.audience, self.kid) = (issuer, audience, nil)
    }

    /// - Parameter privateKeyPEM: P-256 (ES256), RSA of at least 2048 bits (RS256) or Ed25519 (EdDSA).
    package init(privateKeyPEM pem: String, kid: String?, issuer: String, audience: String) async throws {
        let kid = kid.map { JWKIdentifier(string: $0) }
        let keys = JWTKeyCollection()
        if let key = try? ES256PrivateKey(pem: pem) {
            await keys.add(ecdsa: key, kid: kid)
        } else if let key = try? EdDSA.PrivateKey(pem: pem) {
            await keys.add(eddsa: key, kid: kid)
        } else if let key = try? Insecure.RSA.PrivateKey(pem: pem) {
            await keys.add(rsa: key, digestAlgorithm: .sha256, kid: kid)
        } else {
            throw TokenVerifier.Key.InvalidSetting(
                description: "The private key is not a PEM key of kind P-256, Ed25519 or RSA with at least "
                    + "\(TokenVerifier.Key.shortestRSA) bits. "
                    + "Create one with: openssl ecparam -name prime256v1 -genkey -noout -out key.pem")
        }
        self.keys = keys
        (self.issuer, self.audience, self.kid) = (issuer, audience, kid)
    }

    /// Creates and signs a token.
    ///
    /// - Parameters:
    ///   - now: seconds since the epoch.
    ///   - lifetime: seconds until it expires.
    ///   - job: the only job that the token covers; `nil` for every job of the person.
    ///   - rider: the only rider whose jobs the token covers; `nil` for every rider.
    package func token(
        for person: PersonID, role: Role, now: Int64, lifetime: Int64 = 900, job: JobID? = nil, rider: PersonID? = nil
    ) async throws -> String {
        let limits = [("jobid", job?.text), ("riderid", rider?.text)].compactMap { name, id in id.map { (name, $0) } }
        let payload = Payload(
            iss: self.issuer, aud: self.audience, sub: person.text, exp: now + lifetime, iat: now,
            jti: UUID().uuidString, role: role,
            authorization: limits.isEmpty ? nil : Dictionary(uniqueKeysWithValues: limits))
        return try await self.keys.sign(payload, kid: self.kid)
    }

    private struct Payload: JWTPayload {
        var iss: String
        var aud: String
        var sub: String
        var exp: Int64
        var iat: Int64
        var jti: String
        var role: Role
        var authorization: [String: String]?

        /// Does nothing: TokenVerifier verifies tokens.
        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }
}

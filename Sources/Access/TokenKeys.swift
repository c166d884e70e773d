// Keys from configuration: a shared secret for development, public keys in PEM for everything else.

package import EnrouteWire
internal import FoundationEssentials
internal import JWTKit

extension TokenVerifier.Key {
    /// Why a key can not be used.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String
    }

    /// Bytes of an HS256 secret, at least: as long as the digest (RFC 7518 section 3.2).
    package static let shortestSecret = 32

    /// HS256 with a shared secret.
    package static func hs256(secret: String, kid: String? = nil) async throws -> Self {
        guard secret.utf8.count >= Self.shortestSecret else {
            throw Unusable(
                description: "The HS256 secret is shorter than \(Self.shortestSecret) bytes. "
                    + "Make one with: openssl rand -hex 32")
        }
        let keys = await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
        return Self(kid: kid, algorithm: try await keys.getKey())
    }

    /// ES256 with a public (or private) key in PEM.
    ///
    /// - Parameter source: where the text came from, for the error.
    package static func es256(pem: String, kid: String? = nil, source: String) async throws -> Self {
        let keys = JWTKeyCollection()
        do {
            if pem.contains("PRIVATE KEY") {
                await keys.add(ecdsa: try ES256PrivateKey(pem: pem))
            } else {
                await keys.add(ecdsa: try ES256PublicKey(pem: pem))
            }
        } catch {
            throw Unusable(
                description: "\(source) holds no P-256 key in PEM. "
                    + "Make a pair with: openssl ecparam -name prime256v1 -genkey -noout -out key.pem; "
                    + "openssl ec -in key.pem -pubout -out public.pem")
        }
        return Self(kid: kid, algorithm: try await keys.getKey())
    }
}

/// Makes tokens, for development and tests.
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

    package init(privateKeyPEM: String, kid: String?, issuer: String, audience: String) async throws {
        let kid = kid.map { JWKIdentifier(string: $0) }
        self.keys = await JWTKeyCollection().add(ecdsa: try ES256PrivateKey(pem: privateKeyPEM), kid: kid)
        (self.issuer, self.audience, self.kid) = (issuer, audience, kid)
    }

    /// - Parameters:
    ///   - now: seconds since the epoch.
    ///   - lifetime: seconds until it expires.
    package func token(for person: PersonID, role: Role, now: Int64, lifetime: Int64 = 900) async throws -> String {
        let claims = Claims(
            iss: self.issuer, aud: self.audience, sub: person, exp: now + lifetime, iat: now,
            jti: UUID().uuidString, role: role)
        return try await self.keys.sign(claims, kid: self.kid)
    }
}

// Keys from configuration: a shared secret for development, public keys in PEM for everything else. What kind of key it is
// says which algorithm it is used with: P-256 is ES256, RSA is RS256, Ed25519 is EdDSA.

internal import CryptoExtras
internal import JWTKit

extension TokenVerifier.Key {
    /// Why a key can not be used.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String
    }

    /// Bytes of an HS256 secret, at least: as long as the digest (RFC 7518 section 3.2).
    package static let shortestSecret = 32
    /// Bits of an RSA key, at least (RFC 7518 section 3.3).
    package static let shortestRSA = 2048
    /// Keys of one gateway, at most: those without a name are all tried.
    package static let most = 16

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

    /// A public key in PEM.
    ///
    /// - Parameter source: where the text came from, for the error.
    /// - Throws: `Unusable` for anything else, for a private key too: it has no business on a gateway.
    package static func asymmetric(pem: String, kid: String? = nil, source: String) async throws -> Self {
        let keys = JWTKeyCollection()
        guard !pem.contains("PRIVATE KEY-----") else {
            throw Unusable(
                description: "\(source) holds a private key, with which anybody who reads it can make tokens. "
                    + "A gateway needs the public key alone: openssl pkey -in \(source) -pubout -out public.pem")
        }
        if let key = try? ES256PublicKey(pem: pem) {
            await keys.add(ecdsa: key)
        } else if let key = try? EdDSA.PublicKey(pem: pem) {
            await keys.add(eddsa: key)
        } else if let key = try? _RSA.Signing.PublicKey(unsafePEMRepresentation: pem) {
            guard key.keySizeInBits >= Self.shortestRSA else {
                throw Unusable(
                    description: "\(source) holds an RSA key of \(key.keySizeInBits) bits; it must have at least "
                        + "\(Self.shortestRSA). Make one with: openssl genrsa -out key.pem 3072")
            }
            await keys.add(rsa: try Insecure.RSA.PublicKey(backing: key), digestAlgorithm: .sha256)
        } else {
            throw Unusable(
                description: "\(source) holds no key in PEM that is P-256, Ed25519 or RSA. "
                    + "Make a pair with: openssl ecparam -name prime256v1 -genkey -noout -out key.pem; "
                    + "openssl ec -in key.pem -pubout -out public.pem")
        }
        return Self(kid: kid, algorithm: try await keys.getKey())
    }

    /// Keys of several files.
    ///
    /// - Parameters:
    ///   - sources: each file's name and text.
    ///   - kids: one for each, in the same order; or none at all.
    package static func asymmetric(
        sources: [(name: String, pem: String)], kids: [String]
    ) async throws -> [Self] {
        guard kids.isEmpty || kids.count == sources.count else {
            throw Unusable(
                description: "There are \(kids.count) key ids for \(sources.count) public keys. "
                    + "Name each key, in the same order, or none.")
        }
        guard Set(kids).count == kids.count, !kids.contains("") else {
            throw Unusable(description: "Two keys have one key id, or one is empty. Give each a name of its own.")
        }
        guard sources.count <= Self.most else {
            throw Unusable(
                description: "There are \(sources.count) public keys; at most \(Self.most) are used. "
                    + "Remove those that sign no more.")
        }
        var keys: [Self] = []
        for (index, source) in sources.enumerated() {
            keys.append(
                try await .asymmetric(
                    pem: source.pem, kid: kids.isEmpty ? nil : kids[index], source: source.name))
        }
        return keys
    }
}

// Keys from the configuration: a shared secret for development, PEM public keys for everything else. The kind of a key
// determines its algorithm: P-256 is ES256, RSA is RS256, Ed25519 is EdDSA.

internal import CryptoExtras
internal import JWTKit

extension TokenVerifier.Key {
    /// Why a key is rejected.
    package struct InvalidSetting: Error, CustomStringConvertible {
        package let description: String
    }

    /// Minimum length of an HS256 secret in bytes: the length of the digest (RFC 7518 section 3.2).
    package static let shortestSecret = 32
    /// Minimum size of an RSA key in bits (RFC 7518 section 3.3).
    package static let shortestRSA = 2048
    /// Maximum number of keys of a gateway: every key without a `kid` is tried.
    package static let most = 16

    /// HS256 with a shared secret.
    package static func hs256(secret: String, kid: String? = nil) async throws -> Self {
        guard secret.utf8.count >= Self.shortestSecret else {
            throw InvalidSetting(
                description: "The HS256 secret is shorter than \(Self.shortestSecret) bytes. "
                    + "Create one with: openssl rand -hex 32")
        }
        let keys = await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
        return Self(kid: kid, algorithm: try await keys.getKey())
    }

    /// A PEM public key.
    ///
    /// - Parameter source: the name of the file, for the error message.
    /// - Throws: `InvalidSetting` for anything else, including a private key, which does not belong on a gateway.
    package static func asymmetric(pem: String, kid: String? = nil, source: String) async throws -> Self {
        let keys = JWTKeyCollection()
        guard !pem.contains("PRIVATE KEY-----") else {
            throw InvalidSetting(
                description: "\(source) contains a private key; anyone who can read it can create tokens. "
                    + "A gateway needs only the public key: openssl pkey -in \(source) -pubout -out public.pem")
        }
        if let key = try? ES256PublicKey(pem: pem) {
            await keys.add(ecdsa: key)
        } else if let key = try? EdDSA.PublicKey(pem: pem) {
            await keys.add(eddsa: key)
        } else if let key = try? _RSA.Signing.PublicKey(unsafePEMRepresentation: pem) {
            guard key.keySizeInBits >= Self.shortestRSA else {
                throw InvalidSetting(
                    description: "\(source) contains an RSA key of \(key.keySizeInBits) bits; the minimum is "
                        + "\(Self.shortestRSA). Create one with: openssl genrsa -out key.pem 3072")
            }
            await keys.add(rsa: try Insecure.RSA.PublicKey(backing: key), digestAlgorithm: .sha256)
        } else {
            throw InvalidSetting(
                description: "\(source) contains no P-256, Ed25519 or RSA key in PEM. "
                    + "Create a pair with: openssl ecparam -name prime256v1 -genkey -noout -out key.pem; "
                    + "openssl ec -in key.pem -pubout -out public.pem")
        }
        return Self(kid: kid, algorithm: try await keys.getKey())
    }

    /// The keys of several files.
    ///
    /// - Parameters:
    ///   - sources: the name and text of each file.
    ///   - kids: one for each file, in the same order, or none.
    package static func asymmetric(
        sources: [(name: String, pem: String)], kids: [String]
    ) async throws -> [Self] {
        guard kids.isEmpty || kids.count == sources.count else {
            throw InvalidSetting(
                description: "There are \(kids.count) key ids for \(sources.count) public keys. "
                    + "Give either one key id for each key, in the same order, or no key ids.")
        }
        guard Set(kids).count == kids.count, !kids.contains("") else {
            throw InvalidSetting(
                description: "Two keys have the same key id, or a key id is empty. Give each key a unique id.")
        }
        guard sources.count <= Self.most else {
            throw InvalidSetting(
                description: "There are \(sources.count) public keys; the maximum is \(Self.most). "
                    + "Remove the keys that no longer sign tokens.")
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

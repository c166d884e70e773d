import Crypto
import CryptoExtras
import EnrouteWire
import Foundation
import Testing

@testable import Access

@Suite struct TokenKeysTests {
    @Test func `a token is verified by its own public key and not by another pair's`() async throws {
        let key = P256.Signing.PrivateKey()
        let mint = try await TokenMint(privateKeyPEM: key.pemRepresentation, kid: "k1", issuer: "iss", audience: "aud")
        let token = try await mint.token(for: PersonID("rider-1")!, role: .rider, now: TokenForge.now)
        let verifier = TokenVerifier(
            keys: [try await .asymmetric(pem: key.publicKey.pemRepresentation, kid: "k1", source: "test")],
            issuer: "iss",
            audience: "aud")
        #expect(try verifier.verify(token, now: TokenForge.now).role == .rider)
        let other = try await TokenMint(
            privateKeyPEM: P256.Signing.PrivateKey().pemRepresentation, kid: "k1", issuer: "iss", audience: "aud")
        let foreign = try await other.token(for: PersonID("rider-1")!, role: .rider, now: TokenForge.now)
        #expect(throws: TokenRefusal.badSignature) { try verifier.verify(foreign, now: TokenForge.now) }
    }

    @Test func `a short secret and a file without a key are rejected with advice`() async {
        await #expect {
            try await TokenVerifier.Key.hs256(secret: "short")
        } throws: { "\($0)".contains("openssl rand") }
        await #expect {
            try await TokenVerifier.Key.asymmetric(pem: "no key", source: "keys.pem")
        } throws: { "\($0)".contains("keys.pem") && "\($0)".contains("openssl ec") }
    }

    @Test func `an RSA key of 1024 bits and an unsupported curve are rejected`() async throws {
        let small = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024))
        await #expect {
            try await TokenVerifier.Key.asymmetric(pem: small.publicKey.pemRepresentation, source: "small.pem")
        } throws: { "\($0)".contains("small.pem contains an RSA key of 1024 bits") }
        for pem in [
            P384.Signing.PrivateKey().publicKey.pemRepresentation,
            P521.Signing.PrivateKey().publicKey.pemRepresentation,
        ] {
            await #expect(throws: TokenVerifier.Key.InvalidSetting.self) {
                try await TokenVerifier.Key.asymmetric(pem: pem, source: "curve.pem")
            }
        }
    }

    @Test
    func `B44: a private key instead of a public one is rejected, with the command to extract the public key`()
        async throws
    {
        for pem in [
            P256.Signing.PrivateKey().pemRepresentation,
            try _RSA.Signing.PrivateKey(keySize: .bits2048).pemRepresentation,
            TokenForge.pem(of: Curve25519.Signing.PrivateKey()),
        ] {
            await #expect {
                try await TokenVerifier.Key.asymmetric(sources: [("tokens.pem", pem)], kids: [])
            } throws: {
                "\($0)".contains("tokens.pem contains a private key")
                    && "\($0)".contains("openssl pkey -in tokens.pem -pubout")
            }
        }
    }

    @Test(arguments: [
        (["a"], "1 key ids for 2"), (["a", "b", "c"], "3 key ids for 2"), (["a", "a"], "same key id"),
        (["a", ""], "key id is empty"),
    ])
    func `there is one key id for each key, or none`(kids: [String], reason: String) async throws {
        let sources = [("a.pem", Signer.es.publicPEM), ("b.pem", Signer.rs.publicPEM)]
        await #expect {
            try await TokenVerifier.Key.asymmetric(sources: sources, kids: kids)
        } throws: { "\($0)".contains(reason) }
        let named = try await TokenVerifier.Key.asymmetric(sources: sources, kids: ["a", "b"])
        #expect(named.map(\.kid) == ["a", "b"])
        #expect(named.map(\.algorithm.name) == ["ES256", "RS256"])
    }
}

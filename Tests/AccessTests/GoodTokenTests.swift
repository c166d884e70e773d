// Tokens that must be accepted: one of each algorithm, and permitted variations.

import Crypto
import CryptoExtras
import EnrouteWire
import Foundation
import JWTKit
import Synchronization
import Testing

@testable import Access

@Suite struct GoodTokenTests {
    private static let anna = Grant(
        person: PersonID("anna")!, role: .customer, token: TokenIdentity(id: "1", issuedAt: 1_795_000_000),
        expiresAt: 1_795_000_900)

    @Test(arguments: Signer.allCases)
    func `a valid token of each algorithm becomes a grant`(signer: Signer) async throws {
        let grant = try await TokenForge.verifier().verify(TokenForge.token(signer), now: TokenForge.now)
        #expect(grant == Self.anna)
    }

    @Test func `a verifier knows the tokens that it verified before, until their keys are replaced`() async throws {
        let verifier = try await TokenForge.verifier()
        let (token, bad) = (TokenForge.token(.es), "wrong")
        #expect(!verifier.knows(token) && !verifier.knows(bearer: "Bearer \(token)"))
        _ = try verifier.verify(token, now: TokenForge.now)
        #expect(throws: TokenRefusal.self) { try verifier.verify(bad, now: TokenForge.now) }
        #expect(verifier.knows(token) && verifier.knows(bearer: "Bearer \(token)"))
        #expect(!verifier.knows(bad) && !verifier.knows(token + "x") && !verifier.knows(bearer: token))
        #expect(!verifier.knows(String(repeating: "a", count: TokenVerifier.longestToken + 1)))
        verifier.replace(keys: [])
        #expect(!verifier.knows(token))
    }

    @Test(arguments: Signer.allCases)
    func `a token is verified only by its own key`(signer: Signer) async throws {
        let verifier = try await TokenForge.verifier()
        for other in Signer.allCases where other != signer {
            #expect(throws: TokenRefusal.self) {
                try verifier.verify(TokenForge.token(other, header: signer.header), now: TokenForge.now)
            }
        }
    }

    @Test(arguments: [
        TokenForge.claims(["aud": #"["other","aud"]"#]), TokenForge.claims(["nbf": "1795000030"]),
        TokenForge.claims(["iat": "1795000030"]), TokenForge.claims(["name": #""Anna \"A\" ☂""#]),
        TokenForge.claims(["nested": #"{"a":{"a":[1,null,true]}}"#]), " \n" + TokenForge.claims() + "\t",
    ])
    func `unknown claims are ignored`(claims: String) async throws {
        var grant = try await TokenForge.verifier().verify(TokenForge.token(claims: claims), now: TokenForge.now)
        #expect(grant.token?.id == "1")
        grant.token = Self.anna.token
        #expect(grant == Self.anna)
    }

    @Test func `a token expired by less than the skew is still valid`() async throws {
        let token = TokenForge.token(claims: TokenForge.claims(["exp": "1794999971"]))
        #expect(try await TokenForge.verifier().verify(token, now: TokenForge.now).expiresAt == 1_794_999_971)
    }

    @Test(arguments: ["jku", "x5u", "jwk", "x5c"])
    func `S3: header members that refer to keys elsewhere are ignored`(name: String) async throws {
        let header = #"{"alg":"ES256","kid":"es","\#(name)":"https://evil.example"}"#
        #expect(
            try await TokenForge.verifier().verify(TokenForge.token(header: header), now: TokenForge.now) == Self.anna)
    }

    @Test func `authorization narrows the grant`() async throws {
        let verifier = try await TokenForge.verifier()
        func grant(_ authorization: String) throws -> Grant {
            try verifier.verify(
                TokenForge.token(claims: TokenForge.claims(["authorization": authorization])), now: TokenForge.now)
        }
        let (job, rider) = (JobID("j1")!, PersonID("r1")!)
        #expect(try grant(#"{"jobid":"j1"}"#).job == job)
        #expect(try grant(#"{"jobid":"j1"}"#).rider == nil)
        #expect(try grant(#"{"riderid":"r1"}"#).rider == rider)
        let both = try grant(#"{"riderid":"r1","jobid":"j1"}"#)
        #expect(both.job == job && both.rider == rider)
    }

    @Test func `every key without a kid is tried, each with its own algorithm`() async throws {
        let old = P256.Signing.PrivateKey()
        let pems = [old.publicKey.pemRepresentation, Signer.es.publicPEM, Signer.rs.publicPEM, Signer.ed.publicPEM]
        let keys = try await TokenVerifier.Key.asymmetric(
            sources: pems.enumerated().map { ("key \($0.offset)", $0.element) }, kids: [])
        let verifier = TokenVerifier(keys: keys, issuer: "iss", audience: "aud")
        for signer in Signer.allCases where signer != .hs {
            let token = TokenForge.token(signer, header: #"{"alg":"\#(signer.algorithm)"}"#)
            #expect(try verifier.verify(token, now: TokenForge.now) == Self.anna)
        }
        #expect(throws: TokenRefusal.unknownKey) { try verifier.verify(TokenForge.token(), now: TokenForge.now) }
    }

    @Test func `the mint creates tokens of each algorithm`() async throws {
        let verifier = try await TokenForge.verifier()
        for (kid, pem) in [
            ("es", TokenForge.p256.pemRepresentation), ("rs", TokenForge.rsa.pemRepresentation),
            ("ed", TokenForge.pem(of: TokenForge.ed25519)),
        ] {
            let mint = try await TokenMint(privateKeyPEM: pem, kid: kid, issuer: "iss", audience: "aud")
            let token = try await mint.token(
                for: PersonID("r1")!, role: .rider, now: TokenForge.now, job: JobID("j1")!)
            var grant = try verifier.verify(token, now: TokenForge.now)
            #expect(grant.token?.issuedAt == TokenForge.now)
            grant.token = nil
            #expect(
                grant
                    == Grant(person: PersonID("r1")!, role: .rider, job: JobID("j1")!, expiresAt: TokenForge.now + 900))
        }
    }
}

/// A real verification that counts its calls.
private final class CountedAlgorithm: JWTAlgorithm {
    private let algorithm: any JWTAlgorithm
    let verifications = Mutex(0)

    init(_ key: TokenVerifier.Key) { self.algorithm = key.algorithm }

    var name: String { self.algorithm.name }
    func sign(_ plaintext: some DataProtocol) throws -> [UInt8] { try self.algorithm.sign(plaintext) }
    func verify(_ signature: some DataProtocol, signs plaintext: some DataProtocol) throws -> Bool {
        self.verifications.withLock { $0 += 1 }
        return try self.algorithm.verify(signature, signs: plaintext)
    }
}

@Suite struct RepeatedTokenTests {
    private let counted: CountedAlgorithm
    private let verifier: TokenVerifier

    init() async throws {
        self.counted = CountedAlgorithm(try await .asymmetric(pem: Signer.es.publicPEM, source: "test"))
        self.verifier = TokenVerifier(keys: [.init(kid: "es", algorithm: counted)], issuer: "iss", audience: "aud")
    }

    private var verifications: Int { self.counted.verifications.withLock { $0 } }

    @Test func `D6: a valid token is verified only once until it expires`() throws {
        let token = TokenForge.token()
        for now in TokenForge.now..<TokenForge.now + 930 { _ = try self.verifier.verify(token, now: now) }
        #expect(self.verifications == 1)
        #expect(throws: TokenRefusal.expired) { try self.verifier.verify(token, now: TokenForge.now + 930) }
        #expect(throws: TokenRefusal.notYetValid) { try self.verifier.verify(token, now: TokenForge.now - 31) }
    }

    @Test func `an invalid token is verified each time, and copies of a verifier share the valid ones`() throws {
        let bad = TokenForge.token(claims: TokenForge.claims(["aud": #""other""#]))
        for _ in 0..<3 {
            #expect(throws: TokenRefusal.wrongAudience) { try self.verifier.verify(bad, now: TokenForge.now) }
        }
        #expect(self.verifications == 3)
        _ = try self.verifier.verify(TokenForge.token(), now: TokenForge.now)
        let (copy, good) = (self.verifier, TokenForge.token())
        _ = try copy.verify(good, now: TokenForge.now)
        _ = try self.verifier.verify(good, now: TokenForge.now)
        #expect(self.verifications == 5)
    }

    @Test func `a token verified by a removed key is rejected`() throws {
        let token = TokenForge.token()
        _ = try self.verifier.verify(token, now: TokenForge.now)
        self.verifier.replace(keys: [.init(kid: "other", algorithm: self.counted)])
        #expect(throws: TokenRefusal.unknownKey) { try self.verifier.verify(token, now: TokenForge.now) }
    }
}

// What comes in: a good token of each algorithm, and what may differ from one good token to the next.

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
    func `a good token of each algorithm becomes a grant`(signer: Signer) async throws {
        let grant = try await Forge.verifier().verify(Forge.token(signer), now: Forge.now)
        #expect(grant == Self.anna)
    }

    @Test(arguments: Signer.allCases)
    func `a token is good by its own key and no other`(signer: Signer) async throws {
        let verifier = try await Forge.verifier()
        for other in Signer.allCases where other != signer {
            #expect(throws: TokenRefusal.self) {
                try verifier.verify(Forge.token(other, header: signer.header), now: Forge.now)
            }
        }
    }

    @Test(arguments: [
        Forge.claims(["aud": #"["other","aud"]"#]), Forge.claims(["nbf": "1795000030"]),
        Forge.claims(["iat": "1795000030"]), Forge.claims(["name": #""Anna \"A\" ☂""#]),
        Forge.claims(["nested": #"{"a":{"a":[1,null,true]}}"#]), " \n" + Forge.claims() + "\t",
    ])
    func `what is not checked may be there`(claims: String) async throws {
        var grant = try await Forge.verifier().verify(Forge.token(claims: claims), now: Forge.now)
        #expect(grant.token?.id == "1")
        grant.token = Self.anna.token
        #expect(grant == Self.anna)
    }

    @Test func `what is expired by less than the skew is still good`() async throws {
        let token = Forge.token(claims: Forge.claims(["exp": "1794999971"]))
        #expect(try await Forge.verifier().verify(token, now: Forge.now).expiresAt == 1_794_999_971)
    }

    @Test(arguments: ["jku", "x5u", "jwk", "x5c"])
    func `S3: what names a key elsewhere is not looked at`(name: String) async throws {
        let header = #"{"alg":"ES256","kid":"es","\#(name)":"https://evil.example"}"#
        #expect(try await Forge.verifier().verify(Forge.token(header: header), now: Forge.now) == Self.anna)
    }

    @Test func `authorization narrows the grant`() async throws {
        let verifier = try await Forge.verifier()
        func grant(_ authorization: String) throws -> Grant {
            try verifier.verify(Forge.token(claims: Forge.claims(["authorization": authorization])), now: Forge.now)
        }
        let (job, rider) = (JobID("j1")!, PersonID("r1")!)
        #expect(try grant(#"{"jobid":"j1"}"#).job == job)
        #expect(try grant(#"{"jobid":"j1"}"#).rider == nil)
        #expect(try grant(#"{"riderid":"r1"}"#).rider == rider)
        let both = try grant(#"{"riderid":"r1","jobid":"j1"}"#)
        #expect(both.job == job && both.rider == rider)
    }

    @Test func `keys without a name are all tried, each with its own algorithm`() async throws {
        let old = P256.Signing.PrivateKey()
        let pems = [old.publicKey.pemRepresentation, Signer.es.publicPEM, Signer.rs.publicPEM, Signer.ed.publicPEM]
        let keys = try await TokenVerifier.Key.asymmetric(
            sources: pems.enumerated().map { ("key \($0.offset)", $0.element) }, kids: [])
        let verifier = TokenVerifier(keys: keys, issuer: "iss", audience: "aud")
        for signer in Signer.allCases where signer != .hs {
            let token = Forge.token(signer, header: #"{"alg":"\#(signer.algorithm)"}"#)
            #expect(try verifier.verify(token, now: Forge.now) == Self.anna)
        }
        #expect(throws: TokenRefusal.unknownKey) { try verifier.verify(Forge.token(), now: Forge.now) }
    }

    @Test func `the mint makes tokens of each algorithm`() async throws {
        let verifier = try await Forge.verifier()
        for (kid, pem) in [
            ("es", Forge.p256.pemRepresentation), ("rs", Forge.rsa.pemRepresentation),
            ("ed", Forge.pem(of: Forge.ed25519)),
        ] {
            let mint = try await TokenMint(privateKeyPEM: pem, kid: kid, issuer: "iss", audience: "aud")
            let token = try await mint.token(
                for: PersonID("r1")!, role: .rider, now: Forge.now, job: JobID("j1")!)
            var grant = try verifier.verify(token, now: Forge.now)
            #expect(grant.token?.issuedAt == Forge.now)
            grant.token = nil
            #expect(
                grant == Grant(person: PersonID("r1")!, role: .rider, job: JobID("j1")!, expiresAt: Forge.now + 900))
        }
    }
}

/// A real verification that is counted.
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

    @Test func `D6: a good token is verified once, until it expires`() throws {
        let token = Forge.token()
        for now in Forge.now..<Forge.now + 930 { _ = try self.verifier.verify(token, now: now) }
        #expect(self.verifications == 1)
        #expect(throws: TokenRefusal.expired) { try self.verifier.verify(token, now: Forge.now + 930) }
        #expect(throws: TokenRefusal.notYetValid) { try self.verifier.verify(token, now: Forge.now - 31) }
    }

    @Test func `a bad token is verified each time, and a copy of the verifier knows the good ones`() throws {
        let bad = Forge.token(claims: Forge.claims(["aud": #""other""#]))
        for _ in 0..<3 {
            #expect(throws: TokenRefusal.wrongAudience) { try self.verifier.verify(bad, now: Forge.now) }
        }
        #expect(self.verifications == 3)
        _ = try self.verifier.verify(Forge.token(), now: Forge.now)
        let (copy, good) = (self.verifier, Forge.token())
        _ = try copy.verify(good, now: Forge.now)
        _ = try self.verifier.verify(good, now: Forge.now)
        #expect(self.verifications == 5)
    }

    @Test func `a token that was good by a key that is gone is good no more`() throws {
        let token = Forge.token()
        _ = try self.verifier.verify(token, now: Forge.now)
        self.verifier.replace(keys: [.init(kid: "other", algorithm: self.counted)])
        #expect(throws: TokenRefusal.unknownKey) { try self.verifier.verify(token, now: Forge.now) }
    }
}

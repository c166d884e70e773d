import Crypto
import CryptoExtras
import EnrouteWire
import Foundation
import Testing

@testable import Access

@Suite struct TokenVerifierTests {
    private static let secret = "a secret of at least thirty-two bytes"
    private static let now: Int64 = 1_795_000_000

    private static func verifier() async throws -> TokenVerifier {
        TokenVerifier(keys: [try await .hs256(secret: self.secret)], issuer: "iss", audience: "aud")
    }

    /// A token made by hand, so that nothing a library would refuse to make is left out.
    private static func token(
        header: String = #"{"alg":"HS256","typ":"JWT"}"#, _ claims: String, secret: String = Self.secret
    ) -> String {
        let body = "\(Self.base64(Data(header.utf8))).\(Self.base64(Data(claims.utf8)))"
        let code = HMAC<SHA256>.authenticationCode(for: Data(body.utf8), using: SymmetricKey(data: Data(secret.utf8)))
        return "\(body).\(Self.base64(Data(code)))"
    }

    private static func base64(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func claims(
        iss: String = #""iss""#, aud: String = #""aud""#, sub: String = #""anna""#, exp: String = "1795000900",
        iat: String = "1795000000", role: String = #""customer""#, more: String = ""
    ) -> String {
        #"{"iss":\#(iss),"aud":\#(aud),"sub":\#(sub),"exp":\#(exp),"iat":\#(iat),"jti":"1","role":\#(role)\#(more)}"#
    }

    @Test func `a good token becomes a grant`() async throws {
        let grant = try await Self.verifier().verify(Self.token(Self.claims()), now: Self.now)
        #expect(grant == Grant(person: PersonID("anna")!, role: .customer, expiresAt: 1_795_000_900))
    }

    @Test func `one of several audiences is enough`() async throws {
        let token = Self.token(Self.claims(aud: #"["other","aud"]"#))
        #expect(try await Self.verifier().verify(token, now: Self.now).role == .customer)
    }

    @Test(arguments: [
        ("", TokenRefusal.malformed), ("a.b", .malformed), ("a.b.c", .malformed), ("...", .malformed),
        (String(repeating: "a", count: 4097), .tooLong),
        (token("{}"), .malformed), (token("[]"), .malformed), (token("null"), .malformed),
        (token(claims(exp: #""1795000900""#)), .malformed), (token(claims(role: #""king""#)), .unknownRole),
        (token(claims(iss: #""else""#)), .wrongIssuer), (token(claims(aud: #""else""#)), .wrongAudience),
        (token(claims(sub: #""a b""#)), .badSubject), (token(claims(sub: #""""#)), .badSubject),
        (token(claims(exp: "1794999969")), .expired), (token(claims(iat: "1795000031")), .notYetValid),
        (token(claims(), secret: "another secret of thirty-two bytes"), .badSignature),
        (token(claims()) + "AA", .malformed), (String(token(claims()).dropLast(43)), .badSignature),
        (token(header: #"{"alg":"none"}"#, claims()), .wrongAlgorithm),
        (token(header: #"{"alg":"HS512"}"#, claims()), .wrongAlgorithm),
        (token(header: #"{"alg":"ES256"}"#, claims()), .wrongAlgorithm),
        (token(header: #"{"typ":"JWT"}"#, claims()), .wrongAlgorithm),
        (token(header: #"{"alg":"HS256","kid":"other"}"#, claims()), .unknownKey),
        (token(header: #"{"alg":"HS256","kid":"../../etc/passwd"}"#, claims()), .unknownKey),
    ])
    func `a bad token is refused for its reason`(token: String, reason: TokenRefusal) async throws {
        let verifier = try await Self.verifier()
        #expect(throws: reason) { try verifier.verify(token, now: Self.now) }
    }

    @Test func `what is expired by less than the skew is still good`() async throws {
        let token = Self.token(Self.claims(exp: "1794999971"))
        #expect(try await Self.verifier().verify(token, now: Self.now).expiresAt == 1_794_999_971)
    }

    @Test func `ES256 by a public key, under its name and no other algorithm`() async throws {
        let key = P256.Signing.PrivateKey()
        let mint = try await TokenMint(privateKeyPEM: key.pemRepresentation, kid: "k1", issuer: "iss", audience: "aud")
        let token = try await mint.token(for: PersonID("rider-1")!, role: .rider, now: Self.now)
        let verifier = TokenVerifier(
            keys: [try await .asymmetric(pem: key.publicKey.pemRepresentation, kid: "k1", source: "test")],
            issuer: "iss",
            audience: "aud")
        #expect(try verifier.verify(token, now: Self.now).role == .rider)
        // The classic confusion: an HMAC with the public key's text as its secret.
        let forged = Self.token(
            header: #"{"alg":"HS256","kid":"k1"}"#, Self.claims(), secret: key.publicKey.pemRepresentation)
        #expect(throws: TokenRefusal.wrongAlgorithm) { try verifier.verify(forged, now: Self.now) }
        let other = try await TokenMint(
            privateKeyPEM: P256.Signing.PrivateKey().pemRepresentation, kid: "k1", issuer: "iss", audience: "aud")
        let foreign = try await other.token(for: PersonID("rider-1")!, role: .rider, now: Self.now)
        #expect(throws: TokenRefusal.badSignature) { try verifier.verify(foreign, now: Self.now) }
    }

    @Test func `a short secret and a file that is no key are refused with what to do`() async {
        await #expect {
            try await TokenVerifier.Key.hs256(secret: "short")
        } throws: { "\($0)".contains("openssl rand") }
        await #expect {
            try await TokenVerifier.Key.asymmetric(pem: "no key", source: "keys.pem")
        } throws: { "\($0)".contains("keys.pem") && "\($0)".contains("openssl ec") }
    }

    @Test func `an RSA key of 1024 bits and a curve that is not ours are refused`() async throws {
        let small = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024))
        for pem in [small.pemRepresentation, small.publicKey.pemRepresentation] {
            await #expect {
                try await TokenVerifier.Key.asymmetric(pem: pem, source: "small.pem")
            } throws: { "\($0)".contains("small.pem holds an RSA key of 1024 bits") }
        }
        for pem in [
            P384.Signing.PrivateKey().publicKey.pemRepresentation, P521.Signing.PrivateKey().pemRepresentation,
        ] {
            await #expect(throws: TokenVerifier.Key.Unusable.self) {
                try await TokenVerifier.Key.asymmetric(pem: pem, source: "curve.pem")
            }
        }
    }

    @Test(arguments: [
        (["a"], "1 key ids for 2"), (["a", "b", "c"], "3 key ids for 2"), (["a", "a"], "one key id"),
        (["a", ""], "one is empty"),
    ])
    func `key ids are one for each key, or none`(kids: [String], reason: String) async throws {
        let sources = [("a.pem", Signer.es.publicPEM), ("b.pem", Signer.rs.publicPEM)]
        await #expect {
            try await TokenVerifier.Key.asymmetric(sources: sources, kids: kids)
        } throws: { "\($0)".contains(reason) }
        let named = try await TokenVerifier.Key.asymmetric(sources: sources, kids: ["a", "b"])
        #expect(named.map(\.kid) == ["a", "b"])
        #expect(named.map(\.algorithm.name) == ["ES256", "RS256"])
    }
}

@Suite struct GrantTests {
    private static let (anna, rider, job) = (PersonID("anna")!, PersonID("rider-1")!, JobID("j1")!)

    @Test func `what the table does not name is denied`() {
        let allowed = Role.allCases.map { role in
            Verb.allCases.filter { Grant(person: Self.anna, role: role).allows($0) }.count
        }
        #expect(allowed == [3, 5, 3, 5])
    }

    @Test func `a job is reached by its customer, its rider, operations and services`() {
        func reaches(_ person: String, _ role: Role, only: JobID? = nil) -> Bool {
            Grant(person: PersonID(person)!, role: role, job: only).reaches(
                Self.job, customer: Self.anna, rider: Self.rider)
        }
        #expect(
            reaches("anna", .customer) && reaches("rider-1", .rider) && reaches("x", .ops) && reaches("x", .service))
        #expect(!reaches("bert", .customer) && !reaches("rider-2", .rider))
        #expect(!reaches("rider-1", .customer) && !reaches("anna", .rider))
        #expect(!reaches("anna", .customer, only: JobID("j2")!))
        #expect(reaches("anna", .customer, only: Self.job))
    }

    @Test func `a grant that is narrowed reaches that job, or that rider's jobs`() {
        func reaches(_ grant: Grant) -> Bool { grant.reaches(Self.job, customer: Self.anna, rider: Self.rider) }
        let (other, stranger) = (JobID("j2")!, PersonID("rider-2")!)
        for role in [Role.ops, .service] {
            #expect(reaches(Grant(person: PersonID("x")!, role: role, job: Self.job)))
            #expect(!reaches(Grant(person: PersonID("x")!, role: role, job: other)))
            #expect(reaches(Grant(person: PersonID("x")!, role: role, rider: Self.rider)))
            #expect(!reaches(Grant(person: PersonID("x")!, role: role, rider: stranger)))
            #expect(!reaches(Grant(person: PersonID("x")!, role: role, job: other, rider: Self.rider)))
        }
        // Narrowing never widens.
        #expect(!reaches(Grant(person: stranger, role: .rider, rider: Self.rider)))
        #expect(!reaches(Grant(person: stranger, role: .customer, job: Self.job)))
        let unassigned = Grant(person: Self.anna, role: .customer, rider: Self.rider)
        #expect(!unassigned.reaches(Self.job, customer: Self.anna, rider: nil))
    }

    @Test func `a grant narrowed to a rider's jobs changes none, unless it is that rider's`() {
        for role in Role.allCases {
            let grant = Grant(person: PersonID("x")!, role: role, rider: Self.rider)
            #expect(Verb.allCases.filter { grant.allows($0) } == [.followJob, .readJob])
        }
        let own = Grant(person: Self.rider, role: .rider, rider: Self.rider)
        #expect(Verb.allCases.filter { own.allows($0) } == [.followJob, .readJob, .reportLocation, .switchTravel])
        #expect(own.covers(Self.job) && !Grant(person: Self.rider, role: .rider, job: JobID("j2")!).covers(Self.job))
    }

    @Test func `a job without a rider is no rider's`() {
        #expect(!Grant(person: Self.rider, role: .rider).reaches(Self.job, customer: Self.anna, rider: nil))
    }
}

// What the settings of an identity provider change about the verification of tokens, and what they do not change.

import Crypto
import EnrouteWire
import Foundation
import Testing

@testable import Access

@Suite struct ProviderTokenTests {
    private static func verifier(_ change: (inout IdentityProvider) -> Void) async throws -> TokenVerifier {
        TokenVerifier([try await self.provider(change)])
    }

    private static func provider(_ change: (inout IdentityProvider) -> Void) async throws -> IdentityProvider {
        var keys = [try await TokenVerifier.Key.hs256(secret: TokenForge.secret)]
        for signer in Signer.allCases where signer != .hs {
            keys.append(
                try await .asymmetric(pem: signer.publicPEM, kid: signer.rawValue, source: signer.rawValue))
        }
        var provider = IdentityProvider(issuer: "iss", audience: "aud", keys: keys)
        change(&provider)
        return provider
    }

    private static func grant(
        _ verifier: TokenVerifier, _ changes: KeyValuePairs<String, String?> = [:], _ signer: Signer = .es,
        header: String? = nil
    ) throws -> Grant {
        try verifier.verify(
            TokenForge.token(signer, header: header, claims: TokenForge.claims(changes)), now: TokenForge.now)
    }

    private static func refusal(
        _ verifier: TokenVerifier, _ changes: KeyValuePairs<String, String?> = [:], _ signer: Signer = .es,
        header: String? = nil
    ) -> TokenRefusal? {
        #expect(throws: TokenRefusal.self) { try self.grant(verifier, changes, signer, header: header) }
    }

    /// The most permissive settings.
    private static func loose(_ provider: inout IdentityProvider) {
        provider.personForm = .hashed
        provider.requiresTokenID = false
        provider.roles = Role.allCases.compactMap { IdentityProvider.RoleEntry("\($0.rawValue):\($0.rawValue)") }
        provider.defaultRole = .customer
    }

    /// The tokens that these settings are meant to accept; all others in the corpus stay refused.
    private static let allowedByLoose: Set = [
        "without jti", "without role", "a subject with a space", "a subject with a brace", "an unknown role",
        "a role in capitals", "roles in an array",
    ]

    @Test(arguments: [1, 2]) func `S3: the corpus of bad tokens is refused with the loosest settings too`(
        providers: Int
    )
        async throws
    {
        var all = [try await Self.provider(Self.loose)]
        // A second provider with other keys, whose issuer is another one.
        if providers == 2 { all.append(IdentityProvider(issuer: "iss2", audience: "aud")) }
        let verifier = TokenVerifier(all)
        var refused = 0
        for bad in BadTokenTests.corpus {
            if Self.allowedByLoose.contains(bad.what) {
                #expect(throws: Never.self, "\(bad.what)") { try verifier.verify(bad.token, now: TokenForge.now) }
            } else {
                #expect(throws: TokenRefusal.self, "\(bad.what)") {
                    try verifier.verify(bad.token, now: TokenForge.now)
                }
                refused += 1
            }
        }
        #expect(refused == BadTokenTests.corpus.count - Self.allowedByLoose.count)
    }

    @Test func `the role comes from the configured claim, and the first entry that fits decides`() async throws {
        let verifier = try await Self.verifier {
            $0.roleClaim = ClaimPath("realm_access.roles")!
            $0.roles = ["urn:shop:dispatcher:ops", "courier:rider"].map { IdentityProvider.RoleEntry($0)! }
        }
        func role(_ json: String) throws -> Role { try Self.grant(verifier, ["realm_access": json]).role }
        #expect(try role(#"{"roles":["a","courier"]}"#) == .rider)
        #expect(try role(#"{"roles":["courier","urn:shop:dispatcher"]}"#) == .ops)
        #expect(try role(#"{"roles":"courier"}"#) == .rider)
        // The claim `role` has no effect now.
        for (json, reason) in [
            (nil, .missingClaim), ("{}", .missingClaim), (#"{"roles":[]}"#, .unmappedRole),
            (#"{"roles":["ops"]}"#, .unmappedRole), (#"{"roles":[1]}"#, .malformed), ("[]", .malformed),
            (#"{"roles":["courier"],"roles":["courier"]}"#, .repeatedMember),
        ] as [(String?, TokenRefusal.Reason)] {
            let refusal = Self.refusal(verifier, ["realm_access": json])
            #expect(refusal?.reason == reason && refusal?.claim?.description == "realm_access.roles", "\(json ?? "-")")
            #expect(refusal?.sentence.contains("realm_access.roles") == true || reason == .repeatedMember)
            #expect(
                reason != .unmappedRole
                    || refusal?.sentence == "Its realm_access.roles matches no entry of the role map.")
        }
    }

    @Test func `a token without a role gets the default role, if there is one`() async throws {
        let verifier = try await Self.verifier { $0.defaultRole = .customer }
        #expect(try Self.grant(verifier, ["role": nil]).role == .customer)
        // Without a map, a role that Enroute does not know is a mistake.
        let unknown = Self.refusal(verifier, ["role": #""admin""#])
        #expect(unknown?.reason == .unknownRole)
        #expect(unknown?.sentence == "Its role must be one of customer, rider, ops, service.")
        let mapped = try await Self.verifier {
            $0.defaultRole = .customer
            $0.roles = [IdentityProvider.RoleEntry("courier:rider")!]
        }
        #expect(try Self.grant(mapped, ["role": #""authenticated""#]).role == .customer)
        #expect(try Self.grant(mapped, ["role": #""ops""#]).role == .customer)
        #expect(Self.refusal(mapped, ["role": "1"])?.reason == .malformed)
    }

    @Test(arguments: ["role", "app_metadata.role"])
    func `a role that is null counts as missing`(claim: String) async throws {
        func verifier(_ role: Role?) async throws -> TokenVerifier {
            try await Self.verifier {
                $0.roleClaim = ClaimPath(claim)!
                $0.roles = [IdentityProvider.RoleEntry("courier:rider")!]
                $0.defaultRole = role
            }
        }
        let (customers, nobody) = (try await verifier(.customer), try await verifier(nil))
        let unset: [KeyValuePairs<String, String?>] =
            claim == "role"
            ? [["role": "null"]] : [["app_metadata": "null"], ["app_metadata": #"{"plan":1,"role":null}"#]]
        for claims in unset {
            #expect(try Self.grant(customers, claims).role == .customer)
            let refusal = Self.refusal(nobody, claims)
            #expect(refusal?.reason == .missingClaim && refusal?.claim == ClaimPath(claim))
        }
    }

    @Test func `nbf and jti that are null count as missing`() async throws {
        let required = try await TokenForge.verifier()
        #expect(try Self.grant(required, ["nbf": "null"]).role == .customer)
        #expect(Self.refusal(required, ["jti": "null"]) == TokenRefusal(.missingClaim, claim: ClaimPath("jti")))
        let optional = try await Self.verifier { $0.requiresTokenID = false }
        #expect(try Self.grant(optional, ["jti": "null"]).token?.id == "anna@1795000000")
    }

    @Test func `S3: a restriction that is null is refused, and does not allow more`() async throws {
        let verifier = try await Self.verifier {
            ($0.jobClaim, $0.riderClaim) = (ClaimPath("limits.job"), ClaimPath("rider"))
        }
        #expect(try Self.grant(verifier).job == nil)
        for claims in [
            ["authorization": "null"], ["authorization": #"{"jobid":null}"#],
            ["authorization": #"{"jobid":"j1","riderid":null}"#], ["limits": "null"], ["limits": #"{"job":null}"#],
            ["rider": "null"],
        ] as [KeyValuePairs<String, String?>] {
            #expect(Self.refusal(verifier, claims)?.reason == .malformed, "\(claims)")
        }
    }

    @Test func `an id outside the alphabet is hashed, and nobody can choose the hash of somebody else`() async throws {
        let verifier = try await Self.verifier { $0.personForm = .hashed }
        func person(_ id: String) throws -> String { try Self.grant(verifier, ["sub": "\"\(id)\""]).person.text }
        let hash = "s_gjSFH_Jvdx5ykMNkoXdSQtJRfxrgmKzUYWSMNBqgs8I"
        #expect(try person("auth0|64f0c1") == hash)
        #expect(try person("anna") == "anna")
        #expect(try person(hash) != hash)
        #expect(try person(String(repeating: "a", count: 64)) == String(repeating: "a", count: 64))
        #expect(try person(String(repeating: "a", count: 65)).hasPrefix("s_"))
        #expect(try person("ä@b.example").count == 45)
        #expect(Self.refusal(verifier, ["sub": #""""#])?.reason == .badSubject)
        let other = try await Self.verifier { $0.personClaim = ClaimPath(#"https://a.example/id"#)! }
        #expect(try Self.grant(other, ["sub": nil, "https://a.example/id": #""remo""#]).person.text == "remo")
        #expect(Self.refusal(other)?.claim?.description == "https://a.example/id")
    }

    @Test func `a token without jti is revoked by its person and issue time`() async throws {
        let verifier = try await Self.verifier { $0.requiresTokenID = false }
        let grant = try Self.grant(verifier, ["jti": nil, "iat": "1795000000.999"])
        #expect(grant.token == TokenIdentity(id: "anna@1795000000", issuedAt: 1_795_000_000))
        var table = RevocationTable()
        #expect(!table.isRevoked(grant))
        let subject = try #require(RevocationSubject(.token, id: "anna@1795000000"))
        _ = table.apply(Revocation(subject, at: 1))
        #expect(table.isRevoked(grant))
        #expect(!table.isRevoked(try Self.grant(verifier, ["jti": nil, "iat": "1795000001"])))
        _ = table.apply(Revocation(.user(PersonID("anna")!), at: 1_795_000_001_000))
        #expect(table.isRevoked(try Self.grant(verifier, ["jti": nil, "iat": "1795000001"])))
        // A jti that is present must still be valid.
        #expect(Self.refusal(verifier, ["jti": #""a b""#])?.reason == .badTokenID)
    }

    @Test(arguments: ["1795000000.5", "1795000000.0", "1794999999.999999999"])
    func `iat and nbf may have a fraction`(time: String) async throws {
        let verifier = try await TokenForge.verifier()
        let grant = try Self.grant(verifier, ["iat": time, "nbf": time])
        #expect(grant.token?.issuedAt == Int64(time.prefix(10)))
    }

    /// JavaScript issuers that write `Date.now() / 1000 + 900` send one.
    @Test func `exp may have a fraction, which is removed`() async throws {
        let verifier = try await TokenForge.verifier()
        #expect(try Self.grant(verifier, ["exp": "1795000900.999"]).expiresAt == 1_795_000_900)
    }

    @Test(arguments: [
        "1795000000.", "1795000000.5e1", "1.795e9", "1795000000E0", "1.795e9x", ".5", #""1795000000.5""#,
        "1795000000.5.5",
    ])
    func `a malformed iat is refused`(time: String) async throws {
        let verifier = try await TokenForge.verifier()
        #expect(Self.refusal(verifier, ["iat": time])?.reason == .malformed)
    }

    @Test func `restrictions come from the configured claims, and agree with authorization`() async throws {
        let verifier = try await Self.verifier {
            ($0.jobClaim, $0.riderClaim) = (ClaimPath("https://a.example/job"), ClaimPath("limits.rider"))
            $0.personForm = .hashed
        }
        let job = "https://a.example/job"
        let both = try Self.grant(verifier, [job: #""j1""#, "limits": #"{"rider":"auth0|1"}"#])
        #expect(both.job == JobID("j1") && both.rider?.text.hasPrefix("s_") == true)
        #expect(try Self.grant(verifier).job == nil)
        #expect(try Self.grant(verifier, [job: #""j1""#, "authorization": #"{"jobid":"j1"}"#]).job == JobID("j1"))
        for (value, reason) in [
            (#""*""#, TokenRefusal.Reason.badAuthorization), ("1", .malformed), (#""""#, .badAuthorization),
        ] {
            #expect(Self.refusal(verifier, [job: value]) == TokenRefusal(reason, claim: ClaimPath(job)))
        }
        let other = Self.refusal(verifier, [job: #""j1""#, "authorization": #"{"jobid":"j2"}"#])
        #expect(other?.reason == .badAuthorization && other?.sentence.contains(job) == true)
    }

    @Test func `audience, algorithm and type can be required`() async throws {
        let verifier = try await Self.verifier {
            ($0.audienceClaim, $0.audience) = (ClaimPath("client_id")!, "app")
            ($0.accepted, $0.type) = (["ES256"], "at+jwt")
        }
        let typed = #"{"alg":"ES256","kid":"es","typ":"application/at+JWT"}"#
        #expect(try Self.grant(verifier, ["aud": nil, "client_id": #""app""#], header: typed).role == .customer)
        let plain = Self.refusal(verifier, ["client_id": #""app""#])
        #expect(plain?.reason == .wrongType)
        #expect(Self.refusal(verifier, ["aud": #""app""#], header: typed)?.claim?.description == "client_id")
        #expect(Self.refusal(verifier, ["client_id": #""other""#], header: typed)?.reason == .wrongAudience)
        let signed = Self.refusal(
            verifier, ["client_id": #""app""#], .rs, header: #"{"alg":"RS256","kid":"rs","typ":"at+jwt"}"#)
        #expect(signed?.reason == .wrongAlgorithm)
    }

    @Test func `of two providers of one issuer, the one whose keys are still missing decides whether to fetch`()
        async throws
    {
        let known = try await Self.provider { $0.audience = "identity" }
        let missing = IdentityProvider(issuer: "iss", audience: "aud")
        for providers in [[known, missing], [missing, known]] {
            let refusal = Self.refusal(TokenVerifier(providers))
            #expect(refusal == .unknownKey, "\(providers.map(\.audience))")
        }
        // If the second provider has keys, the audience explains the refusal.
        let other = try await Self.provider { $0.audience = "another" }
        #expect(Self.refusal(TokenVerifier([known, other]))?.reason == .wrongAudience)
    }

    @Test func `S4: a token lacks its key if one of the providers of its issuer does not know it`() async throws {
        let known = try await Self.provider { $0.audience = "identity" }
        let others = try await TokenVerifier.Key.asymmetric(pem: Signer.rs.publicPEM, kid: "other", source: "t")
        let old = IdentityProvider(issuer: "iss", audience: "aud", keys: [others])
        for providers in [[known, old], [old, known]] {
            let verifier = TokenVerifier(providers)
            let refusal = Self.refusal(verifier)
            // The reason stays that of the provider whose verification got furthest.
            #expect(refusal?.reason == .wrongAudience && refusal?.lacksKey == true)
            let lacking = verifier.lackingKey(of: TokenForge.token())
            #expect(lacking.map { verifier.providers[$0].audience } == ["aud"])
        }
        // A provider that refuses the token's type, another issuer's provider, and one that knows the key lack nothing.
        var typed = old
        typed.type = "at+jwt"
        let foreign = IdentityProvider(issuer: "iss2", audience: "aud", keys: [others])
        for other in [typed, foreign, try await Self.provider { $0.audience = "another" }] {
            let verifier = TokenVerifier([known, other])
            #expect(Self.refusal(verifier)?.lacksKey == false)
            #expect(verifier.lackingKey(of: TokenForge.token()) == [])
        }
        #expect(TokenRefusal.unknownKey.lacksKey && !TokenRefusal.wrongAudience.lacksKey)
    }

    @Test func `S3: a token without kid is refused for that if every key has one, and causes no fetch`() async throws {
        let named = try await Self.verifier { $0.keys.removeAll { $0.kid == nil } }
        let refusal = Self.refusal(named, header: #"{"alg":"ES256"}"#)
        #expect(refusal == .missingKeyID && refusal?.lacksKey == false)
        #expect(refusal?.sentence == "It has no kid, but every configured key has one.")
        #expect(refusal?.summary == "kid is missing")
        #expect(Self.refusal(named, header: #"{"alg":"ES256","kid":"other"}"#) == .unknownKey)
        // Nothing is known about the keys before the first fetch.
        #expect(Self.refusal(try await Self.verifier { $0.keys = [] }, header: #"{"alg":"ES256"}"#) == .unknownKey)
    }

    @Test func `S3: Ed25519 is another name for EdDSA, but only for keys of that kind`() async throws {
        let verifier = try await TokenForge.verifier()
        #expect(try Self.grant(verifier, [:], .ed, header: #"{"alg":"Ed25519","kid":"ed"}"#).role == .customer)
        #expect(Self.refusal(verifier, [:], .ed, header: #"{"alg":"Ed448","kid":"ed"}"#)?.reason == .wrongAlgorithm)
        #expect(Self.refusal(verifier, [:], .es, header: #"{"alg":"Ed25519","kid":"es"}"#)?.reason == .wrongAlgorithm)
        let without = try await Self.verifier { $0.accepted = ["ES256"] }
        let refusal = Self.refusal(without, [:], .ed, header: #"{"alg":"Ed25519","kid":"ed"}"#)
        #expect(refusal?.reason == .wrongAlgorithm)
    }

    @Test func `S3: a provider's key verifies only tokens of its issuer`() async throws {
        let first = IdentityProvider(
            issuer: "a", audience: "aud", keys: [try await .asymmetric(pem: Signer.es.publicPEM, kid: "k", source: "t")]
        )
        let second = IdentityProvider(
            issuer: "b", audience: "aud", keys: [try await .asymmetric(pem: Signer.rs.publicPEM, kid: "k", source: "t")]
        )
        let verifier = TokenVerifier([first, second])
        func outcome(_ issuer: String, _ signer: Signer) -> TokenRefusal.Reason? {
            let header = #"{"alg":"\#(signer.algorithm)","kid":"k"}"#
            let claims = TokenForge.claims(["iss": "\"\(issuer)\""])
            do throws(TokenRefusal) {
                _ = try verifier.verify(TokenForge.token(signer, header: header, claims: claims), now: TokenForge.now)
                return nil
            } catch {
                return error.reason
            }
        }
        #expect(outcome("a", .es) == nil && outcome("b", .rs) == nil)
        #expect(outcome("a", .rs) == .wrongAlgorithm && outcome("b", .es) == .wrongAlgorithm)
        #expect(outcome("c", .es) == .wrongIssuer)
        #expect(outcome("a", .ed) == .wrongAlgorithm)
    }

    @Test(arguments: [
        ("role", ["role"]), ("realm_access.roles", ["realm_access", "roles"]), ("cognito:groups", ["cognito:groups"]),
        ("https://shop.example/role", ["https://shop.example/role"]), (#"a\.b.c"#, ["a.b", "c"]),
    ])
    func `a path consists of names separated by dots, or is a URL`(text: String, names: [String]) throws {
        #expect(try #require(ClaimPath(text)).names == names)
    }

    @Test(arguments: ["", ".", "a.", ".a", "a..b", #"a\b"#, #"a\"#, "a b", "ä", "a\"b", "a.b.c.d.e.f"])
    func `other texts are not paths`(text: String) { #expect(ClaimPath(text) == nil) }

    @Test func `an obstacle says why an action is not allowed`() {
        let anna = PersonID("anna")!
        #expect(Grant(person: anna, role: .service).obstacle(to: .createJob) == nil)
        #expect(Grant(person: anna, role: .rider).obstacle(to: .createJob) == .role([.service]))
        #expect(Grant(person: anna, role: .ops, job: JobID("j")).obstacle(to: .followPool) == .limitedToJob)
        #expect(Grant(person: anna, role: .ops, rider: anna).obstacle(to: .followPool) == .limitedToRider)
    }
}

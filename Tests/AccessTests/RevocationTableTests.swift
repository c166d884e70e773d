import EnrouteWire
import Testing

@testable import Access

/// Decisions about revocations, without Redis.
@Suite struct RevocationTableTests {
    private static let (anna, job) = (PersonID("anna")!, JobID("job-1")!)
    private static let link = "0123456789abcdef0123456789abcdef"

    private func grant(_ token: String = "t1", issuedAt: Int64 = 1000, role: Role = .customer) -> Grant {
        Grant(person: Self.anna, role: role, token: TokenIdentity(id: token, issuedAt: issuedAt))
    }

    private func table(_ subject: RevocationSubject, at milliseconds: Int64 = 1_000_500) -> RevocationTable {
        var table = RevocationTable()
        _ = table.apply(Revocation(subject, at: milliseconds))
        return table
    }

    @Test func `revoking a user revokes earlier tokens, even of a clock that is 30 s fast, but not newer ones`() {
        let table = self.table(.user(Self.anna))
        for issued in [999, 1000, 1000 + TokenVerifier.skew] {
            #expect(table.isRevoked(self.grant(issuedAt: issued)), "\(issued)")
        }
        #expect(!table.isRevoked(self.grant(issuedAt: 1000 + TokenVerifier.skew + 1)))
        #expect(table.isRevoked(self.grant(role: .ops)))
        var other = self.grant()
        other.person = PersonID("bert")!
        #expect(!table.isRevoked(other))
    }

    @Test func `a token is revoked by its id, whenever it was issued`() {
        let table = self.table(.token("t1"))
        #expect(table.isRevoked(self.grant(issuedAt: 2000)))
        #expect(!table.isRevoked(self.grant("t2")))
    }

    @Test func `a link is revoked by its id without revoking the customer's tokens`() {
        let table = self.table(.link(Self.link))
        #expect(table.isRevoked(Grant(person: Self.anna, role: .customer, job: Self.job, link: Self.link)))
        #expect(!table.isRevoked(Grant(person: Self.anna, role: .customer, job: Self.job)))
        #expect(!table.isRevoked(self.grant()))
        // Revoking the customer does not revoke a link: that concerns only tokens.
        #expect(!self.table(.user(Self.anna)).isRevoked(Grant(person: Self.anna, role: .customer, link: Self.link)))
    }

    @Test func `a revoked job is hidden from everyone except operations and services`() {
        let revocations = Revocations()
        #expect(Role.allCases.allSatisfy { !revocations.hides(Self.job, from: $0) })
        #expect(revocations.apply([Revocation(.job(Self.job), at: 1)], now: 1).count == 1)
        #expect(Role.allCases.filter { revocations.hides(Self.job, from: $0) } == [.customer, .rider])
        #expect(!revocations.isRevoked(self.grant()))
    }

    @Test func `repeated revocations change nothing, in any order, but a later one takes effect`() {
        var table = self.table(.user(Self.anna), at: 5000)
        let again = table.apply(Revocation(.user(Self.anna), at: 5000))
        let earlier = table.apply(Revocation(.user(Self.anna), at: 3000))
        #expect(!again && !earlier)
        #expect(table.isRevoked(self.grant(issuedAt: 5)))
        let later = table.apply(Revocation(.user(Self.anna), at: 9000))
        #expect(later)
        #expect(table.isRevoked(self.grant(issuedAt: 9)))
        #expect(table.count == 1)
    }

    @Test func `only entries older than any token are removed`() {
        let revocations = Revocations(retentionMilliseconds: 3_600_000)
        let skew = TokenVerifier.skew * 1000
        _ = revocations.apply([Revocation(.token("t1"), at: 1_000_000)], now: 1_000_000)
        _ = revocations.apply([], now: 1_000_000 + 3_600_000 + skew)
        #expect(revocations.isRevoked(self.grant()))
        _ = revocations.apply([], now: 1_000_000 + 3_600_000 + skew + 60_000)
        #expect(!revocations.isRevoked(self.grant()))
    }

    @Test(arguments: [
        (RevocationSubject.Kind.user, ["anna", "a"], ["", "a b", "a{b"]),
        (
            .token, ["x", "a:b/c%", String(repeating: "x", count: 256)],
            ["", "a b", "é", String(repeating: "x", count: 257)]
        ),
        (.job, ["job-1"], ["", "job 1"]), (.link, [Self.link], ["", "x" + Self.link.dropFirst(), Self.link + "0"]),
    ])
    func `an id is accepted only in the form of its kind`(kind: RevocationSubject.Kind, good: [String], bad: [String]) {
        for id in good {
            let subject = RevocationSubject(kind, id: id)
            #expect(subject?.kind == kind && subject?.id == id)
        }
        for id in bad { #expect(RevocationSubject(kind, id: id) == nil, "\(id)") }
    }

    /// Revocations are remembered only for the longest lifetime of a token.
    @Test func `a token that outlives the revocation memory is rejected`() async throws {
        let key = try await TokenVerifier.Key.hs256(secret: TokenForge.secret)
        let verifier = TokenVerifier(keys: [key], issuer: "iss", audience: "aud", longestLifetime: 900)
        _ = try verifier.verify(TokenForge.token(.hs), now: TokenForge.now)
        #expect(throws: TokenRefusal.lifetimeTooLong) {
            try verifier.verify(
                TokenForge.token(.hs, claims: TokenForge.claims(["exp": "1795000901"])), now: TokenForge.now)
        }
    }
}

import Crypto
import EnrouteWire
import Foundation
import Testing

@testable import Access

@Suite struct VerifiedTokensTests {
    private static func digest(_ number: Int) -> SHA256Digest { SHA256.hash(data: Data("\(number)".utf8)) }

    private static func token(_ number: Int, expiresAt: Int64 = 100) -> VerifiedToken {
        VerifiedToken(
            grant: Grant(person: PersonID("p\(number)")!, role: .customer), notBefore: 0, expiresAt: expiresAt)
    }

    @Test func `the cache never exceeds its limit, and the oldest entry is removed first`() {
        var tokens = TokenCache(most: 3)
        for number in 0..<10 {
            tokens.insert(Self.token(number), Self.digest(number))
            #expect(tokens.count == min(number + 1, 3))
        }
        #expect((0..<10).filter { tokens[Self.digest($0)] != nil } == [7, 8, 9])
        #expect(tokens[Self.digest(8)] == Self.token(8))
    }

    @Test func `the same token occupies one entry`() {
        var tokens = TokenCache(most: 2)
        for number in [1, 2, 2, 2] { tokens.insert(Self.token(number), Self.digest(number)) }
        #expect(tokens.count == 2)
        #expect(tokens[Self.digest(1)] != nil)
    }

    @Test func `a removed entry does not affect others`() {
        var tokens = TokenCache(most: 2)
        for number in 1...2 { tokens.insert(Self.token(number), Self.digest(number)) }
        tokens.remove(Self.digest(1))
        tokens.insert(Self.token(3), Self.digest(3))
        #expect((1...3).filter { tokens[Self.digest($0)] != nil } == [2, 3])
        tokens.removeAll()
        #expect(tokens.count == 0)
    }

    @Test func `cached tokens are checked against their times with skew`() throws {
        let token = VerifiedToken(
            grant: Grant(person: PersonID("p")!, role: .customer), notBefore: 1000, expiresAt: 2000)
        #expect(throws: TokenRefusal.notYetValid) { try token.checkTimes(now: 969) }
        try token.checkTimes(now: 970)
        try token.checkTimes(now: 2029)
        #expect(throws: TokenRefusal.expired) { try token.checkTimes(now: 2030) }
    }
}

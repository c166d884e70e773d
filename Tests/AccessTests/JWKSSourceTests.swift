import Crypto
import EnrouteWire
import Foundation
import Synchronization
import Testing

@testable import Access

@Suite struct KeyRefreshTests {
    private let start = ContinuousClock.now

    private func after(_ seconds: Int) -> ContinuousClock.Instant { self.start + .seconds(seconds) }

    @Test(arguments: KeyRefresh.Reason.allCases)
    func `the first wish fetches, and those meanwhile wait for it`(reason: KeyRefresh.Reason) {
        var refresh = KeyRefresh()
        #expect(refresh.decide(reason, now: self.start) == .fetch)
        for reason in KeyRefresh.Reason.allCases { #expect(refresh.decide(reason, now: self.after(3600)) == .wait) }
    }

    @Test func `S4: unknown keys fetch every 30 s at most, counted from the beginning of a fetch`() {
        var refresh = KeyRefresh()
        var fetches: [Int] = []
        for second in 0..<100 where refresh.decide(.unknownKey, now: self.after(second)) == .fetch {
            fetches.append(second)
            refresh.ended(isGood: second != 30, now: self.after(second + 5))
        }
        #expect(fetches == [0, 30, 60, 90])
    }

    @Test func `age fetches when the last good answer is 10 minutes old, and after a bad one as soon as it may`() {
        var refresh = KeyRefresh()
        var fetches: [Int] = []
        for second in 0..<1400 where refresh.decide(.age, now: self.after(second)) == .fetch {
            fetches.append(second)
            refresh.ended(isGood: second != 600, now: self.after(second))
        }
        #expect(fetches == [0, 600, 630, 1230])
    }
}

@Suite struct JWKSSourceTests {
    /// What an issuer publishes at the moment, how often it was asked, and the time.
    private final class Issuer: Sendable {
        struct State {
            var answer: [UInt8]?
            var questions = 0
            var now = ContinuousClock.now
        }
        struct Away: Error {}

        let state: Mutex<State>
        let verifier = TokenVerifier(keys: [], issuer: "iss", audience: "aud")
        init(_ keys: [String]) { self.state = Mutex(State(answer: Published.set(keys))) }

        var questions: Int { self.state.withLock { $0.questions } }
        func publish(_ answer: [UInt8]?) { self.state.withLock { $0.answer = answer } }
        func pass(seconds: Int) { self.state.withLock { $0.now += .seconds(seconds) } }

        func source(fixed: [TokenVerifier.Key] = []) -> JWKSSource {
            JWKSSource(verifier: self.verifier, fixed: fixed, now: { self.state.withLock { $0.now } }) {
                try self.state.withLock {
                    $0.questions += 1
                    guard let answer = $0.answer else { throw Away() }
                    return answer
                }
            }
        }
    }

    @Test func `S4: a thousand names nobody knows ask the issuer once`() async {
        let issuer = Issuer([Published.key(.es)])
        let source = issuer.source()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let token = TokenForge.token(header: #"{"alg":"ES256","kid":"k\#(number)"}"#)
                    await #expect(throws: TokenRefusal.unknownKey) {
                        try await source.verify(token, now: TokenForge.now)
                    }
                }
            }
        }
        #expect(issuer.questions == 1)
    }

    @Test func `everybody whose key came with the fetch is let in by it`() async throws {
        let issuer = Issuer([Published.key(.es)])
        let source = issuer.source()
        let token = TokenForge.token()
        let people = await withTaskGroup(of: PersonID?.self, returning: [PersonID?].self) { group in
            for _ in 0..<200 { group.addTask { try? await source.verify(token, now: TokenForge.now).person } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(people == Array(repeating: PersonID("anna"), count: 200))
        #expect(issuer.questions == 1)
    }

    @Test func `S4: keys rotate without one good token being refused`() async throws {
        let issuer = Issuer([Published.key(.es)])
        let source = issuer.source()
        let (old, new) = (TokenForge.token(.es), TokenForge.token(.ed))
        #expect(try await source.verify(old, now: TokenForge.now).person == PersonID("anna"))
        // Both are published for a while, then the new one alone.
        issuer.publish(Published.set([Published.key(.es), Published.key(.ed)]))
        issuer.pass(seconds: 30)
        for token in [old, new, old, new] {
            #expect(try await source.verify(token, now: TokenForge.now).person == PersonID("anna"))
        }
        issuer.publish(Published.set([Published.key(.ed)]))
        issuer.pass(seconds: 600)
        await source.refreshIfStale()
        #expect(try await source.verify(new, now: TokenForge.now).person == PersonID("anna"))
        // Right after a fetch the issuer is not asked again, and the key may just have been published (B2).
        await #expect(throws: TokenRefusal.keyUnavailable) { try await source.verify(old, now: TokenForge.now) }
        #expect(issuer.questions == 3)
        issuer.pass(seconds: 30)
        await #expect(throws: TokenRefusal.unknownKey) { try await source.verify(old, now: TokenForge.now) }
        #expect(issuer.questions == 4)
    }

    @Test(arguments: [nil, [], Array("<html>".utf8), Published.set([])] as [[UInt8]?])
    func `S4: the last good set stays when no other comes`(answer: [UInt8]?) async throws {
        let issuer = Issuer([Published.key(.es)])
        let source = issuer.source()
        await source.refreshIfStale()
        issuer.publish(answer)
        issuer.pass(seconds: 600)
        guard case .failed = await source.refreshIfStale() else {
            Issue.record("it was taken")
            return
        }
        #expect(try await source.verify(TokenForge.token(), now: TokenForge.now).person == PersonID("anna"))
        #expect(issuer.questions == 2)
    }

    @Test func `a fixed key stays beside those of the issuer`() async throws {
        let issuer = Issuer([Published.key(.es)])
        let source = issuer.source(fixed: [try await .hs256(secret: TokenForge.secret)])
        await source.refreshIfStale()
        for signer in [Signer.es, .hs] {
            #expect(try await source.verify(TokenForge.token(signer), now: TokenForge.now).person == PersonID("anna"))
        }
    }
}

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
    func `the first request fetches, and concurrent ones wait for it`(reason: KeyRefresh.Reason) {
        var refresh = KeyRefresh()
        #expect(refresh.decide(reason, now: self.start) == .fetch)
        for reason in KeyRefresh.Reason.allCases { #expect(refresh.decide(reason, now: self.after(3600)) == .wait) }
    }

    @Test func `S4: unknown keys cause at most one fetch every 30 s, counted from its start`() {
        var refresh = KeyRefresh()
        var fetches: [Int] = []
        for second in 0..<100 where refresh.decide(.unknownKey, now: self.after(second)) == .fetch {
            fetches.append(second)
            refresh.ended(isGood: second != 30, now: self.after(second + 5))
        }
        #expect(fetches == [0, 30, 60, 90])
    }

    @Test func `keys are refreshed 10 minutes after a success, and as soon as possible after a failure`() {
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
    /// What an issuer currently publishes, how often it was queried, and the time.
    private final class Issuer: Sendable {
        struct State {
            var answer: [UInt8]?
            var questions = 0
            var now = ContinuousClock.now
        }
        struct Unavailable: Error {}

        let state: Mutex<State>
        let verifier = TokenVerifier(keys: [], issuer: "iss", audience: "aud")
        init(_ keys: [String]) { self.state = Mutex(State(answer: Published.set(keys))) }

        var questions: Int { self.state.withLock { $0.questions } }
        func publish(_ answer: [UInt8]?) { self.state.withLock { $0.answer = answer } }
        func pass(seconds: Int) { self.state.withLock { $0.now += .seconds(seconds) } }

        func source(fixed: [TokenVerifier.Key] = []) -> JWKSSource {
            JWKSSource(verifier: self.verifier, fixed: [0: fixed], now: { self.state.withLock { $0.now } }) {
                try self.state.withLock {
                    $0.questions += 1
                    guard let answer = $0.answer else { throw Unavailable() }
                    return answer
                }
            }
        }
    }

    @Test func `S4: a thousand unknown key names cause one request to the issuer`() async {
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

    @Test func `every token whose key arrives with the fetch is accepted`() async throws {
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

    @Test func `S4: keys rotate without rejecting a valid token`() async throws {
        let issuer = Issuer([Published.key(.es)])
        let source = issuer.source()
        let (old, new) = (TokenForge.token(.es), TokenForge.token(.ed))
        #expect(try await source.verify(old, now: TokenForge.now).person == PersonID("anna"))
        // Both are published for a while, then only the new one.
        issuer.publish(Published.set([Published.key(.es), Published.key(.ed)]))
        issuer.pass(seconds: 30)
        for token in [old, new, old, new] {
            #expect(try await source.verify(token, now: TokenForge.now).person == PersonID("anna"))
        }
        issuer.publish(Published.set([Published.key(.ed)]))
        issuer.pass(seconds: 600)
        await source.refreshIfStale()
        #expect(try await source.verify(new, now: TokenForge.now).person == PersonID("anna"))
        // Right after a fetch the issuer is not queried again, and the key may just have been published (B2).
        await #expect(throws: TokenRefusal.keyUnavailable) { try await source.verify(old, now: TokenForge.now) }
        #expect(issuer.questions == 3)
        issuer.pass(seconds: 30)
        await #expect(throws: TokenRefusal.unknownKey) { try await source.verify(old, now: TokenForge.now) }
        #expect(issuer.questions == 4)
    }

    @Test(arguments: [nil, [], Array("<html>".utf8), Published.set([])] as [[UInt8]?])
    func `S4: the last valid set stays in use when a fetch fails`(answer: [UInt8]?) async throws {
        let issuer = Issuer([Published.key(.es)])
        let source = issuer.source()
        await source.refreshIfStale()
        issuer.publish(answer)
        issuer.pass(seconds: 600)
        guard case .failed = await source.refreshIfStale() else {
            Issue.record("the token was accepted")
            return
        }
        #expect(try await source.verify(TokenForge.token(), now: TokenForge.now).person == PersonID("anna"))
        #expect(issuer.questions == 2)
    }

    @Test func `a configured key is used in addition to the issuer's keys`() async throws {
        let issuer = Issuer([Published.key(.es)])
        let source = issuer.source(fixed: [try await .hs256(secret: TokenForge.secret)])
        await source.refreshIfStale()
        for signer in [Signer.es, .hs] {
            #expect(try await source.verify(TokenForge.token(signer), now: TokenForge.now).person == PersonID("anna"))
        }
    }
}

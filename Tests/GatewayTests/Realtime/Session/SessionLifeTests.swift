import Access
import EnrouteWire
import NIOCore
import Testing

@testable import Gateway
@testable import Realtime

/// Every transition of a session from every stage. A transition that is not possible changes nothing.
@Suite struct SessionLifeTests {
    private enum Stage: CaseIterable {
        case opening, signingIn, signedIn, closing, closed
    }

    private static let anna = AuthenticatedClient(Grant(person: PersonID("anna")!, role: .customer))
    private static let ben = AuthenticatedClient(Grant(person: PersonID("ben")!, role: .customer))
    private static let request = ClientRequest(.ping)
    private static let end = NIODeadline.uptimeNanoseconds(1_000)

    /// A lifecycle in the given stage; if signed in, as anna.
    private static func life(_ stage: Stage) -> SessionLife {
        var life = SessionLife()
        switch stage {
        case .opening: break
        case .signingIn: _ = life.startSignIn()
        case .signedIn: _ = life.signIn(Self.anna)
        case .closing: _ = life.close()
        case .closed: _ = life.disconnect()
        }
        return life
    }

    private static func stage(of life: SessionLife) -> Stage {
        switch life.stage {
        case .opening: .opening
        case .signingIn: .signingIn
        case .signedIn: .signedIn
        case .closing: .closing
        case .closed: .closed
        }
    }

    private static func name(_ identity: SessionLife.Identity?) -> String? {
        switch identity {
        case .signedIn(let admitted): admitted.grant.person.text
        case .anonymous: "unknown"
        case nil: nil
        }
    }

    @Test(arguments: Stage.allCases)
    private func `only a session in stage opening starts a sign-in`(stage: Stage) {
        var life = Self.life(stage)
        let begins = life.startSignIn()
        #expect(begins == (stage == .opening))
        #expect(Self.stage(of: life) == (stage == .opening ? .signingIn : stage))
    }

    @Test(arguments: Stage.allCases)
    private func `messages are buffered only during a sign-in`(stage: Stage) {
        var life = Self.life(stage)
        let deferral = life.deferUntilSignedIn(Self.request, most: 1)
        #expect(deferral == (stage == .signingIn ? .deferred : .notSigningIn))
        #expect(Self.stage(of: life) == stage)
    }

    @Test func `a limited number of messages is buffered and returned once, by the sign-in`() throws {
        var life = Self.life(.signingIn)
        for _ in 0..<3 {
            let deferral = life.deferUntilSignedIn(Self.request, most: 3)
            #expect(deferral == .deferred)
        }
        let deferral = life.deferUntilSignedIn(Self.request, most: 3)
        #expect(deferral == .tooMany)
        let deferred = life.signIn(Self.anna)
        #expect(deferred?.count == 3)
        let again = life.signIn(Self.ben)
        #expect(again == nil)
    }

    @Test(arguments: Stage.allCases)
    private func `a client can sign in once, and not into a session that is ending`(stage: Stage) {
        var life = Self.life(stage)
        let isAwaited = stage == .opening || stage == .signingIn
        #expect(life.awaitsSignIn == isAwaited)
        let deferred = life.signIn(Self.ben)
        #expect((deferred != nil) == isAwaited)
        #expect(Self.stage(of: life) == (isAwaited ? .signedIn : stage))
        let expected = isAwaited ? "ben" : stage == .signedIn ? "anna" : nil
        #expect(life.admitted?.grant.person.text == expected)
    }

    @Test(arguments: Stage.allCases)
    private func `only a signed-in client can renew its token`(stage: Stage) {
        var life = Self.life(stage)
        let isRenewed = life.renew(Self.ben)
        #expect(isRenewed == (stage == .signedIn))
        #expect(Self.stage(of: life) == stage)
        #expect(life.admitted?.grant.person.text == (stage == .signedIn ? "ben" : nil))
    }

    @Test(arguments: Stage.allCases)
    private func `an expiry applies only to a signed-in client`(stage: Stage) {
        var life = Self.life(stage)
        let before = life.sendsUntil
        let ends = life.expire(at: Self.end)
        #expect(ends == (stage == .signedIn))
        #expect(life.sendsUntil == (ends ? Self.end : before))
    }

    @Test func `renewing a token cancels the expiry of the previous one`() {
        var life = Self.life(.signedIn)
        _ = life.expire(at: Self.end)
        _ = life.renew(Self.anna)
        #expect(life.sendsUntil == .distantFuture)
    }

    @Test(arguments: Stage.allCases)
    private func `every open session sends one close frame and nothing after it`(stage: Stage) {
        var life = Self.life(stage)
        let isOpen = stage != .closing && stage != .closed
        #expect(life.isOpen == isOpen)
        let identity = life.close()
        #expect(Self.name(identity) == (stage == .signedIn ? "anna" : isOpen ? "unknown" : nil))
        #expect(Self.stage(of: life) == (stage == .closed ? .closed : .closing))
        #expect(!life.isOpen && life.sendsUntil == .distantPast && life.admitted == nil)
    }

    @Test(arguments: Stage.allCases)
    private func `a disconnect counts once from any stage, and returns the client only if signed in`(
        stage: Stage
    ) {
        var life = Self.life(stage)
        let identity = life.disconnect()
        #expect(Self.name(identity) == (stage == .signedIn ? "anna" : stage == .closed ? nil : "unknown"))
        #expect(life.isClosed && life.sendsUntil == .distantPast && life.admitted == nil)
        let again = life.disconnect()
        #expect(Self.name(again) == nil)
    }

    @Test func `an open session sends until its token expires or it closes`() {
        for stage in Stage.allCases {
            let sends = Self.life(stage).sendsUntil > .now()
            #expect(sends == (stage != .closing && stage != .closed), "\(stage)")
        }
    }
}

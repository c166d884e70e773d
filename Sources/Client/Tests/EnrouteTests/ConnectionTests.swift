// Tests of the connection: signing in, reconnecting, silence, going away, offline and the background.

import Foundation
import Testing

@testable import Enroute

/// The connection: signing in, reconnecting, silence, going away, offline and the background. As in
/// Tests/JavaScript/enroute-connection.test.mjs.
@Suite struct ConnectionTests {
    private static let job: JobID = "visit-1"
    private let open = ConnectionState.open(isDegraded: false, isSilent: false)

    @Test func `the client signs in and is open after the welcome`() {
        let client = PlayedClient.open()
        #expect(client.states == [.connecting, self.open])
        #expect(client.sent == [#"{"type":"auth","token":"\#(PlayedClient.token)"}"#])
    }

    @Test func `without a credential the connection is refused, and a start tries again`() {
        var client = PlayedClient()
        client.credential = nil
        client.start()
        #expect(client.state == .refused(CloseReason(code: 4500, reason: "no credential is available")))
        client.credential = .token("t")
        client.start()
        client.welcome()
        #expect(client.state == self.open)
    }

    @Test(arguments: [4500, 4502, 4505, 4506] as [UInt16])
    func `a close code from 4500 refuses every follower`(code: UInt16) {
        var client = PlayedClient.open()
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.closes(code, "no")
        client.pass(600_000)
        #expect(client.state == .refused(CloseReason(code: code, reason: "no")) && client.opened == 1)
        #expect(client.finished[1]??.code == Reconnecting.errorCode(for: code))
    }

    @Test func `a follower that starts after the refusal receives it immediately, until the next start`() {
        var client = PlayedClient()
        client.credential = nil
        client.start()
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.change { $0.follow(Self.job, reader: 2, after: nil, at: $1) }
        client.change { $0.watch("rome", consumer: 3, at: $1) }
        for consumer in 1...3 { #expect(client.finished[consumer]??.code == .unauthorized) }
        #expect(client.machine.follows.isEmpty && client.machine.watches.isEmpty)
        client.credential = .token("t")
        client.start()
        client.change { $0.follow(Self.job, viewer: 4, at: $1) }
        client.welcome()
        client.machine.received(
            FollowedViewTests.subscribed(), attempt: client.machine.connection.attempt, at: client.moment)
        client.pass(0)
        #expect(client.finished[4] == nil && client.machine.follows[Self.job]?.view.view != nil)
    }

    @Test func `a follower that starts while an expired token is renewed keeps waiting`() {
        var client = PlayedClient.open()
        client.pass(10_000)
        client.closes(4005, "expired")
        client.pass(0)
        #expect(client.state == .refused(CloseReason(code: 4005, reason: "expired")))
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.credential = .token("newer")
        client.start()
        client.welcome()
        #expect(client.finished.isEmpty && client.sent("subscribe").count == 1)
    }

    @Test func `a credential function that hangs is given up after 15 s, and named`() {
        var client = PlayedClient()
        client.hangsCredential = true
        client.start()
        client.pass(15_000)
        let reason = client.machine.connection.lastClose?.reason
        #expect(reason == "The app's credential function did not answer within 15 s.")
        client.hangsCredential = false
        client.pass(3_000)
        client.welcome()
        #expect(client.state == self.open)
    }

    @Test(arguments: [1000, 1001, 1006, 1011, 4000, 4001, 4002, 4003, 4004, 4006, 4008] as [UInt16])
    func `after other close codes the client reconnects within 3 s and subscribes again`(code: UInt16) {
        var client = PlayedClient.open()
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.pass(10_000)
        client.closes(code)
        #expect(!client.state.isOpen)
        client.pass(1_500)
        client.welcome()
        #expect(client.state == self.open && client.sent("subscribe").count == 2)
    }

    @Test func `at the session limit the client waits 40 s`() {
        var client = PlayedClient.open()
        client.closes(4009)
        client.pass(39_999)
        #expect(client.opened == 1)
        client.pass(1_000)
        #expect(client.opened == 2)
    }

    @Test func `the back-off grows until a session lasted 10 s`() {
        var client = PlayedClient.open()
        var delays: [Double] = []
        for lasted in [0.0, 0, 0, 0, 10_000] {
            client.pass(lasted)
            client.closes(1006)
            guard case .waiting(let until?, _) = client.state else { break }
            delays.append(until.inMilliseconds - client.moment.wall)
            client.pass(delays.last ?? 0)
            client.welcome()
        }
        #expect(delays == [1_500, 1_000, 2_000, 4_000, 1_500])
    }

    @Test func `a gateway that does not answer is given up after 15 s`() {
        var client = PlayedClient()
        client.start()
        client.pass(15_000)
        #expect(
            client.state
                == .waiting(
                    until: client.moment.date.addingTimeInterval(1.5),
                    lastClose: CloseReason(code: 1006, reason: "the gateway did not answer in time")))
    }

    @Test func `a frozen gateway is reported after 24 s and given up after 40 s`() {
        var client = PlayedClient.open()
        client.pass(23_999)
        #expect(client.state == self.open)
        client.pass(1)
        #expect(client.state == .open(isDegraded: false, isSilent: true))
        client.pass(15_999)
        #expect(client.state.isOpen)
        client.pass(1)
        #expect(!client.state.isOpen)
    }

    @Test func `while a rider is live, a frozen gateway is reported after 14 s`() throws {
        var client = PlayedClient.open()
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.machine.received(
            FollowedViewTests.subscribed(), attempt: client.machine.connection.attempt, at: client.moment)
        client.pass(10_001)
        #expect(client.sent("ping").count == 1)
        client.pass(4_000)
        #expect(client.state == .open(isDegraded: false, isSilent: true))
        client.says(#"{"type":"pong","serverTime":1}"#)
        #expect(client.state == self.open)
    }

    @Test func `goaway contains the time of the reconnect, and the client closes the socket if the gateway does not`() {
        var client = PlayedClient.open()
        client.says(#"{"type":"goaway","retryInMs":5000}"#)
        client.pass(6_999)
        #expect(client.state == self.open)
        client.pass(1)
        #expect(!client.state.isOpen)
        client.pass(300)
        #expect(client.opened == 2)
    }

    @Test func `goaway with an absurd time is bounded`() {
        for (time, wait) in [
            ("1e300", Reconnecting.longestNotBefore), ("1e18", Reconnecting.longestNotBefore), ("-5", 0),
        ] {
            var client = PlayedClient.open()
            client.says(#"{"type":"goaway","retryInMs":\#(time)}"#)
            client.closes(4004)
            client.pass(wait + Reconnecting.spread)
            #expect(client.opened == 2, "\(time)")
        }
    }

    @Test func `an expired token is replaced at once, and the same token again is refused`() {
        var client = PlayedClient.open()
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.credential = .token("newer")
        client.closes(4005, "expired")
        client.pass(0)
        client.welcome()
        #expect(client.state == self.open && client.sent("auth").last?.contains("newer") == true)
        client.pass(10_000)
        client.closes(4005, "expired")
        client.pass(0)
        #expect(client.state == .refused(CloseReason(code: 4005, reason: "expired")))
        // A token can be renewed, so followers keep what they saw.
        #expect(client.finished.isEmpty)
        client.credential = .token("newest")
        client.start()
        client.welcome()
        #expect(client.state == self.open)
    }

    @Test func `an expired token is replaced at once after failures too, and a second time only after a delay`() {
        var client = PlayedClient.open()
        for _ in 0..<5 {
            client.closes(1006)
            // The next attempt has begun, and has not failed yet.
            client.pass(15_500)
        }
        client.welcome()
        client.credential = .token("newer")
        client.closes(4005, "expired")
        #expect(client.log.last?.hasSuffix("waiting 0 after 4005") == true)
        client.pass(0)
        client.welcome()
        client.credential = .token("newest")
        client.closes(4005, "expired")
        client.pass(100)
        #expect(!client.state.isOpen && client.sent("auth").last?.contains("newest") == false)
        client.pass(30_000)
        client.welcome()
        #expect(client.state == self.open && client.sent("auth").last?.contains("newest") == true)
    }

    @Test func `a token is renewed a minute before it expires, and again after a refusal`() throws {
        let token = { (expiry: Int) in
            let claims = Data(#"{"exp":\#(expiry)}"#.utf8).base64EncodedString().replacing("=", with: "")
            return Credential.token("a.\(claims).c")
        }
        let start = Int(PlayedClient().moment.wall / 1000)
        var client = PlayedClient.open(token(start + 900))
        client.answersPings = true
        client.pass(839_999)
        #expect(client.newerTokens == 0)
        client.pass(1)
        #expect(client.newerTokens == 1)
        // The service that issues tokens has no newer one yet.
        client.change { #expect($0.renew(with: token(start + 900), at: $1) == nil) }
        client.pass(15_000)
        #expect(client.newerTokens == 2)
        let newer = token(start + 1_800)
        var request: Int?
        client.change { request = $0.renew(with: newer, at: $1) }
        client.says(#"{"type":"ok","replyTo":"refresh","ref":"\#(try #require(request))","deadline":1}"#)
        client.change { $0.renewed(newer, isAccepted: true, at: $1) }
        #expect(client.sent("refresh").count == 1)
        client.pass(800_000)
        #expect(client.newerTokens == 2)
        client.pass(100_000)
        #expect(client.newerTokens == 3)
    }

    @Test func `offline waits, and online reconnects at once`() {
        var client = PlayedClient.open()
        client.connection { $0.offline(at: $1) }
        #expect(client.state == .waiting(until: nil, lastClose: nil))
        client.connection { $0.online(at: $1) }
        #expect(client.sent("ping").count == 1)
        client.pass(4_000)
        #expect(!client.state.isOpen && client.opened == 1)
        client.connection { $0.online(at: $1) }
        #expect(client.opened == 2)
    }

    @Test func `messages that keep arriving prove that the device is online`() {
        var client = PlayedClient.open()
        client.connection { $0.offline(at: $1) }
        client.pass(8_000)
        client.says(#"{"type":"rate","intervalSeconds":1}"#)
        #expect(!client.state.isOpen)
        for _ in 0..<4 {
            client.pass(8_000)
            client.says(#"{"type":"rate","intervalSeconds":1}"#)
        }
        #expect(client.state == self.open)
    }

    @Test func `a late event of an earlier socket is ignored`() {
        var client = PlayedClient.open()
        let earlier = client.machine.connection.attempt
        client.closes(1006)
        client.pass(3_000)
        client.welcome()
        client.connection { $0.closed(CloseReason(code: 4500, reason: "late"), attempt: earlier, at: $1) }
        #expect(client.state == self.open)
    }

    @Test func `garbage from the gateway changes nothing`() {
        var client = PlayedClient.open()
        for text in [
            "", "{", "null", "[]", "7", #"{"type":7}"#, #"{"type":"location","job":"visit-1","id":1}"#,
            #"{"type":"weather"}"#,
            #"{"type":"welcome"}"#, #"{"type":"status","job":"no/such"}"#, #"{"type":"rate","intervalSeconds":"1"}"#,
        ] {
            client.says(text)
        }
        #expect(client.state == self.open && client.views.isEmpty)
    }

    @Test func `a thousand reconnects leave no timer, socket or request behind`() {
        var client = PlayedClient.open()
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        for _ in 0..<1_000 {
            _ = client.request(.travel(Self.job, isActive: true))
            client.closes(1006)
            client.pass(30_000)
            client.welcome()
        }
        #expect(client.answers.count == 1_000 && client.machine.timers.isEmpty)
        #expect(client.machine.follows.count == 1 && client.sent("subscribe").count == 1_001)
    }
}

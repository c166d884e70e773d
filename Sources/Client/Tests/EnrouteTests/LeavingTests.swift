// Tests of ending subscriptions, with a simulated gateway that refuses messages because it receives too many.

import Testing

@testable import Enroute

@Suite struct LeavingTests {
    private static let job: JobID = "visit-1"

    private static func refusal(_ type: String, _ code: String = "rate_limited") -> String {
        let subject = type.hasSuffix("watch") ? #""zone":"rome""# : #""job":"visit-1""#
        let retry = code == "rate_limited" ? #","retry":true,"retryInMs":500"# : #","retry":false"#
        return #"{"type":"error","replyTo":"\#(type)",\#(subject),"code":"\#(code)","message":"no"\#(retry)}"#
    }

    private static let left = #"{"type":"ok","replyTo":"unsubscribe","job":"visit-1"}"#

    private static func snapshot(_ status: String) -> String {
        #"{"type":"subscribed","job":"visit-1","snapshot":{"kind":"service","status":"\#(status)","statusAt":1,"epoch":"e1","id":"1-0","tracking":"waiting","position":null,"missed":[]}}"#
    }

    /// A client that followed a job and stopped following it.
    private func left() -> PlayedClient {
        var client = PlayedClient.open()
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.says(Self.snapshot("assigned"))
        client.change { $0.unfollow(Self.job, consumer: 1, at: $1) }
        return client
    }

    @Test func `an unsubscribe that the gateway refused is sent again`() {
        var client = self.left()
        client.says(Self.refusal("unsubscribe"))
        client.pass(499)
        #expect(client.sent("unsubscribe").count == 1)
        client.pass(1)
        #expect(client.sent("unsubscribe").count == 2)
        client.says(Self.left)
        client.pass(10_000)
        #expect(client.sent("unsubscribe").count == 2 && client.machine.leaving.isEmpty)
    }

    @Test func `a job that is followed again before its unsubscribe is refused is subscribed to afterwards`() {
        var client = self.left()
        client.change { $0.follow(Self.job, viewer: 2, at: $1) }
        #expect(client.sent("unsubscribe").count == 1 && client.sent("subscribe").count == 2)
        client.says(Self.refusal("unsubscribe"))
        client.says(Self.refusal("subscribe", "bad_request"))
        client.pass(500)
        #expect(client.finished.isEmpty)
        #expect(client.sent("unsubscribe").count == 2 && client.sent("subscribe").count == 3)
        client.says(Self.left)
        client.says(Self.snapshot("on_the_way"))
        #expect(client.views.last?.status == .onTheWay && client.machine.follows[Self.job]?.isAnswered == true)
    }

    @Test func `a job that is followed again after its unsubscribe was refused is unsubscribed first`() {
        var client = self.left()
        client.says(Self.refusal("unsubscribe"))
        client.change { $0.follow(Self.job, viewer: 2, at: $1) }
        #expect(client.sent("unsubscribe").count == 2 && client.sent("subscribe").count == 2)
        client.says(Self.left)
        client.says(Self.snapshot("on_the_way"))
        client.pass(500)
        #expect(client.sent("unsubscribe").count == 2 && client.sent("subscribe").count == 2)
        #expect(client.views.last?.status == .onTheWay && client.finished.isEmpty)
    }

    @Test func `of several unsubscribes, the answer to the last one decides`() {
        var client = self.left()
        client.change { $0.follow(Self.job, viewer: 2, at: $1) }
        client.change { $0.unfollow(Self.job, consumer: 2, at: $1) }
        client.change { $0.follow(Self.job, viewer: 3, at: $1) }
        // The gateway drops the first pair and answers the second one.
        client.says(Self.refusal("unsubscribe"))
        client.says(Self.refusal("subscribe"))
        client.says(Self.left)
        client.says(Self.snapshot("on_the_way"))
        client.pass(1_000)
        #expect(client.sent("unsubscribe").count == 2 && client.sent("subscribe").count == 3)
        #expect(client.machine.follows[Self.job]?.isAnswered == true && client.finished.isEmpty)
    }

    @Test func `a reader with a cursor that follows again reads no answer to the earlier subscription`() {
        var client = PlayedClient.open()
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.change { $0.unfollow(Self.job, consumer: 1, at: $1) }
        client.change { $0.follow(Self.job, reader: 2, after: StatusCursor(epoch: "e1", id: "0-0"), at: $1) }
        client.says(Self.snapshot("on_the_way"))
        #expect(client.events.isEmpty)
        client.says(Self.left)
        client.says(
            Self.snapshot("on_the_way").replacing(
                #""missed":[]"#,
                with: #""missed":[{"epoch":"e1","prev":"0-0","id":"1-0","status":"on_the_way","at":1}]"#))
        #expect(client.events(of: 2) == ["on_the_way"] && client.events.allSatisfy { !$0.followsGap })
    }

    @Test func `after a reconnect no earlier subscription has to be ended`() {
        var client = self.left()
        client.says(Self.refusal("unsubscribe"))
        client.closes(1006)
        client.pass(3_000)
        client.welcome()
        client.pass(10_000)
        #expect(client.sent("unsubscribe").count == 1 && client.machine.leaving.isEmpty)
    }

    @Test func `a zone that is watched again after its unwatch was refused is unwatched first`() {
        var client = PlayedClient.open()
        client.change { $0.watch("rome", consumer: 1, at: $1) }
        client.change { $0.unwatch("rome", consumer: 1, at: $1) }
        client.says(Self.refusal("unwatch"))
        client.pass(500)
        #expect(client.sent("unwatch").count == 2)
        client.change { $0.watch("rome", consumer: 2, at: $1) }
        client.change { $0.unwatch("rome", consumer: 2, at: $1) }
        client.change { $0.watch("rome", consumer: 3, at: $1) }
        client.says(Self.refusal("unwatch"))
        client.says(Self.refusal("watch", "bad_request"))
        client.pass(500)
        #expect(client.finished.isEmpty && client.sent("unwatch").count == 4 && client.sent("watch").count == 4)
    }
}

// Tests of the message queue with a simulated gateway: the messages of an app that follows and unfollows many jobs.

import Testing

@testable import Enroute

@Suite struct QueueTests {
    private static func jobs(_ count: Int) -> [JobID] { (0..<count).map { JobID("job-\($0)")! } }

    /// A client whose gateway answers pings, so that it stays connected.
    private func open() -> PlayedClient {
        var client = PlayedClient.open()
        client.answersPings = true
        return client
    }

    /// Messages of these types about a job, without other members.
    private func types(_ client: PlayedClient, _ job: JobID) -> [String] {
        client.sent.filter { $0.contains(#""job":"\#(job)""#) }.compactMap {
            $0.firstMatch(of: /"type":"(\w+)"/).map { String($0.1) }
        }
    }

    @Test func `after a burst of followed and unfollowed jobs, the visible ones are subscribed to within a second`() {
        var client = self.open()
        for job in Self.jobs(300) {
            client.change { $0.follow(job, viewer: 1, at: $1) }
            client.change { $0.unfollow(job, consumer: 1, at: $1) }
        }
        let visible: [JobID] = (0..<10).map { JobID("visible-\($0)")! }
        for (viewer, job) in visible.enumerated() {
            client.change { $0.follow(job, viewer: 100 + viewer, at: $1) }
        }
        client.pass(1_000)
        for job in visible { #expect(self.types(client, job) == ["subscribe"], "\(job)") }
        // Subscriptions that were sent in the first burst were ended, and the others were never sent.
        #expect(client.sent("unsubscribe").count == 15 && client.sent("subscribe").count == 25)
    }

    @Test func `more followed jobs than the queue holds are all subscribed to, once`() {
        var client = self.open()
        let jobs = Self.jobs(600)
        for (viewer, job) in jobs.enumerated() { client.change { $0.follow(job, viewer: viewer, at: $1) } }
        client.pass(60_000)
        #expect(client.sent("subscribe").count == 600)
        #expect(Set(client.sent("subscribe")).count == 600 && client.finished.isEmpty)
    }

    @Test func `with a full queue a job is unsubscribed from, and followed again afterwards`() {
        var client = self.open()
        let job: JobID = "visit-1"
        client.change { $0.follow(job, viewer: 1, at: $1) }
        for _ in 0..<600 { _ = client.request(.availability(.online, device: nil)) }
        client.change { $0.unfollow(job, consumer: 1, at: $1) }
        client.change { $0.follow(job, viewer: 2, at: $1) }
        client.pass(60_000)
        #expect(self.types(client, job) == ["subscribe", "unsubscribe", "subscribe"])
    }

    @Test func `with a full queue a zone is unwatched, and watched again afterwards`() {
        var client = self.open()
        client.change { $0.watch("rome", consumer: 1, at: $1) }
        for _ in 0..<600 { _ = client.request(.availability(.online, device: nil)) }
        client.change { $0.unwatch("rome", consumer: 1, at: $1) }
        client.change { $0.watch("rome", consumer: 2, at: $1) }
        client.pass(60_000)
        let types = client.sent.filter { $0.contains("watch") }.map { $0.contains("unwatch") }
        #expect(types == [false, true, false])
    }

    @Test func `a job that was never subscribed to is not unsubscribed from`() {
        var client = self.open()
        for _ in 0..<600 { _ = client.request(.availability(.online, device: nil)) }
        client.change { $0.follow("visit-1", viewer: 1, at: $1) }
        client.change { $0.unfollow("visit-1", consumer: 1, at: $1) }
        client.pass(60_000)
        #expect(self.types(client, "visit-1").isEmpty)
    }

    @Test func `a waiting subscription that is withdrawn leaves the end of the one before`() {
        var client = self.open()
        let job: JobID = "visit-1"
        client.change { $0.follow(job, viewer: 1, at: $1) }
        for _ in 0..<40 { _ = client.request(.availability(.online, device: nil)) }
        for viewer in 2...20 {
            client.change { $0.unfollow(job, consumer: viewer - 1, at: $1) }
            client.change { $0.follow(job, viewer: viewer, at: $1) }
        }
        client.change { $0.unfollow(job, consumer: 20, at: $1) }
        client.pass(10_000)
        #expect(self.types(client, job) == ["subscribe", "unsubscribe"])
    }

    @Test func `the limits in the welcome slow the client down`() {
        var client = PlayedClient()
        client.start()
        client.says(
            #"{"type":"welcome","session":"1","serverTime":1,"limits":{"messagesPerSecond":5,"messagesBurst":10}}"#)
        client.answersPings = true
        for (viewer, job) in Self.jobs(60).enumerated() { client.change { $0.follow(job, viewer: viewer, at: $1) } }
        #expect(client.sent("subscribe").count == 7)
        client.pass(4_100)
        #expect(client.sent("subscribe").count == 22)
        client.pass(11_000)
        #expect(client.sent("subscribe").count == 60)
        #expect(client.state.isOpen)
    }

    @Test(arguments: [#""limits":7"#, #""limits":{"messagesBurst":"x"}"#, #""limits":null"#, #""limits":{}"#])
    func `a welcome with unknown limits still opens the connection`(limits: String) {
        var client = PlayedClient()
        client.start()
        client.says(#"{"type":"welcome","session":"1","serverTime":1,\#(limits)}"#)
        #expect(client.state.isOpen)
    }
}

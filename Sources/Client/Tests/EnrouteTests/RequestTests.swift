// Tests of requests, reports, subscriptions and status events, with a simulated gateway.

import Foundation
import Testing

@testable import Enroute

/// Requests, reports and subscriptions, as in Tests/JavaScript/enroute.test.mjs and enroute-travel.test.mjs.
@Suite struct RequestTests {
    private static let job: JobID = "visit-1"

    @Test func `an answer settles its own request, also when answers arrive in another order`() {
        var client = PlayedClient.open()
        let (first, second) = (
            client.request(.travel(Self.job, isActive: true)), client.request(.travel(Self.job, isActive: false))
        )
        client.says(
            #"{"type":"error","replyTo":"travel","ref":"\#(second)","code":"forbidden","message":"no","retry":false}"#)
        client.says(#"{"type":"ok","replyTo":"travel","ref":"\#(first)","deadline":5}"#)
        #expect((try? client.answers[first]?.get().deadline) == 5)
        #expect(client.error(of: second)?.code == .forbidden)
    }

    @Test func `a request without a connection, a lost one and a late one fail as network errors`() {
        var client = PlayedClient()
        let unsent = client.request(.travel(Self.job, isActive: true))
        client.start()
        client.welcome()
        let lost = client.request(.travel(Self.job, isActive: true))
        client.closes(1006)
        client.pass(3_000)
        client.welcome()
        let late = client.request(.travel(Self.job, isActive: true))
        client.pass(15_000)
        client.says(#"{"type":"ok","replyTo":"travel","ref":"\#(late)"}"#)
        for id in [unsent, lost, late] {
            let error = client.error(of: id)
            #expect(error?.code == .network && error?.isRetryable == true)
        }
    }

    @Test func `more messages than the budget are sent later, and more than the queue holds are refused`() {
        var client = PlayedClient.open()
        for _ in 0..<40 { _ = client.request(.ping) }
        #expect(client.sent("ping").count == 30)
        client.pass(1_000)
        #expect(client.sent("ping").count == 40)
        for _ in 0..<600 { _ = client.request(.ping) }
        #expect(client.answers.count >= 70)
    }

    @Test func `positions are reported at the pace that the gateway asks for, and the newest wins`() {
        var client = PlayedClient.open()
        client.says(#"{"type":"rate","intervalSeconds":5}"#)
        for second in 0..<10 {
            let at = client.moment.wall
            client.change { $0.report(.at(at, 41.9 + Double(second) / 1e4), jobs: [Self.job], battery: nil, at: $1) }
            client.pass(1_000)
        }
        let reports = client.sent("location")
        #expect(reports.count == 3 && reports[1].contains(#""lat":41.9004"#))
    }

    @Test func `an unanswered report is repeated after a reconnect`() {
        var client = PlayedClient.open()
        let at = client.moment.wall
        client.change { $0.report(.at(at), jobs: [Self.job], battery: 0.4, at: $1) }
        client.closes(1006)
        client.pass(3_000)
        client.welcome()
        #expect(client.sent("location").count == 2 && client.sent("location").last?.contains(#""battery":0.4"#) == true)
        client.says(#"{"type":"ok","replyTo":"location","job":"visit-1","seq":2}"#)
        client.closes(1006)
        client.pass(3_000)
        client.welcome()
        #expect(client.sent("location").count == 2 && client.outcomes == [.accepted(Self.job)])
    }

    @Test func `after travel is stopped nothing of the job is sent`() {
        var client = PlayedClient()
        let at = client.moment.wall
        client.change { $0.report(.at(at), jobs: [Self.job], battery: nil, at: $1) }
        client.machine.fixes.forget(Self.job)
        client.start()
        client.welcome()
        #expect(client.sent("location").isEmpty)
    }

    @Test func `in the background reports go over REST, one at a time, and the newest is repeated after a failure`() {
        var client = PlayedClient.open()
        client.connection { connection, _ in connection.suspend() }
        #expect(client.state == .background)
        let at = client.moment.wall
        for second in 0..<3 {
            client.change { $0.report(.at(at + Double(second)), jobs: [Self.job, "visit-2"], battery: nil, at: $1) }
        }
        #expect(client.posts.map(\.jobs) == [[Self.job, "visit-2"]])
        let body = client.posts.first?.body(device: "phone")
        #expect(body?.hasPrefix(#"{"device":"phone","jobs":["visit-1","visit-2"],"seq":1,"fixes":["#) == true)
        let failure = EnrouteError(.rateLimited, "slow down", isRetryable: true, retryAfter: .seconds(3))
        client.change { $0.posted(.failure(failure), sequence: 1, jobs: [Self.job], at: $1) }
        client.pass(2_999)
        #expect(client.posts.count == 1)
        client.pass(1)
        #expect(client.posts.count == 2 && client.posts.last?.fixes.count == 3)
        let answer = BatchAnswer(
            accepted: [Self.job], held: nil, refused: [.init(job: "visit-2", code: "travel_mode_off")],
            intervalSeconds: 8)
        client.change { $0.posted(.success(answer), sequence: 2, jobs: [Self.job], at: $1) }
        #expect(
            client.outcomes.first == .accepted(Self.job) && client.outcomes.count == 2 && client.paces.last == 8_000)
        client.connection { $0.wake(at: $1) }
        client.welcome()
        client.change { $0.report(.at(at + 20_000), jobs: [Self.job], battery: nil, at: $1) }
        client.pass(8_000)
        #expect(client.posts.count == 2 && client.sent("location").count == 1)
    }

    @Test func `a refused subscription is repeated if the gateway says so, and ends otherwise`() {
        var client = PlayedClient.open()
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        let refusal = { (code: String, retry: Bool) in
            #"{"type":"error","replyTo":"subscribe","job":"visit-1","code":"\#(code)","message":"no","retry":\#(retry),"retryInMs":2000}"#
        }
        client.says(refusal("unavailable", true))
        client.pass(1_999)
        #expect(client.sent("subscribe").count == 1)
        client.pass(1)
        #expect(client.sent("subscribe").count == 2)
        client.says(refusal("not_found", false))
        #expect(client.finished[1]??.code == .notFound && client.machine.follows.isEmpty)
    }

    @Test func `a dropped message repeats the subscriptions without an answer`() throws {
        var client = PlayedClient.open()
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.change { $0.watch("rome", consumer: 2, at: $1) }
        client.says(#"{"type":"error","replyTo":"","code":"rate_limited","message":"no","retry":true,"retryInMs":500}"#)
        client.pass(500)
        #expect(client.sent("subscribe").count == 2 && client.sent("watch").count == 2)
        // If the first ones had arrived after all, the gateway refuses the repetitions, and only these.
        for _ in 0..<2 {
            #expect(client.finished.isEmpty)
            client.says(Self.badRequest("subscribe", #""job":"visit-1""#))
            client.says(Self.badRequest("watch", #""zone":"rome""#))
        }
        #expect(client.finished[1]??.code == .badRequest && client.finished[2]??.code == .badRequest)
    }

    private static func badRequest(_ type: String, _ subject: String) -> String {
        #"{"type":"error","replyTo":"\#(type)",\#(subject),"code":"bad_request","message":"no","retry":false}"#
    }

    @Test func `a refusal that no repetition explains ends the sequence`() {
        var client = PlayedClient.open()
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.change { $0.watch("rome", consumer: 2, at: $1) }
        client.says(Self.badRequest("subscribe", #""job":"visit-1""#))
        client.says(Self.badRequest("watch", #""zone":"rome""#))
        #expect(client.finished[1]??.code == .badRequest && client.finished[2]??.code == .badRequest)
        #expect(client.machine.follows.isEmpty && client.machine.watches.isEmpty)
    }

    @Test func `an invalid zone or cursor ends the sequence without a message`() {
        var client = PlayedClient.open()
        for zone in ["Munich Nord", "", "a/b", String(repeating: "a", count: 65)] {
            client.finished = [:]
            client.change { $0.watch(zone, consumer: 1, at: $1) }
            #expect(client.finished[1]??.code == .badRequest, "\(zone)")
        }
        for (epoch, id) in [
            ("e 1", "1-0"), ("", "1-0"), ("e", ""), ("e", "1"), ("e", "1-"), ("e", "a-0"), ("e", "1-0-0"),
        ] {
            client.finished = [:]
            client.change { $0.follow(Self.job, reader: 1, after: StatusCursor(epoch: epoch, id: id), at: $1) }
            #expect(client.finished[1]??.code == .badRequest, "\(epoch) \(id)")
        }
        #expect(client.sent("watch").isEmpty && client.sent("subscribe").isEmpty && client.machine.follows.isEmpty)
    }

    @Test func `a reading for two jobs that is reported in two calls has an outcome for both`() {
        var client = PlayedClient.open()
        let at = client.moment.wall
        for job: JobID in [Self.job, "visit-2"] {
            client.change { $0.report(.at(at), jobs: [job], battery: nil, at: $1) }
        }
        client.says(#"{"type":"ok","replyTo":"location","job":"visit-1","seq":1}"#)
        client.pass(1_000)
        client.says(#"{"type":"ok","replyTo":"location","job":"visit-2","seq":2}"#)
        #expect(client.sent("location").count == 2 && client.outcomes == [.accepted(Self.job), .accepted("visit-2")])
    }

    @Test func `a cancelled request is answered at once, and its late answer is ignored`() {
        var client = PlayedClient.open()
        let request = client.request(.availability(.online, device: nil))
        client.change { machine, _ in machine.cancel(request) }
        #expect(client.error(of: request)?.code == .cancelled && client.error(of: request)?.isRetryable == false)
        client.says(#"{"type":"ok","replyTo":"availability","ref":"\#(request)"}"#)
        client.pass(15_000)
        #expect(client.error(of: request)?.code == .cancelled && client.machine.timers.isEmpty)
    }

    @Test func `two followers share a subscription, and the last one ends it`() {
        var client = PlayedClient.open()
        for viewer in 1...2 { client.change { $0.follow(Self.job, viewer: viewer, at: $1) } }
        #expect(client.sent("subscribe").count == 1)
        client.change { $0.unfollow(Self.job, consumer: 1, at: $1) }
        #expect(client.sent("unsubscribe").isEmpty)
        client.change { $0.unfollow(Self.job, consumer: 2, at: $1) }
        #expect(client.sent("unsubscribe").count == 1 && client.machine.follows.isEmpty)
    }
}

/// Status events: each exactly once and in order, for every reader.
@Suite struct StatusReaderTests {
    private static let job: JobID = "visit-1"

    private static func snapshot(
        _ newest: Int, missed: ClosedRange<Int>? = nil, epoch: String = "e1", isReset: Bool = false
    ) -> String {
        let events = (missed.map(Array.init) ?? []).map {
            #"{"epoch":"\#(epoch)","prev":"\#($0 - 1)-0","id":"\#($0)-0","status":"s\#($0)","at":\#($0)}"#
        }
        return
            #"{"type":"\#(isReset ? "reset" : "subscribed")","job":"visit-1","snapshot":{"kind":"service","status":"s\#(newest)","statusAt":\#(newest),"epoch":"\#(epoch)","id":"\#(newest)-0","tracking":"waiting","position":null,"missed":[\#(events.joined(separator: ","))]}}"#
    }

    private static func event(_ id: Int, epoch: String = "e1") -> String {
        #"{"type":"status","job":"visit-1","epoch":"\#(epoch)","prev":"\#(id - 1)-0","id":"\#(id)-0","status":"s\#(id)","at":\#(id)}"#
    }

    private func reading(after cursor: StatusCursor?) -> PlayedClient {
        var client = PlayedClient.open()
        client.change { $0.follow(Self.job, reader: 1, after: cursor, at: $1) }
        return client
    }

    @Test func `a reader without a cursor starts with the current status`() {
        var client = self.reading(after: nil)
        for text in [Self.snapshot(3), Self.event(4), Self.event(4), Self.event(3), Self.event(5)] { client.says(text) }
        #expect(
            client.events.map(\.status.rawValue) == ["s3", "s4", "s5"] && client.events.allSatisfy { !$0.followsGap })
    }

    @Test func `a reader with a cursor receives what it missed, also after a restart of the app`() {
        var client = self.reading(after: StatusCursor(epoch: "e1", id: "2-0"))
        #expect(client.sent("subscribe").last?.contains(#""since":{"epoch":"e1","id":"2-0"}"#) == true)
        client.says(Self.snapshot(5, missed: 3...5))
        client.closes(1006)
        client.pass(3_000)
        client.welcome()
        client.says(Self.snapshot(7, missed: 6...7))
        client.says(Self.event(8))
        #expect(client.events.map(\.status.rawValue) == ["s3", "s4", "s5", "s6", "s7", "s8"])
        #expect(client.events.allSatisfy { !$0.followsGap })
    }

    @Test func `lost events are reported as a gap, once`() {
        var client = self.reading(after: StatusCursor(epoch: "e1", id: "2-0"))
        client.says(Self.snapshot(9, isReset: true))
        client.says(Self.snapshot(9, isReset: true))
        client.says(Self.snapshot(1, epoch: "e2", isReset: true))
        #expect(client.events.map(\.followsGap) == [true, true])
        #expect(client.events.map(\.cursor.epoch) == ["e1", "e2"])
    }

    @Test func `a second reader with an older cursor gets the older events, and the first one no repetition`() {
        var client = self.reading(after: nil)
        client.says(Self.snapshot(5))
        client.change { $0.follow(Self.job, reader: 2, after: StatusCursor(epoch: "e1", id: "3-0"), at: $1) }
        #expect(client.sent("unsubscribe").count == 1)
        // Messages of the first subscription that are still on their way.
        client.says(Self.event(6))
        client.says(Self.snapshot(6, isReset: true))
        client.says(Self.unsubscribed)
        client.says(Self.snapshot(6, missed: 4...6))
        client.says(Self.event(7))
        #expect(client.events(of: 1) == ["s5", "s6", "s7"] && client.events(of: 2) == ["s4", "s5", "s6", "s7"])
        #expect(client.events.allSatisfy { !$0.followsGap })
    }

    private static let unsubscribed = #"{"type":"ok","replyTo":"unsubscribe","job":"visit-1"}"#

    @Test func `a reader that is opened together with a view gets the events after its cursor`() {
        var client = PlayedClient.open()
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.change { $0.follow(Self.job, reader: 2, after: StatusCursor(epoch: "e1", id: "3-0"), at: $1) }
        client.change { $0.follow(Self.job, reader: 3, after: StatusCursor(epoch: "e1", id: "4-0"), at: $1) }
        client.change { $0.follow(Self.job, reader: 4, after: nil, at: $1) }
        #expect(client.sent("subscribe").count == 1)
        client.says(Self.snapshot(5))
        client.says(Self.event(6))
        #expect(client.views.map(\.status.rawValue) == ["s5", "s6"] && client.events(of: 4) == ["s5"])
        #expect(client.sent("unsubscribe").count == 1)
        #expect(client.sent("subscribe").last?.contains(#""id":"3-0""#) == true)
        client.says(Self.unsubscribed)
        client.says(Self.snapshot(6, missed: 4...6))
        #expect(client.events(of: 2) == ["s4", "s5", "s6"] && client.events(of: 3) == ["s5", "s6"])
        #expect(client.events(of: 4) == ["s5", "s6"] && client.events.allSatisfy { !$0.followsGap })
        #expect(client.sent("subscribe").count == 2)
    }

    @Test func `a reader that was opened in time is part of the first subscription`() {
        var client = self.reading(after: StatusCursor(epoch: "e1", id: "2-0"))
        client.change { $0.follow(Self.job, reader: 2, after: StatusCursor(epoch: "e1", id: "4-0"), at: $1) }
        client.says(Self.snapshot(5, missed: 3...5))
        #expect(client.sent("subscribe").count == 1 && client.sent("unsubscribe").isEmpty)
        #expect(client.events(of: 1) == ["s3", "s4", "s5"] && client.events(of: 2) == ["s5"])
    }

    @Test func `an unsubscribe that the gateway dropped is sent again with its subscribe`() {
        var client = self.reading(after: nil)
        client.says(Self.snapshot(5))
        client.change { $0.follow(Self.job, reader: 2, after: StatusCursor(epoch: "e1", id: "3-0"), at: $1) }
        client.says(
            #"{"type":"error","replyTo":"unsubscribe","job":"visit-1","code":"rate_limited","message":"no","retry":true,"retryInMs":500}"#
        )
        client.says(
            #"{"type":"error","replyTo":"subscribe","job":"visit-1","code":"bad_request","message":"no","retry":false}"#
        )
        client.pass(500)
        #expect(client.sent("unsubscribe").count == 2 && client.finished.isEmpty)
        client.says(Self.unsubscribed)
        client.says(Self.snapshot(5, missed: 4...5))
        #expect(client.events(of: 2) == ["s4", "s5"])
    }

    @Test func `in random losses every reader sees each status once and in order`() {
        var random = Seeded(seed: 3)
        for _ in 0..<300 {
            var client = self.reading(after: StatusCursor(epoch: "e1", id: "0-0"))
            var (newest, acknowledged) = (0, 0)
            for _ in 0..<60 {
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    newest += 1
                    client.says(Self.event(newest))
                    acknowledged = newest
                case 1: client.says(Self.event(Int.random(in: 0...max(newest, 1), using: &random)))
                default:
                    client.closes(1006)
                    newest += Int.random(in: 0...3, using: &random)
                    client.pass(30_000)
                    client.welcome()
                    client.says(
                        Self.snapshot(newest, missed: newest > acknowledged ? (acknowledged + 1)...newest : nil))
                    acknowledged = newest
                }
            }
            let ids = client.events.compactMap { Int($0.cursor.id.split(separator: "-")[0]) }
            #expect(ids == Array(1..<(ids.count + 1)))
        }
    }
}

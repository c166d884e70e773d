import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct JobLogTests {
    @Test func `the log contains every status from the first: status, time, actor, source and request`() async throws {
        try await Stage.set { stage in
            let first = try await stage.createJob()
            let occurred: Int64 = 1_700_000_000_000
            let transition = try await stage.ledger.publish(
                .accepted, of: Stage.job, by: Stage.rider, source: "event", occurredAt: occurred, request: "r-1"
            ).get()
            guard case .published(let event) = transition else {
                Issue.record("\(transition)")
                return
            }
            let log = try await stage.ledger.log(of: Stage.job).get()
            #expect(
                log.first
                    == StatusLogEntry(
                        id: first.head, previous: nil, status: .pendingVendorAcceptance, at: first.statusAt,
                        recordedAt: first.statusAt, actor: "service-1", source: "create", request: nil))
            let recorded = try #require(log.last?.recordedAt)
            #expect(recorded > occurred)
            #expect(
                log.dropFirst() == [
                    StatusLogEntry(
                        id: event.id, previous: first.head, status: .accepted, at: occurred, recordedAt: recorded,
                        actor: "rider-1", source: "event", request: "r-1")
                ])
            let told = StatusLog(job: Stage.job, epoch: "epoch-1", entries: [log[1].withoutActor]).json
            #expect(
                String(decoding: told, as: UTF8.self)
                    == #"{"job":"job-7","epoch":"epoch-1","events":[{"id":"\#(event.id)","prev":"\#(first.head)","#
                    + #""status":"accepted","at":1700000000000,"recorded":\#(recorded),"source":"event"}]}"#)
        }
    }

    @Test func `of a hundred statuses the newest sixty-four are returned, each with its predecessor`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: [.accepted])
            for status in Stage.round(100) { try await stage.publish(status) }
            let log = try await stage.ledger.log(of: Stage.job).get()
            #expect(log.count == 64)
            #expect(log.dropFirst().map(\.previous) == log.dropLast().map(\.id))
        }
    }

    @Test func `a job that does not exist has no log, and a malformed log is an unexpected answer`()
        async throws
    {
        try await Stage.set { stage in
            #expect(try await stage.ledger.log(of: Stage.job).get().isEmpty)
            try await stage.createJob()
            try await stage.client.run("XADD", stage.logKey, "*", "status", "flying", "at", "1", "source", "rest")
            #expect(await failure(of: stage.ledger.log(of: Stage.job)) == .unexpectedAnswer(command: "XRANGE"))
        }
    }
}

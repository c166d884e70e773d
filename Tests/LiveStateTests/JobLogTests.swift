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

    /// The changes that extend the life of a job which exists.
    enum Change: String, CaseIterable {
        case assigned, described, noted, statusChanged, corrected, travelStarted, travelStopped
    }

    private func make(_ change: Change, on stage: Stage) async throws {
        let (ledger, job) = (stage.ledger, Stage.job)
        switch change {
        case .assigned:
            let fence = try #require(try await ledger.recover(job).get()).record.fence
            let answer = try await ledger.assign(job, to: PersonID("rider-2"), of: Stage.customer, expected: fence)
                .get()
            #expect(answer.value == .assigned(fence: fence + 1))
        case .described:
            let answer = try await ledger.describe(
                job, kind: .delivery, zone: ZoneID("rome"), destination: nil, vendor: nil
            ).get()
            #expect(answer.value == .changed)
        case .noted:
            #expect(try await ledger.note(CustomerNote("Gate code 42"), on: job, of: nil).get().value == .changed)
        case .statusChanged: try await stage.publish(.delivered)
        case .corrected:
            let record = try #require(try await ledger.recover(job).get()).record
            let correction = StatusCorrection(to: .preparing, because: "mistake", by: Stage.rider)
            let answer = try await ledger.correct(job, correction, of: record, dropsRider: false).get()
            guard case .corrected = answer.value else { throw BadMessage("\(answer.value)") }
        case .travelStarted:
            guard case .on = try await ledger.startTravel(for: job, by: Stage.rider).get() else {
                throw BadMessage("travel did not start")
            }
        case .travelStopped:
            guard case .off = try await ledger.stopTravel(for: job, by: nil).get() else {
                throw BadMessage("travel did not stop")
            }
        }
    }

    @Test(arguments: Change.allCases)
    func `the log lives as long as the record after each change that extends the job's life`(change: Change)
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            if change == .travelStopped { try await self.make(.travelStarted, on: stage) }
            for key in [stage.jobKey, stage.logKey] { try await stage.client.run("PEXPIRE", key, "60000") }
            try await self.make(change, on: stage)
            let retention = stage.settings.retention.milliseconds
            for key in [stage.jobKey, stage.logKey] {
                #expect((retention - 60_000...retention).contains(try await stage.client.timeLeft(of: key)), "\(key)")
            }
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

import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// The contracts of correct_job and record_late.
@Suite struct CorrectJobTests {
    private func keys(_ stage: Stage) -> [String] {
        [stage.jobKey, stage.logKey, stage.eventsChannel, stage.eventStream]
    }

    private func correct(
        _ stage: Stage, to status: JobStatus, request: String = "", dropsRider: Bool = false
    ) async throws -> JobLedger.Correction {
        let record = try #require(try await stage.ledger.recover(Stage.job).get()).record
        let correction = StatusCorrection(to: status, because: "mistake", by: Stage.customer, request: request)
        return try await stage.ledger.correct(Stage.job, correction, of: record, dropsRider: dropsRider).get().value
    }

    @Test func `a correction is in the record and in the log, and followers read the job again`() async throws {
        try await Stage.set { stage in
            let before = try await stage.createJob(through: Stage.statusesUntilTransit + [.delivered])
            guard case .corrected(let corrected) = try await self.correct(stage, to: .inTransit, request: "c-1") else {
                Issue.record("not corrected")
                return
            }
            #expect(corrected.event.previous == before.head && corrected.event.id > before.head)
            #expect(corrected.corrected == .delivered && corrected.rider == Stage.rider)
            #expect(try await stage.subscriber.messages.next().text == #"{"type":"assigned"}"#)
            let after = try #require(try await stage.ledger.recover(Stage.job).get()).record
            #expect(after.status == .inTransit && after.reached == .inTransit && after.head == corrected.event.id)
            #expect(after.revision == before.revision + 1)
            try await stage.leavesEverythingUnchanged {
                let again = try await self.correct(stage, to: .inTransit, request: "c-1")
                let same = try await self.correct(stage, to: .inTransit)
                #expect(again == .repeated(corrected) && same == .unchanged(.inTransit))
                let correction = StatusCorrection(to: .delivered, because: "mistake", by: Stage.customer)
                let old = try await stage.ledger.correct(Stage.job, correction, of: before, dropsRider: false).get()
                #expect(old.value == .overtaken(status: .inTransit, head: corrected.event.id))
            }
            #expect(try await stage.hasNoMessages())
            // The chain of events continues, and a follower that has missed a correction starts again.
            #expect(try await stage.publish(.delivered).previous == corrected.event.id)
            let since = ResumePoint(epoch: before.epoch, id: before.head)
            let recovery = try #require(try await stage.ledger.recover(Stage.job, since: since).get())
            #expect(recovery.isReset && recovery.missed.isEmpty)
            let next = ResumePoint(epoch: before.epoch, id: corrected.event.id)
            #expect(try await stage.ledger.recover(Stage.job, since: next).get()?.missed.map(\.status) == [.delivered])
        }
    }

    @Test func `a correction that cannot be appended to the stream of all events is not made, and can be repeated`()
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit + [.delivered])
            try await stage.client.run("DEL", stage.eventStream)
            try await stage.client.run("SET", stage.eventStream, "malformed")
            try await stage.leavesEverythingUnchanged {
                for _ in 0..<2 {
                    await #expect(throws: RedisError.self) {
                        _ = try await self.correct(stage, to: .inTransit, request: "c-1")
                    }
                }
            }
            try await stage.client.run("DEL", stage.eventStream)
            let corrected = try await self.correct(stage, to: .inTransit, request: "c-1")
            guard case .corrected = corrected else {
                Issue.record("\(corrected)")
                return
            }
        }
    }

    @Test func `a correction ends travel mode that the status does not allow, and can unassign the rider`()
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            guard case .on = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get() else {
                Issue.record("travel did not start")
                return
            }
            let fence = try #require(try await stage.ledger.recover(Stage.job).get()).record.fence
            guard case .corrected = try await self.correct(stage, to: .readyForPickup) else {
                Issue.record("not corrected")
                return
            }
            #expect(try await stage.record("travel_active", "rider") == ["0", Stage.rider.text])
            guard case .corrected(let dropped) = try await self.correct(stage, to: .preparing, dropsRider: true) else {
                Issue.record("not corrected")
                return
            }
            #expect(dropped.rider == nil)
            let record = try #require(try await stage.ledger.recover(Stage.job).get()).record
            #expect(record.rider == nil && record.fence == fence + 1 && record.travelDeadline == nil)
            #expect(try await stage.record("deadline_of:\(Stage.rider)")[0]?.isEmpty == false)
        }
    }

    @Test func `a status off the path keeps the last step that it may follow`() {
        #expect(JobKind.delivery.reached(returningTo: .cancelled, from: .delivered) == .inTransit)
        #expect(JobKind.delivery.reached(returningTo: .cancelled, from: .preparing) == .preparing)
        #expect(JobKind.delivery.reached(returningTo: .allocationFailed, from: .inTransit) == .readyForPickup)
        #expect(JobKind.service.reached(returningTo: .onTheWay, from: .completed) == .onTheWay)
    }

    @Test func `correct_job refuses a bad argument by name`() async throws {
        try await Stage.set { stage in
            let head = try await stage.createJob().head
            let call = ValidCall(
                script: Scripts.correctJob, keys: self.keys(stage),
                arguments: [
                    "epoch-1.\(head)", "accepted", "accepted", "olga", "mistake", "r-1", "0", "0", "0", "172800000",
                ])
            var bad: [(Int, String, String)] = ["", "x", "\(head)", "a b.1-1"].map { (0, $0, "expected must be") }
            bad += ["", "A", "a b", String(repeating: "a", count: 41)].flatMap {
                [(1, $0, "status must be"), (2, $0, "reached must be")]
            }
            bad += (badNames + [""]).map { (3, $0, "actor must be") }
            bad += ["", "a\nb", String(repeating: "a", count: 801)].map { (4, $0, "reason must be") }
            bad += ["a b", "é", String(repeating: "a", count: 129)].map { (5, $0, "request must be") }
            for (index, name) in [(6, "allows_travel"), (7, "ends_job"), (8, "drops_rider")] {
                bad += ["", "2", "x"].map { (index, $0, "\(name) must be") }
            }
            bad += badRetentions.map { (9, $0, "retention_ms must be") }
            try await call.refuses(bad.map { (index: $0.0, value: $0.1, reason: $0.2) }, on: stage)
        }
    }

    private func late(
        _ stage: Stage, _ status: JobStatus, _ request: String, at: Int64? = nil, once: Bool = true
    ) async throws -> StatusID? {
        try await stage.ledger.recordLate(
            .status(status, happensOnce: once), of: Stage.job, by: Stage.customer, occurredAt: at, request: request
        ).get()
    }

    @Test func `a late event is in the log once, the job does not change, and followers are not notified`() async throws
    {
        try await Stage.set { stage in
            let before = try await stage.createJob(through: [.accepted, .preparing, .readyForPickup, .delivered])
            let id = try #require(try await self.late(stage, .inTransit, "e-1", at: 1_700_000_000_000))
            #expect(id > before.head)
            #expect(try await stage.ledger.recover(Stage.job).get()?.record == before)
            try await stage.leavesEverythingUnchanged {
                let again = try await self.late(stage, .inTransit, "e-1")
                let twice = try await self.late(stage, .inTransit, "e-2", at: 1_700_000_000_001)
                let known = try await self.late(stage, .preparing, "e-3")
                #expect(again == nil && twice == nil && known == nil)
            }
            #expect(try await stage.hasNoMessages())
            let entry = try #require(try await stage.ledger.log(of: Stage.job).get().last)
            #expect(entry.isLate && entry.status == .inTransit && entry.at == 1_700_000_000_000)
            #expect(entry.id == id && entry.previous == before.head && entry.source == "event")
            // A follower that resumes does not receive it, whatever events came before or after.
            let since = ResumePoint(epoch: before.epoch, id: before.head)
            #expect(try await stage.ledger.recover(Stage.job, since: since).get()?.missed == [])
            guard case .corrected(let corrected) = try await self.correct(stage, to: .inTransit) else {
                Issue.record("not corrected")
                return
            }
            #expect(corrected.event.previous == before.head && corrected.event.id > id)
        }
    }

    @Test func `a status that a job can have twice is recorded for each time at which it happened`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: [.accepted, .preparing, .readyForPickup])
            #expect(try await self.late(stage, .preparing, "e-1", at: 1_700_000_000_000, once: false) != nil)
            #expect(try await self.late(stage, .preparing, "e-2", at: 1_700_000_000_000, once: false) == nil)
            #expect(try await self.late(stage, .preparing, "e-3", at: 1_700_000_000_001, once: false) != nil)
        }
    }

    @Test func `a late assignment is in the log, which holds at most 32 late entries`() async throws {
        try await Stage.set { stage in
            let before = try await stage.createJob()
            for number in 0..<40 {
                let assignment = LateAssignment(
                    rider: number == 0 ? .some(nil) : PersonID("rider-\(number)")!, customer: Stage.customer)
                let id = try await stage.ledger.recordLate(
                    .assignment(assignment), of: Stage.job, by: Stage.customer, occurredAt: nil, request: "e-\(number)"
                ).get()
                #expect((id != nil) == (number < 32))
            }
            let log = try await stage.ledger.log(of: Stage.job).get()
            #expect(log.count == 33 && log[1].assignment == LateAssignment(rider: .some(nil), customer: Stage.customer))
            #expect(log[1].status == before.status && log[2].assignment?.rider == PersonID("rider-1"))
            let shown = StatusLog(job: Stage.job, epoch: "e", entries: log).withoutActors
            #expect(shown.entries.count == 1)
            let json = String(decoding: StatusLog(job: Stage.job, epoch: "e", entries: [log[1]]).json, as: UTF8.self)
            #expect(json.contains(#""late":true,"assigned":{"rider":null,"customer":"customer-1"}"#), "\(json)")
            // A status in the same ms as the newest entry has a later id.
            for status in Stage.statusesUntilTransit { try await stage.publish(status) }
            #expect(try await stage.ledger.log(of: Stage.job).get().count == 37)
        }
    }

    @Test func `record_late refuses a bad argument by name, and does nothing without a job`() async throws {
        try await Stage.set { stage in
            let keys = [stage.jobKey, stage.logKey]
            let arguments = ["in_transit", "1", "*", "", "olga", "", "e-1"]
            #expect(try await stage.run(Scripts.recordLate, keys: keys, arguments) == .answer(0))
            try await stage.createJob()
            let call = ValidCall(script: Scripts.recordLate, keys: keys, arguments: arguments)
            var bad: [(Int, String, String)] = ["A", "a b", String(repeating: "a", count: 41)].map {
                (0, $0, "status must be")
            }
            bad += ["", "2"].map { (1, $0, "happens_once must be") }
            bad += badNames.map { (2, $0, "rider must be") }
            bad += badNames.map { (3, $0, "customer must be") }
            bad += (badNames + [""]).map { (4, $0, "actor must be") }
            bad += ["x", "1", "01700000000000"].map { (5, $0, "occurred_at must be") }
            bad += ["", "a b", String(repeating: "a", count: 129)].map { (6, $0, "request must be") }
            try await call.refuses(bad.map { (index: $0.0, value: $0.1, reason: $0.2) }, on: stage)
        }
    }
}

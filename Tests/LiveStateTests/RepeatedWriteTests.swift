import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// Since Redis 7.2, `WAIT` counts only the writes of its connection. A repetition may arrive on another connection than the
/// first attempt, so it must write something.
@Suite struct RepeatedWriteTests {
    enum JobChange: String, CaseIterable {
        case assigned, described, noted, notedByOperations, statusChanged, corrected
    }

    private static func make(_ change: JobChange, of record: JobRecord, _ ledger: JobLedger) async throws {
        let (job, actor) = (Stage.job, PersonID("ops-1")!)
        switch change {
        case .assigned:
            _ = try await ledger.assign(
                job, to: PersonID("rider-2"), of: Stage.customer, expected: record.fence
            ).get()
        case .described:
            _ = try await ledger.describe(
                job, kind: .delivery, zone: ZoneID("rome"), destination: nil, vendor: nil
            ).get()
        case .noted: _ = try await ledger.note(CustomerNote("Gate code 42"), on: job, of: nil).get()
        case .notedByOperations: _ = try await ledger.note("Ring twice.", on: job, by: actor).get()
        case .statusChanged:
            _ = try await ledger.publish(.delivered, of: job, by: actor, source: "rest", request: "r-1").get()
        case .corrected:
            let correction = StatusCorrection(to: .preparing, because: "mistake", by: actor, request: "r-1")
            _ = try await ledger.correct(job, correction, of: record, dropsRider: false).get()
        }
    }

    /// The number of writes that Redis has executed since it started. It sends each of them to its replicas.
    private static func writes(_ stage: Stage) async throws -> Int64 {
        let state = try await stage.client.run("INFO", "persistence").text ?? ""
        let count = state.firstMatch(of: /rdb_changes_since_last_save:([0-9]+)/).flatMap { Int64($0.1) }
        return try #require(count)
    }

    /// Expects that `repetition` changes nothing, and is sent to replicas.
    private static func writesOnly(_ stage: Stage, _ repetition: () async throws -> Void) async throws {
        let before = try await self.writes(stage)
        try await stage.leavesEverythingUnchanged { try await repetition() }
        #expect(try await self.writes(stage) > before)
    }

    @Test(arguments: JobChange.allCases)
    func `a repeated change of a job changes nothing, but is sent to replicas`(change: JobChange) async throws {
        try await Stage.set { stage in
            let record = try await stage.createJob(through: Stage.statusesUntilTransit)
            try await Self.make(change, of: record, stage.ledger)
            try await Self.writesOnly(stage) { try await Self.make(change, of: record, stage.ledger) }
        }
    }

    @Test func `a note of operations staff that was removed already changes nothing, but is sent to replicas`()
        async throws
    {
        try await Stage.set { stage in
            let record = try await stage.createJob()
            try await Self.make(.notedByOperations, of: record, stage.ledger)
            func remove() async throws {
                _ = try await stage.ledger.note(nil, on: Stage.job, by: PersonID("ops-1")!).get()
            }
            try await remove()
            try await Self.writesOnly(stage) { try await remove() }
        }
    }

    @Test func `a confirmation of a job changes nothing, even after the job has ended, but is sent to replicas`()
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit + [.delivered])
            try await Self.writesOnly(stage) {
                let answer = try await stage.ledger.confirm(Stage.job, kind: .delivery).get()
                #expect(answer.value == .unchanged)
            }
        }
    }

    @Test func `a repeated erasure of a job changes nothing, but is sent to replicas`() async throws {
        try await Stage.set { stage in
            let record = try await stage.createJob()
            let version = try await stage.ledger.erasable(Stage.job).get()?.version
            #expect(version?.fence == record.fence)
            #expect(try await stage.ledger.erase(Stage.job, as: version).get().value == .erased(keys: 2))
            try await Self.writesOnly(stage) {
                let again = try await stage.ledger.erase(Stage.job, as: nil).get()
                #expect(again.value == .noSuchJob)
            }
        }
    }

    @Test func `a repeated change of a rider changes nothing, but is sent to replicas`() async throws {
        try await ZoneStage.set { stage in
            try await stage.describe()
            let requester = Riders.Requester(ZoneStage.rider, request: "r-1")
            func goOnline() async throws {
                _ = try await stage.riders.setOnline(ZoneStage.rider, in: ZoneStage.zone, device: nil, by: requester)
                    .get()
            }
            try await goOnline()
            try await Self.writesOnly(stage.base) { try await goOnline() }
            let assigned = try await stage.assign(ZoneStage.jobs[0], request: "r-2")
            try await Self.writesOnly(stage.base) {
                let again = try await stage.assign(ZoneStage.jobs[0], request: "r-2")
                #expect(again == assigned)
            }
            _ = try await stage.release(ZoneStage.jobs[0])
            _ = try await stage.goOffline()
            // Without a request id, the script recognizes the repetition by the status.
            try await Self.writesOnly(stage.base) { _ = try await stage.goOffline() }
        }
    }
}

import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@Suite struct AssignJobTests {
    private static let arguments = ["0", "rider-2", "customer-1", "delivered,completed,cancelled", "172800000", ""]

    private func keys(_ stage: Stage) -> [String] {
        [stage.jobKey, stage.logKey, stage.eventsChannel, stage.eventStream]
    }

    private func assign(_ stage: Stage, _ change: (inout [String]) -> Void = { _ in }) async throws -> RESPValue {
        var arguments = Self.arguments
        change(&arguments)
        return try await stage.run(Scripts.assignJob, keys: self.keys(stage), arguments)
    }

    @Test func `a new rider starts with travel mode off and its own time limit`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            _ = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get()
            let answer = try await self.assign(stage) { $0[0] = "1" }
            #expect(answer == .answer(1, 2))
            let record = try await stage.record("rider", "customer", "travel_active", "travel_deadline", "fence")
            #expect(record == ["rider-2", "customer-1", "0", "", "2"])
            let message = try await stage.subscriber.messages.next()
            #expect((message.channel, message.text) == (stage.eventsChannel, #"{"type":"assigned"}"#))
        }
    }

    @Test func `a rider that gets a job back has only the time that was left`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            _ = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get()
            let first = try await stage.record("travel_deadline")
            // After another rider, and after no rider.
            for (index, other) in ["rider-2", ""].enumerated() {
                let away = try await self.assign(stage) { ($0[0], $0[1]) = ("\(2 * index + 1)", other) }
                #expect(away == .answer(1, 2 * index + 2))
                #expect(try await stage.record("travel_deadline") == [""])
                let back = try await self.assign(stage) { ($0[0], $0[1]) = ("\(2 * index + 2)", "rider-1") }
                #expect(back == .answer(1, 2 * index + 3))
                #expect(try await stage.record("travel_deadline") == first)
            }
        }
    }

    @Test func `a new customer does not change the rider's travel mode`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            _ = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get()
            let answer = try await self.assign(stage) { ($0[0], $0[1], $0[2]) = ("1", "rider-1", "customer-2") }
            #expect(answer == .answer(1, 2))
            #expect(try await stage.record("rider", "customer", "travel_active") == ["rider-1", "customer-2", "1"])
        }
    }

    @Test func `a new customer removes the former customer's note, and a new rider keeps it`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let note = try #require(CustomerNote("Gate code 4711"))
            #expect(try await stage.ledger.note(note, on: Stage.job, of: nil).get().value == .changed)
            #expect(try await self.assign(stage) == .answer(1, 1))
            #expect(try await stage.record("rider", "customer_note") == ["rider-2", "Gate code 4711"])
            let passedOn = try await self.assign(stage) { ($0[0], $0[2]) = ("1", "customer-2") }
            #expect(passedOn == .answer(1, 2))
            #expect(try await stage.record("customer", "customer_note") == ["customer-2", ""])
            #expect(try await stage.ledger.recover(Stage.job).get()?.record.customerNote == nil)
        }
    }

    @Test func `an assignment based on an old fence is refused, and an unchanged one is not published`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            _ = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get()
            try await stage.leavesEverythingUnchanged {
                let late = try await self.assign(stage)
                #expect(late == .answer(-1, 1))
                let same = try await self.assign(stage) { $0[1] = "rider-1" }
                #expect(same == .answer(2, 1))
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `the time of an assignment is stored, and the newest one wins when nothing else changes`() async throws {
        try await Stage.set { stage in
            let created = try await stage.createJob()
            #expect(try await stage.ledger.assignedAt(Stage.job).get() == created.statusAt)
            _ = try await self.assign(stage) { $0[5] = "1700000000001" }
            #expect(try await stage.ledger.assignedAt(Stage.job).get() == 1_700_000_000_001)
            for (time, newest) in [("1700000000003", 1_700_000_000_003), ("1700000000002", 1_700_000_000_003)]
                as [(String, Int64)]
            {
                let answer = try await self.assign(stage) { ($0[0], $0[5]) = ("1", time) }
                #expect(answer == .answer(2, 1))
                #expect(try await stage.ledger.assignedAt(Stage.job).get() == newest)
            }
            let now = try await stage.now()
            _ = try await self.assign(stage) { ($0[0], $0[1]) = ("1", "") }
            let at = try #require(try await stage.ledger.assignedAt(Stage.job).get())
            #expect(at >= now)
        }
    }

    @Test func `a job that has ended or does not exist cannot be assigned`() async throws {
        try await Stage.set { stage in
            let absent = try await self.assign(stage)
            #expect(absent == .answer(0))
            try await stage.createJob()
            for status in JobStatus.allCases where status.end != nil {
                try await stage.client.run("HSET", stage.jobKey, "status", status.rawValue)
                try await stage.leavesEverythingUnchanged {
                    let ended = try await self.assign(stage)
                    #expect(ended == .answer(-2, status.rawValue))
                }
            }
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let call = ValidCall(script: Scripts.assignJob, keys: self.keys(stage), arguments: Self.arguments)
            try await call.refuses(
                badFences.map { (0, $0, "expected must be") } + badNames.map { (1, $0, "rider must be") }
                    + (badNames + [""]).map { (2, $0, "customer must be") }
                    + ["", "A", "a b", "a-b"].map { (3, $0, "ended must be") }
                    + badRetentions.map { (4, $0, "retention_ms must be") }
                    + ["x", "170000000000", "0700000000000"].map { (5, $0, "occurred_at must be") }, on: stage)
            let answer = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(answer == .answer(1, 1))
        }
    }
}

import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@Suite struct NoteJobTests {
    /// customer, note, ended, retention_ms
    private static let arguments = ["customer-1", "Gate code 42", "delivered,cancelled", "172800000"]

    private func keys(_ stage: Stage) -> [String] {
        [stage.jobKey, stage.logKey, stage.eventsChannel, stage.eventStream]
    }

    private func note(_ stage: Stage, _ change: (inout [String]) -> Void = { _ in }) async throws -> RESPValue {
        var arguments = Self.arguments
        change(&arguments)
        return try await stage.run(Scripts.noteJob, keys: self.keys(stage), arguments)
    }

    @Test func `a note is stored and removed, and followers' gateways are notified to read the job again`() async throws
    {
        try await Stage.set { stage in
            try await stage.createJob()
            let before = try await stage.record("destination", "status", "head", "rider", "fence")
            let first = try await self.note(stage)
            #expect(first == .answer(1))
            #expect(try await stage.subscriber.messages.next().text == #"{"type":"assigned"}"#)
            #expect(try await stage.record("customer_note", "revision") == ["Gate code 42", "1"])
            #expect(try await stage.record("destination", "status", "head", "rider", "fence") == before)
            try await stage.leavesEverythingUnchanged {
                let again = try await self.note(stage)
                #expect(again == .answer(2))
            }
            let removed = try await self.note(stage) { ($0[0], $0[1]) = ("", "") }
            #expect(removed == .answer(1))
            _ = try await stage.subscriber.messages.next()
            #expect(try await stage.record("customer_note", "revision") == ["", "2"])
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `the record contains the note as it was written`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let note = try #require(CustomerNote("Türcode 42\n\"hinten\" 🙂"))
            let customer = PersonID("customer-1")
            #expect(try await stage.ledger.note(note, on: Stage.job, of: customer).get().value == .changed)
            #expect(try await stage.ledger.recover(Stage.job).get()?.record.customerNote == note)
            #expect(try await stage.ledger.note(note, on: Stage.job, of: nil).get().value == .unchanged)
            #expect(try await stage.ledger.note(nil, on: Stage.job, of: customer).get().value == .changed)
            #expect(try await stage.ledger.recover(Stage.job).get()?.record.customerNote == nil)
        }
    }

    @Test func `a job that is missing, another customer's or ended accepts no note`() async throws {
        try await Stage.set { stage in
            let absent = try await self.note(stage)
            #expect(absent == .answer(0))
            #expect(try await stage.client.dump().isEmpty)
            try await stage.createJob(through: [.cancelled])
            try await stage.leavesEverythingUnchanged {
                let other = try await self.note(stage) { $0[0] = "customer-2" }
                #expect(other == .answer(0))
                let ended = try await self.note(stage)
                #expect(ended == .answer(-2, "cancelled"))
            }
            let ended = try await stage.ledger.note(CustomerNote("x"), on: Stage.job, of: nil).get().value
            #expect(ended == .ended(.cancelled))
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let call = ValidCall(script: Scripts.noteJob, keys: self.keys(stage), arguments: Self.arguments)
            var bad = badNames.map { (0, $0, "customer must be") }
            bad += [(1, String(repeating: "x", count: 1121), "note must be")]
            bad += ["", "A", "a b"].map { (2, $0, "ended must be") }
            bad += badRetentions.map { (3, $0, "retention_ms must be") }
            try await call.refuses(bad, on: stage)
            let answer = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(answer == .answer(1))
        }
    }
}

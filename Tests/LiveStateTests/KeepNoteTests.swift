import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// The contract of keep_note.
@Suite struct KeepNoteTests {
    private static let olga = PersonID("olga")!

    private func note(_ stage: Stage, _ text: String?, by actor: PersonID = olga) async throws -> JobLedger.NoteChange {
        try await stage.ledger.note(text, on: Stage.job, by: actor).get().value
    }

    @Test func `a note is stored with its author and time, replaced and removed, and nothing is published`()
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob(through: [])
            let lifetime = try await stage.client.run("PEXPIRETIME", stage.jobKey).integer
            guard case .changed(let at) = try await self.note(stage, "Gate is locked.\nRing twice.") else {
                Issue.record("not changed")
                return
            }
            let stored = OperationsNote(text: "Gate is locked.\nRing twice.", at: at, by: Self.olga)
            #expect(try await stage.ledger.note(of: Stage.job).get() == stored)
            try await stage.leavesEverythingUnchanged {
                let again = try await self.note(stage, stored.text, by: Stage.customer)
                #expect(again == .unchanged(stored))
            }
            guard case .changed = try await self.note(stage, "Solved.", by: Stage.customer) else {
                Issue.record("not changed")
                return
            }
            #expect(try await stage.ledger.note(of: Stage.job).get()?.by == Stage.customer)
            guard case .changed = try await self.note(stage, nil) else {
                Issue.record("not removed")
                return
            }
            #expect(try await stage.ledger.note(of: Stage.job).get() == nil)
            try await stage.leavesEverythingUnchanged {
                let removed = try await self.note(stage, nil)
                #expect(removed == .unchanged(nil))
            }
            #expect(try await stage.client.run("PEXPIRETIME", stage.jobKey).integer == lifetime)
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `a missing job has no note, and bad arguments change nothing`() async throws {
        try await Stage.set { stage in
            #expect(try await self.note(stage, "Ring twice.") == .noSuchJob)
            #expect(try await stage.ledger.note(of: Stage.job).get() == nil)
            try await stage.createJob(through: [])
            for arguments in [
                [String(repeating: "a", count: 2001), "olga"], ["note", ""], ["note", "ol ga"], ["note"],
            ] {
                try await stage.leavesEverythingUnchanged {
                    await #expect(throws: RedisError.self) {
                        try await stage.run(Scripts.keepNote, keys: [stage.jobKey], arguments)
                    }
                }
            }
        }
    }

    @Test func `the longest note fits, and a stored one that is malformed counts as none`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: [])
            let longest = String(repeating: "\u{1F6F5}", count: OperationsNote.longest)
            #expect(OperationsNote.isNote(longest) && !OperationsNote.isNote(longest + "a"))
            guard case .changed = try await self.note(stage, longest) else {
                Issue.record("not changed")
                return
            }
            #expect(try await stage.ledger.note(of: Stage.job).get()?.text == longest)
            _ = try await stage.client.run("HSET", stage.jobKey, "note_at", "soon")
            #expect(try await stage.ledger.note(of: Stage.job).get() == nil)
        }
    }
}

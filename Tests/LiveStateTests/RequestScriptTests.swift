import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// The contracts of claim_request and settle_request (B6).
@Suite struct RequestScriptTests {
    private static let question = String(repeating: "0a", count: 32)
    private static let other = String(repeating: "0b", count: 32)
    private static let claims = ["1", "2", "3"].map { String(repeating: $0, count: 32) }

    private func key(_ stage: Stage) -> [String] { [stage.keyspace.idempotency("n")] }

    private func claim(
        _ stage: Stage, _ claim: Int, _ question: String = Self.question, lease: String = "30000"
    ) async throws -> RESPValue {
        try await stage.run(
            Scripts.claimRequest, keys: self.key(stage), [question, Self.claims[claim], lease, "60000"])
    }

    private func settle(
        _ stage: Stage, _ claim: Int, _ outcome: String, _ answer: String = "", retention: String = "60000"
    ) async throws -> RESPValue {
        try await stage.run(
            Scripts.settleRequest, keys: self.key(stage), [Self.claims[claim], outcome, answer, retention])
    }

    /// How long the key is still remembered, in ms.
    private func rest(_ stage: Stage) async throws -> Int64 {
        try await stage.client.run("PTTL", self.key(stage)[0]).integer ?? 0
    }

    @Test func `one request gets the claim, others wait, and afterwards all get the stored response`() async throws {
        try await Stage.set { stage in
            #expect(try await self.claim(stage, 0) == .answer(1))
            try await stage.leavesEverythingUnchanged {
                let waiting = try await self.claim(stage, 1)
                #expect(waiting.array?.first == .integer(0))
                #expect((1...30_000).contains(waiting.array?.last?.integer ?? 0))
                let other = try await self.claim(stage, 1, Self.other)
                let theirs = try await self.settle(stage, 1, "answered", "theirs")
                #expect(other == .answer(-1) && theirs == .answer(0))
            }
            #expect(try await self.settle(stage, 0, "answered", "done") == .answer(1))
            try await stage.leavesEverythingUnchanged {
                let (again, other) = (try await self.claim(stage, 1), try await self.claim(stage, 1, Self.other))
                #expect(again == .answer(3, "done") && other == .answer(-1))
                let late = try await self.settle(stage, 0, "unused")
                #expect(late == .answer(0))
            }
            let rest = try await self.rest(stage)
            #expect((1...60_000).contains(rest))
        }
    }

    @Test func `a response and an unresolved request are each remembered for the retention in the call`()
        async throws
    {
        try await Stage.set { stage in
            #expect(try await self.claim(stage, 0) == .answer(1))
            #expect(try await self.settle(stage, 0, "unresolved", retention: "900000") == .answer(1))
            let open = try await self.rest(stage)
            #expect((60_001...900_000).contains(open))
            #expect(try await self.claim(stage, 1) == .answer(2))
            #expect(try await self.settle(stage, 1, "answered", "no", retention: "1") == .answer(1))
            let isForgotten = try await eventually { try await self.claim(stage, 2, Self.other) == .answer(1) }
            #expect(isForgotten)
        }
    }

    @Test func `after a claim expires or is released, the next identical request gets it`() async throws {
        try await Stage.set { stage in
            #expect(try await self.claim(stage, 0, lease: "1") == .answer(1))
            let isNext = try await eventually { try await self.claim(stage, 1) == .answer(2) }
            #expect(isNext)
            // A claim that has expired cannot be settled.
            #expect(try await self.settle(stage, 0, "answered", "late") == .answer(0))
            #expect(try await self.settle(stage, 1, "unresolved") == .answer(1))
            #expect(try await self.claim(stage, 2, Self.other) == .answer(-1))
            #expect(try await self.claim(stage, 2) == .answer(2))
            #expect(try await self.settle(stage, 2, "unused") == .answer(1))
            #expect(try await stage.client.run("EXISTS", self.key(stage)[0]) == .integer(0))
            #expect(try await self.claim(stage, 0, Self.other) == .answer(1))
        }
    }

    @Test func `a bad argument of claim and settle is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            try await ValidCall(
                script: Scripts.claimRequest, keys: self.key(stage),
                arguments: [Self.question, Self.claims[0], "30000", "60000"]
            ).refuses(
                [
                    (0, "", "fingerprint"), (0, Self.question + "0", "fingerprint"),
                    (0, String(repeating: "G", count: 64), "fingerprint"),
                    (1, "", "claim"), (1, String(repeating: "G", count: 32), "claim"),
                    (2, "0", "claim_ms"), (2, "3600001", "claim_ms"), (2, "x", "claim_ms"), (2, "1.5", "claim_ms"),
                    (3, "0", "retention_ms"), (3, "1e13", "retention_ms"), (3, "nan", "retention_ms"),
                ], on: stage)
            try await ValidCall(
                script: Scripts.settleRequest, keys: self.key(stage),
                arguments: [Self.claims[0], "answered", "a", "60000"]
            ).refuses(
                [
                    (0, "", "claim"), (1, "done", "outcome"), (1, "unresolved", "answer"), (2, "", "answer"),
                    (2, String(repeating: "a", count: 131_073), "answer"),
                    (3, "0", "retention_ms"), (3, "1e13", "retention_ms"), (3, "nan", "retention_ms"),
                    (3, "1.5", "retention_ms"),
                ], on: stage)
        }
    }
}

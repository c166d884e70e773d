@testable import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct StopTravelTests {
    private func stop(
        _ stage: Stage, _ rider: String, retention: String = "172800000", deadline: String = "", device: String = ""
    ) async throws -> RESPValue {
        try await stage.run(
            Scripts.stopTravel, keys: [stage.jobKey, stage.logKey, stage.eventStream],
            [rider, retention, deadline, device])
    }

    private func started(_ stage: Stage) async throws -> Int64 {
        try await stage.createJob(through: Stage.statusesUntilTransit)
        guard case .on(let deadline, _) = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get()
        else {
            return 0
        }
        return deadline
    }

    @Test(arguments: ["rider-1", ""])
    func `travel mode is switched off and its deadline stays`(rider: String) async throws {
        try await Stage.set { stage in
            let deadline = try await self.started(stage)
            let answer = try await self.stop(stage, rider, retention: "120000")
            #expect(answer.array?.first == .integer(1))
            #expect(try await stage.record("travel_active", "travel_deadline") == ["0", String(deadline)])
            for key in [stage.jobKey, stage.logKey] {
                #expect((100_000...120_000).contains(try await stage.client.timeLeft(of: key)))
            }
        }
    }

    @Test func `stopping when travel mode is off changes nothing`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            try await stage.leavesEverythingUnchanged {
                let answer = try await self.stop(stage, "rider-1", retention: "1000")
                #expect(answer.array?.first == .integer(2))
            }
            _ = try await self.started(stage)
            _ = try await self.stop(stage, "")
            try await stage.leavesEverythingUnchanged {
                let answer = try await self.stop(stage, "", retention: "1000")
                #expect(answer.array?.first == .integer(2))
            }
        }
    }

    @Test func `each stop is a decision: an earlier decision can no longer open the feed`() async throws {
        try await Stage.set { stage in
            _ = try await self.started(stage)
            let before = try await stage.record("fence").first.flatMap { $0 }.flatMap { Int64($0) } ?? 0
            #expect(try await self.stop(stage, "") == .array([.integer(1), .integer(before + 1)]))
            #expect(try await self.stop(stage, "") == .array([.integer(2), .integer(before + 1)]))
            #expect(try await stage.record("fence") == ["\(before + 1)"])
        }
    }

    @Test func `a device with a name stops only what it started, and one without a name what any such device started`()
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            for (starting, stopping, code) in [
                ("phone-1", "phone-2", -2), ("phone-1", "~a", -2), ("~a", "phone-1", -2), ("phone-1", "phone-1", 1),
                ("~a", "~b", 1), ("phone-1", "", 1),
            ] {
                _ = try await stage.ledger.startTravel(
                    for: Stage.job, by: Stage.rider, on: Reporter(stored: starting)!
                ).get()
                let answer = try await self.stop(stage, "rider-1", device: stopping)
                #expect(answer.array?.first == .integer(Int64(code)), "\(starting), \(stopping)")
            }
        }
    }

    @Test func `at the time limit travel mode stops once, and the event says why`() async throws {
        try await Stage.set { stage in
            let deadline = try await self.started(stage)
            try await stage.leavesEverythingUnchanged {
                let other = try await self.stop(stage, "", deadline: "\(deadline + 1)")
                #expect(other.array?.first == .integer(2), "the job has another deadline by now")
            }
            let stopped = try await self.stop(stage, "", deadline: "\(deadline)")
            #expect(stopped.array?.first == .integer(1))
            let again = try await self.stop(stage, "", deadline: "\(deadline)")
            #expect(again.array?.first == .integer(2))
            let newest = try await stage.client.run("XREVRANGE", stage.eventStream, "+", "-", "COUNT", "1")
            let fields = newest.array?.first?.array?.last?.array?.compactMap(\.text) ?? []
            #expect(fields.contains(#"{"rider":"rider-1","reason":"time_limit"}"#), "\(fields)")
        }
    }

    @Test func `another rider cannot stop travel mode`() async throws {
        try await Stage.set { stage in
            _ = try await self.started(stage)
            try await stage.leavesEverythingUnchanged {
                let answer = try await self.stop(stage, "rider-2")
                #expect(answer == .answer(-1))
            }
        }
    }

    @Test func `a stop does not create a job that does not exist`() async throws {
        try await Stage.set { stage in
            for rider in ["rider-1", ""] {
                let answer = try await self.stop(stage, rider)
                #expect(answer == .answer(0))
            }
            #expect(try await stage.client.dump().isEmpty)
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            _ = try await self.started(stage)
            let call = ValidCall(
                script: Scripts.stopTravel, keys: [stage.jobKey, stage.logKey, stage.eventStream],
                arguments: ["rider-1", "172800000", "", ""])
            let badDeadlines = ["x", "-1", "0", "179524861761", "17952486176110", "1795248617.11"]
            try await call.refuses(
                badNames.map { (0, $0, "rider must be") } + badRetentions.map { (1, $0, "retention_ms must be") }
                    + badDeadlines.map { (2, $0, "deadline must be") }
                    + ["a b", String(repeating: "a", count: 65)].map { (3, $0, "device must be") },
                on: stage)
            let answer = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(answer.array?.first == .integer(1))
        }
    }
}

import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@Suite struct DescribeJobTests {
    private static let place = #"{"lat":41.9,"lon":12.5}"#
    private static let display = #"{"orderNumber":"A-1"}"#
    private static let metadata = #"{"tenant":"north"}"#
    private static let recipient = #"{"name":"Anna"}"#
    /// kind, zone, destination, vendor, ended, retention_ms, display, metadata, recipient, revision
    private static let arguments = [
        "delivery", "rome", place, place, "delivered,cancelled", "172800000", display, metadata, recipient, "",
    ]

    private func keys(_ stage: Stage) -> [String] {
        [stage.jobKey, stage.logKey, stage.eventsChannel, stage.eventStream]
    }

    private func describe(_ stage: Stage, _ change: (inout [String]) -> Void = { _ in }) async throws -> RESPValue {
        var arguments = Self.arguments
        change(&arguments)
        return try await stage.run(Scripts.describeJob, keys: self.keys(stage), arguments)
    }

    @Test func `given values change, others stay, and followers' gateways are notified to read the job again`()
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob()
            let before = try await stage.record("destination", "status", "head", "rider", "fence")
            let first = try await self.describe(stage) { $0[2] = "" }
            #expect(first == .answer(1))
            #expect(try await stage.subscriber.messages.next().text == #"{"type":"assigned"}"#)
            #expect(try await stage.record("zone", "vendor") == ["rome", Self.place])
            #expect(try await stage.record("destination", "status", "head", "rider", "fence") == before)
            let second = try await self.describe(stage)
            #expect(second == .answer(1))
            _ = try await stage.subscriber.messages.next()
            #expect(try await stage.record("destination") == [Self.place])
            try await stage.leavesEverythingUnchanged {
                let again = try await self.describe(stage)
                #expect(again == .answer(2))
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `each change counts as a revision, and empty objects remove display details, metadata and recipient`()
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob()
            _ = try await self.describe(stage)
            #expect(try await stage.record("display", "metadata", "revision") == [Self.display, Self.metadata, "1"])
            _ = try await self.describe(stage) { ($0[6], $0[7]) = ("", "") }
            #expect(try await stage.record("display", "metadata", "revision") == [Self.display, Self.metadata, "1"])
            _ = try await self.describe(stage) { $0[6] = "{}" }
            #expect(try await stage.record("display", "metadata", "revision") == ["", Self.metadata, "2"])
            _ = try await self.describe(stage) { ($0[6], $0[7]) = ("{}", "{}") }
            #expect(try await stage.record("display", "metadata", "revision") == ["", "", "3"])
            #expect(try await stage.record("recipient") == [Self.recipient])
            _ = try await self.describe(stage) { ($0[6], $0[7], $0[8]) = ("", "", "") }
            #expect(try await stage.record("recipient", "revision") == [Self.recipient, "3"])
            _ = try await self.describe(stage) { ($0[6], $0[7], $0[8]) = ("", "", "{}") }
            #expect(try await stage.record("recipient", "revision") == ["", "4"])
            let record = try #require(try await stage.ledger.recover(Stage.job).get()).record
            #expect(record.display == nil && record.metadata == nil && record.recipient == nil && record.revision == 4)
            let head = try await stage.ledger.head(Stage.job).get()
            #expect(head?.revision == 4)
        }
    }

    @Test func `a change that was checked with an older revision is refused, unless it changes nothing`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let first = try await self.describe(stage) { $0[9] = "0" }
            #expect(first == .answer(1))
            _ = try await stage.subscriber.messages.next()
            try await stage.leavesEverythingUnchanged {
                let old = try await self.describe(stage) { ($0[1], $0[9]) = ("milan", "0") }
                #expect(old == .answer(-3))
                let same = try await self.describe(stage) { $0[9] = "0" }
                #expect(same == .answer(2))
            }
            #expect(try await stage.hasNoMessages())
            let second = try await self.describe(stage) { ($0[1], $0[9]) = ("milan", "1") }
            #expect(second == .answer(1))
        }
    }

    @Test func `a job that is missing, of another kind or ended is not changed`() async throws {
        try await Stage.set { stage in
            let absent = try await self.describe(stage)
            #expect(absent == .answer(0))
            #expect(try await stage.client.dump().isEmpty)
            try await stage.createJob(through: [.cancelled])
            try await stage.leavesEverythingUnchanged {
                let other = try await self.describe(stage) { $0[0] = "service" }
                #expect(other == .answer(-1, "delivery"))
                let ended = try await self.describe(stage)
                #expect(ended == .answer(-2, "cancelled"))
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let call = ValidCall(script: Scripts.describeJob, keys: self.keys(stage), arguments: Self.arguments)
            var bad = ["", "pizza"].map { (0, $0, "kind must be") }
            bad += badNames.map { (1, $0, "zone must be") }
            bad += ["x", "[]", "{"].map { (2, $0, "destination must be") }
            bad += ["x", "[]", "{"].map { (3, $0, "vendor must be") }
            bad += ["", "A", "a b"].map { (4, $0, "ended must be") }
            bad += badRetentions.map { (5, $0, "retention_ms must be") }
            bad += ["x", "[]", "{"].map { (6, $0, "display must be") }
            bad += ["x", "[]", "{"].map { (7, $0, "metadata must be") }
            bad += ["x", "[]", "{"].map { (8, $0, "recipient must be") }
            bad += ["x", "-1", "1.5", String(repeating: "1", count: 16)].map { (9, $0, "revision must be") }
            try await call.refuses(bad, on: stage)
            let answer = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(answer == .answer(1))
        }
    }
}

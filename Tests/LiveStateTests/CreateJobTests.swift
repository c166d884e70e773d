import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct CreateJobTests {
    private static let arguments = [
        "delivery", "customer-1", "rider-1", "berlin", #"{"lat":1,"lon":2}"#, #"{"lat":3,"lon":4}"#,
        "pending_vendor_acceptance", "epoch-1", "service-1", "172800000",
        #"{"orderNumber":"A-1"}"#, #"{"tenant":"north"}"#, #"{"name":"Anna"}"#, "", "request-1",
    ]

    private func keys(_ stage: Stage) -> [String] { [stage.jobKey, stage.logKey, stage.eventStream] }

    private func create(_ stage: Stage, _ change: (inout [String]) -> Void = { _ in }) async throws -> RESPValue {
        var arguments = Self.arguments
        change(&arguments)
        return try await stage.run(Scripts.createJob, keys: self.keys(stage), arguments)
    }

    private func pairs(_ value: RESPValue?) -> [String: String] {
        let texts = value?.array?.compactMap(\.text) ?? []
        return Dictionary(
            uniqueKeysWithValues: stride(from: 0, to: texts.count - 1, by: 2).map { (texts[$0], texts[$0 + 1]) })
    }

    @Test func `a new job has its record, a log with one entry, and the same lifetime for both`() async throws {
        try await Stage.set { stage in
            let before = try await stage.now()
            let answer = try await self.create(stage)
            let id = try #require(answer.array?.last?.text)
            #expect(answer == .answer(1, "epoch-1", id))
            #expect(StatusID(id) != nil)

            var record = self.pairs(try await stage.client.run("HGETALL", stage.jobKey))
            let at = try #require(record.removeValue(forKey: "status_at").flatMap(Int64.init))
            #expect((before...before + 20_000).contains(at))
            #expect(record.removeValue(forKey: "assigned_at") == String(at))
            #expect(
                record == [
                    "kind": "delivery", "customer": "customer-1", "rider": "rider-1", "zone": "berlin",
                    "destination": #"{"lat":1,"lon":2}"#, "vendor": #"{"lat":3,"lon":4}"#,
                    "status": "pending_vendor_acceptance", "reached": "pending_vendor_acceptance", "epoch": "epoch-1",
                    "head": id, "display": #"{"orderNumber":"A-1"}"#, "metadata": #"{"tenant":"north"}"#,
                    "recipient": #"{"name":"Anna"}"#, "version": "1",
                ])

            let entries = try await stage.client.run("XRANGE", stage.logKey, "-", "+").array ?? []
            #expect(entries.count == 1)
            #expect(entries.first?.array?.first?.text == id)
            #expect(
                self.pairs(entries.first?.array?.last) == [
                    "status": "pending_vendor_acceptance", "prev": "", "at": String(at), "recorded": String(at),
                    "actor": "service-1", "source": "create", "request": "request-1",
                ])
            for key in self.keys(stage).dropLast() {
                #expect((172_700_000...172_800_000).contains(try await stage.client.timeLeft(of: key)))
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `a job that another system created before has that time in its record, its log and its event`()
        async throws
    {
        try await Stage.set { stage in
            let before = try await stage.now()
            let created = "1795284000000"
            _ = try await self.create(stage) { $0[13] = created }
            let record = self.pairs(try await stage.client.run("HGETALL", stage.jobKey))
            #expect(record["status_at"] == created && record["assigned_at"] == created)
            let entries = try await stage.client.run("XRANGE", stage.logKey, "-", "+").array ?? []
            let entry = self.pairs(entries.first?.array?.last)
            let recorded = try #require(entry["recorded"].flatMap(Int64.init))
            #expect(entry["at"] == created && (before...before + 20_000).contains(recorded))
            let events = try await stage.client.run("XRANGE", stage.eventStream, "-", "+").array ?? []
            #expect(self.pairs(events.first?.array?.last)["time"] == created)
        }
    }

    @Test func `creating a job again changes nothing and returns the existing one`() async throws {
        try await Stage.set { stage in
            let first = try await self.create(stage)
            let id = try #require(first.array?.last?.text)
            try await stage.leavesEverythingUnchanged {
                let again = try await self.create(stage) { arguments in
                    (arguments[0], arguments[1], arguments[7]) = ("service", "customer-2", "epoch-2")
                }
                #expect(again == .answer(0, "epoch-1", id))
            }
        }
    }

    @Test func `creating a job again after a change returns the newest status event`() async throws {
        try await Stage.set { stage in
            _ = try await self.create(stage)
            guard
                case .published(let event) = try await stage.ledger.publish(
                    .accepted, of: Stage.job, by: Stage.rider, source: "rest"
                ).get()
            else {
                Issue.record("not published")
                return
            }
            let again = try await self.create(stage)
            #expect(again == .answer(0, "epoch-1", event.id))
        }
    }

    @Test func `a log without a record belongs to another history and is started again`() async throws {
        try await Stage.set { stage in
            try await stage.client.run("XADD", stage.logKey, "1-1", "status", "old")
            _ = try await self.create(stage)
            #expect(try await stage.client.run("XLEN", stage.logKey) == .integer(1))
        }
    }

    @Test func `an omitted value is stored as an empty field`() async throws {
        try await Stage.set { stage in
            _ = try await self.create(stage) { for index in 2...5 { $0[index] = "" } }
            let record = self.pairs(try await stage.client.run("HGETALL", stage.jobKey))
            #expect(["rider", "zone", "destination", "vendor"].map { record[$0] } == ["", "", "", ""])
            #expect(record["assigned_at"] == nil)
        }
    }

    @Test func `of two hundred concurrent creations exactly one succeeds, and all learn its epoch`() async throws {
        try await Stage.set { stage in
            let answers = (0..<200).map { number in
                var arguments = Self.arguments
                arguments[7] = "epoch-\(number)"
                return stage.client.evaluate(
                    Scripts.createJob, keys: self.keys(stage), arguments: arguments.map { .text($0) })
            }
            let values = try await EventLoopFuture.whenAllSucceed(answers, on: stage.client.eventLoop).get()
            #expect(values.filter { $0.array?.first == .integer(1) }.count == 1)
            #expect(Set(values.compactMap { $0.array?[1].text }).count == 1)
            #expect(try await stage.client.run("XLEN", stage.logKey) == .integer(1))
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            let call = ValidCall(script: Scripts.createJob, keys: self.keys(stage), arguments: Self.arguments)
            let places = ["x", "{", "}", "[1,2]", "null"]
            var bad = ["", "x", "Delivery"].map { (0, $0, "kind must be") }
            for (index, name) in [(1, "customer"), (7, "epoch"), (8, "actor")] {
                bad += (badNames + [""]).map { (index, $0, "\(name) must be") }
            }
            for (index, name) in [(2, "rider"), (3, "zone")] { bad += badNames.map { (index, $0, "\(name) must be") } }
            for (index, name) in [
                (4, "destination"), (5, "vendor"), (10, "display"), (11, "metadata"), (12, "recipient"),
            ] {
                bad += places.map { (index, $0, "\(name) must be") }
            }
            bad += ["", "A", "a b", "a-b", "a1", String(repeating: "a", count: 41)].map { (6, $0, "status must be") }
            bad += badRetentions.map { (9, $0, "retention_ms must be") }
            bad += ["x", "170000000000", "0700000000000"].map { (13, $0, "occurred_at must be") }
            bad += ["a b", "ä", String(repeating: "a", count: 129)].map { (14, $0, "request must be") }
            try await call.refuses(bad, on: stage)
            #expect(try await stage.client.dump().isEmpty)
            let answer = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(answer.array?.first == .integer(1))
        }
    }
}

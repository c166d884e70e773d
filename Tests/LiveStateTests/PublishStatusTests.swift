import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct PublishStatusTests {
    /// job, from, status, actor, source, occurred_at, request, ends_travel, retention_ms, expected, is_step, party, received,
    /// traceparent, ends_job
    private static let arguments = [
        "job-7", "pending_vendor_acceptance", "accepted", "rider-1", "rest", "", "request-1", "0", "172800000", "", "1",
        "", "", "", "0",
    ]

    private func keys(_ stage: Stage) -> [String] {
        [stage.jobKey, stage.logKey, stage.eventsChannel, stage.eventStream]
    }

    private func publish(_ stage: Stage, _ change: (inout [String]) -> Void = { _ in }) async throws -> RESPValue {
        var arguments = Self.arguments
        change(&arguments)
        return try await stage.run(Scripts.publishStatus, keys: self.keys(stage), arguments)
    }

    @Test func `a change that cannot be appended to the stream of all events is not made, and can be repeated`()
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob()
            try await stage.client.run("DEL", stage.eventStream)
            try await stage.client.run("SET", stage.eventStream, "malformed")
            try await stage.leavesEverythingUnchanged {
                for _ in 0..<2 {
                    await #expect(throws: RedisError.self) { _ = try await self.publish(stage) }
                }
            }
            try await stage.client.run("DEL", stage.eventStream)
            #expect(try await self.publish(stage).array?.first?.integer == 1)
            #expect(try await stage.record("status") == ["accepted"])
        }
    }

    @Test func `a change reaches the record, the log and the followers with the same id`() async throws {
        try await Stage.set { stage in
            let first = try await stage.createJob().head
            let now = try await stage.now()
            let answer = try await self.publish(stage)
            let id = try #require(answer.array?[3].text)
            let at = try #require(answer.array?[4].integer)
            #expect(answer == .answer(1, "epoch-1", first, id, at))
            #expect((now...now + 20_000).contains(at))
            #expect(try await stage.record("status", "status_at", "head") == ["accepted", String(at), id])

            let entry = try await stage.client.run("XREVRANGE", stage.logKey, "+", "-", "COUNT", "1").array?.first
            #expect(entry?.array?.first?.text == id)
            #expect(
                entry?.array?.last?.array?.compactMap(\.text) == [
                    "status", "accepted", "prev", first.description, "at", String(at), "recorded", String(at), "actor",
                    "rider-1", "source", "rest", "request", "request-1",
                ])

            let told = try await stage.subscriber.messages.next()
            #expect(told.channel == stage.eventsChannel)
            let event = StatusEvent(
                epoch: "epoch-1", previous: first, id: try #require(StatusID(id)), status: .accepted, at: at)
            #expect(told.payload == ServerMessage.status(job: Stage.job, event).encoded)
        }
    }

    private static let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    private static let badTraces = [
        "x", String(trace.dropLast()), trace + "0", "01" + trace.dropFirst(2), trace.uppercased(),
        trace.replacing("-", with: "\""), trace.replacing("4bf9", with: "\"}\r\n"),
    ]

    @Test func `followers receive the time of receipt and the trace, and the log does not contain them`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let answer = try await self.publish(stage) { ($0[12], $0[13]) = ("1795248617611", Self.trace) }
            #expect(answer.array?.first == .integer(1))
            let told = try await stage.subscriber.messages.next()
            let origin = told.payload.withUnsafeBytes { StatusOrigin($0) }
            #expect(origin.receivedAt == 1_795_248_617_611 && origin.traceparent == Self.trace)
            #expect(told.payload.withUnsafeBytes { ServerMessage(ours: $0) } != nil)
            let entry = try await stage.client.run("XREVRANGE", stage.logKey, "+", "-", "COUNT", "1")
            #expect(!"\(entry)".contains("4bf92f"))
        }
    }

    @Test func `each change names its predecessor, from the first to the last`() async throws {
        try await Stage.set { stage in
            var last = try await stage.createJob().head
            for status in [JobStatus.accepted] + Stage.round(20) {
                let event = try await stage.publish(status)
                #expect(event.previous == last)
                #expect(event.id > last)
                last = event.id
            }
            #expect(try await stage.record("head") == [last.description])
        }
    }

    @Test func `a change renews the lifetime of record and log`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            for key in [stage.jobKey, stage.logKey] { try await stage.client.run("PEXPIRE", key, "60000") }
            _ = try await self.publish(stage) { $0[8] = "120000" }
            for key in [stage.jobKey, stage.logKey] {
                #expect((100_000...120_000).contains(try await stage.client.timeLeft(of: key)))
            }
        }
    }

    @Test func `an earlier event keeps its time, and the log also has the time it was recorded`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let answer = try await self.publish(stage) { $0[5] = "1700000000000" }
            #expect(answer.array?.last == .integer(1_700_000_000_000))
            #expect(try await stage.record("status_at") == ["1700000000000"])
            #expect(try await stage.subscriber.messages.next().text.hasSuffix(#""at":1700000000000}"#))
            let entry = try await stage.client.run("XREVRANGE", stage.logKey, "+", "-", "COUNT", "1").array?.first
            #expect(entry?.array?.last?.array?[7].text != "1700000000000")
        }
    }

    @Test func `a change does not create a job that does not exist`() async throws {
        try await Stage.set { stage in
            let answer = try await self.publish(stage)
            #expect(answer == .answer(0))
            #expect(try await stage.client.dump().isEmpty)
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test(arguments: ["", "preparing", "not_pending_vendor_acceptance,pending_vendor", "pending_vendor_acceptance_too"])
    func `a status that is not allowed is refused with the current status, and changes nothing`(
        from: String
    ) async throws {
        try await Stage.set { stage in
            let head = try await stage.createJob().head
            try await stage.leavesEverythingUnchanged {
                let answer = try await self.publish(stage) { $0[1] = from }
                #expect(answer == .answer(-1, "pending_vendor_acceptance", head))
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `a repeated request gets the first answer, and followers are notified once`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let first = try await self.publish(stage)
            _ = try await stage.subscriber.messages.next()
            try await stage.leavesEverythingUnchanged {
                let again = try await self.publish(stage)
                #expect(again == .array([.integer(2)] + (first.array ?? []).dropFirst()))
                let other = try await self.publish(stage) { $0[6] = "request-2" }
                #expect(other.array?.first == .integer(-1))
                let without = try await self.publish(stage) { $0[6] = "" }
                #expect(without.array?.first == .integer(-1))
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `a request id belongs to its actor, except that of an event, which any actor may deliver again`()
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob()
            #expect(try await self.publish(stage).array?.first == .integer(1))
            try await stage.leavesEverythingUnchanged {
                // Another person, and an event whose id looks like this one.
                let other = try await self.publish(stage) { $0[3] = "rider-2" }
                #expect(other.array?.first == .integer(-1))
                let event = try await self.publish(stage) { $0[4] = "event" }
                #expect(event.array?.first == .integer(-1))
                let again = try await self.publish(stage) { $0[4] = "socket" }
                #expect(again.array?.first == .integer(2))
            }
            let first = try await self.publish(stage) {
                ($0[1], $0[2], $0[4], $0[6]) = ("accepted", "preparing", "event", "erp|1")
            }
            #expect(first.array?.first == .integer(1))
            try await stage.leavesEverythingUnchanged {
                let again = try await self.publish(stage) {
                    ($0[1], $0[2], $0[3], $0[4], $0[6]) = ("accepted", "preparing", "orders-2", "event", "erp|1")
                }
                #expect(again == .array([.integer(2)] + (first.array ?? []).dropFirst()))
                let request = try await self.publish(stage) {
                    ($0[1], $0[2], $0[6]) = ("accepted", "preparing", "erp|1")
                }
                #expect(request.array?.first == .integer(-1))
            }
        }
    }

    @Test func `a change is made if the caller knows the newest event, and refused otherwise`() async throws {
        try await Stage.set { stage in
            let head = try await stage.createJob().head
            try await stage.leavesEverythingUnchanged {
                for other in ["0-0", "\(head)1", "epoch-2.\(head)", "epoch-1.0-0"] {
                    let answer = try await self.publish(stage) { $0[9] = other }
                    #expect(answer == .answer(-2, "pending_vendor_acceptance", head), "\(other)")
                    // A caller with an outdated event learns that first, even if the status would not be allowed.
                    let illegal = try await self.publish(stage) { ($0[1], $0[9]) = ("preparing", other) }
                    #expect(illegal == answer)
                }
            }
            let first = try await self.publish(stage) { $0[9] = "epoch-1.\(head)" }
            #expect(first.array?.first == .integer(1))
            _ = try await stage.subscriber.messages.next()
            // The same request again: its expected event is now outdated because of the request itself.
            let again = try await self.publish(stage) { $0[9] = "epoch-1.\(head)" }
            #expect(again == .array([.integer(2)] + (first.array ?? []).dropFirst()))
            let second = try #require(first.array?[3].text)
            let next = try await self.publish(stage) {
                ($0[1], $0[2], $0[6], $0[9]) = ("accepted", "preparing", "request-2", second)
            }
            #expect(next.array?.first == .integer(1))
        }
    }

    @Test func `a request is recognized after other changes, as long as the log holds it`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let first = try await self.publish(stage)
            for status in Stage.round(63) { try await stage.publish(status) }
            try await stage.leavesEverythingUnchanged {
                let again = try await self.publish(stage)
                #expect(again == .array([.integer(2)] + (first.array ?? []).dropFirst()))
            }
            for status in Stage.round(64).suffix(1) { try await stage.publish(status) }
            let forgotten = try await self.publish(stage)
            #expect(forgotten.array?.first == .integer(-1))
        }
    }

    @Test func `any of the given statuses may be the current one`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let answer = try await self.publish(stage) { $0[1] = "preparing,pending_vendor_acceptance,assigned" }
            #expect(answer.array?.first == .integer(1))
        }
    }

    @Test func `travel mode ends in the record with a status that ends it, and only then`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            try await stage.client.run("HSET", stage.jobKey, "travel_active", "1")
            _ = try await self.publish(stage)
            #expect(try await stage.record("travel_active") == ["1"])
            _ = try await self.publish(stage) { ($0[1], $0[2], $0[7]) = ("accepted", "cancelled", "1") }
            #expect(try await stage.record("travel_active") == ["0"])
        }
    }

    @Test func `the log holds the newest sixty-four events`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: [.accepted])
            var ids: [String] = []
            for status in Stage.round(100) { ids.append(try await stage.publish(status).id.description) }
            let log = try await stage.client.run("XRANGE", stage.logKey, "-", "+").array ?? []
            #expect(log.compactMap { $0.array?.first?.text } == Array(ids.suffix(64)))
        }
    }

    @Test func `of two hundred concurrent status changes exactly one succeeds`() async throws {
        try await withRedis { first, server in
            let second = try await RedisClient.started(at: server.address)
            defer { second.stop() }
            let settings = LiveStateSettings()
            let ledgers = [first, second].map { JobLedger(ledger: $0, settings: settings) }
            _ = try await ledgers[0].create(
                NewJob(job: Stage.job, kind: .delivery, customer: Stage.customer, actor: Stage.rider), epoch: "e"
            ).get()
            let attempts = (0..<200).map { number in
                ledgers[number % 2].publish(.accepted, of: Stage.job, by: Stage.rider, source: "socket")
            }
            var winners = 0
            for attempt in attempts {
                switch try await attempt.get() {
                case .published: winners += 1
                case .notAllowed(from: .accepted): break
                case let other: Issue.record("\(other)")
                }
            }
            #expect(winners == 1)
            #expect(try await first.run("XLEN", settings.keyspace.log(of: Stage.job)) == .integer(2))
        }
    }

    @Test func `the last step of progress is stored, and a status off the path does not replace it`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            #expect(try await stage.record("reached") == ["pending_vendor_acceptance"])
            _ = try await stage.publish(.accepted)
            _ = try await stage.publish(.allocationFailed)
            #expect(try await stage.record("status", "reached") == ["allocation_failed", "accepted"])
            _ = try await stage.publish(.readyForPickup)
            _ = try await stage.publish(.cancelled)
            #expect(try await stage.record("status", "reached") == ["cancelled", "ready_for_pickup"])
        }
    }

    @Test func `an actor acting as the job's customer or rider must be the one in the record`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let record = try await stage.record("customer", "rider")
            let (customer, rider) = (try #require(record[0]), try #require(record[1]))
            for (actor, party) in [(rider, "customer"), (customer, "rider"), ("somebody", "rider")] {
                let answer = try await self.publish(stage) { ($0[3], $0[11]) = (actor, party) }
                #expect(answer == .answer(-3))
            }
            #expect(try await stage.record("status") == ["pending_vendor_acceptance"])
            let theirs = try await self.publish(stage) { ($0[3], $0[11]) = (customer, "customer") }
            #expect(theirs.array?.first == .integer(1))
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let call = ValidCall(script: Scripts.publishStatus, keys: self.keys(stage), arguments: Self.arguments)
            let times = ["x", "170000000000", "17000000000000", "0700000000000", "1.6000000e+12", "0x0e8d4a51000"]
            var bad = (badNames + [""]).map { (0, $0, "job must be") }
            bad += ["A", "a b", "a-b", "a;b"].map { (1, $0, "from must be") }
            bad += ["", "A", "a b", "a\"", String(repeating: "a", count: 41)].map { (2, $0, "status must be") }
            bad += (badNames + [""]).map { (3, $0, "actor must be") }
            bad += ["", "REST", "other"].map { (4, $0, "source must be") }
            bad += times.map { (5, $0, "occurred_at must be") }
            bad += [String(repeating: "a", count: 129), "a\n", "\0", "é", "a\u{7F}"].map { (6, $0, "request must be") }
            bad += ["", "2", "true"].map { (7, $0, "ends_travel must be") }
            bad += badRetentions.map { (8, $0, "retention_ms must be") }
            bad += times.map { (12, $0, "received must be") }
            bad += Self.badTraces.map { (13, $0, "traceparent must be") }
            let heads = ["1", "-", "1-", "a-1", ".1-1", "e 1.1-1", "e.f.1-1", "e.", "1-1 "]
            bad += (heads + [String(repeating: "e", count: 104) + ".1-1"]).map { (9, $0, "expected must be") }
            bad += ["", "2", "yes"].map { (10, $0, "is_step must be") }
            bad += ["", "2", "yes"].map { (14, $0, "ends_job must be") }
            bad += ["ops", "service", "Rider", "epoch"].map { (11, $0, "party must be") }
            try await call.refuses(bad, on: stage)
            let answer = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(answer.array?.first == .integer(1))
        }
    }
}

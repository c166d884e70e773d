import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// The erasure of a job's events: nothing earlier stays, the event about the erasure is never lost, and nothing about a
/// rider or about a new job with the same id is removed.
@Suite struct EventErasureTests {
    private static let me = "gateway-1"
    private static let now: Int64 = 1_763_856_000_000

    /// A stage with a webhook whose lease is held.
    private func stage(_ body: (Stage, WebhookStore) async throws -> Void) async throws {
        try await Stage.set { stage in
            let store = WebhookStore(ledger: stage.client, settings: stage.settings)
            let webhook = Webhook(
                id: "wh_1", url: "https://shop.example/", kinds: [], secrets: [.init(text: "whsec_a", expiresAt: 0)],
                createdAt: Self.now)
            #expect(try await store.add(webhook))
            #expect(try await store.lease(of: "wh_1", holder: Self.me).hold())
            // Nothing renews it here, and a busy machine may need longer than it lasts.
            try await stage.client.run("PEXPIRE", stage.keyspace.lease(ofWebhook: "wh_1"), "600000")
            try await body(stage, store)
        }
    }

    private func event(_ number: Int, _ kind: LedgerEvent.Kind, epoch: String = "epoch-1") -> LedgerEvent {
        // The members of `data` do not decide.
        let data = #"{"type":"enroute.rider.x","epoch":"epoch-9","customer":"alice-secret"}"#
        return LedgerEvent(
            id: "e.\(number)", kind: kind, time: Self.now, subject: Stage.job.text,
            epoch: kind.isAboutJob ? epoch : "", version: Int64(number), data: data)
    }

    private func park(_ events: [LedgerEvent], _ store: WebhookStore, attempts: Int = 3) async throws {
        for event in events {
            #expect(
                try await store.park(
                    WaitingEvent(event), for: "wh_1", attempts: attempts, due: 9_000_000_000_000, by: Self.me))
        }
    }

    /// Gives up the first waiting event of the job.
    private func giveUp(_ store: WebhookStore) async throws {
        let first = try #require(try await store.first(Stage.job.text, of: "wh_1"))
        _ = try await store.settle(
            first.event, for: "wh_1", .dead, due: 9_000_000_000_000, reason: "status 500", by: Self.me)
    }

    /// The ids of the job's waiting events.
    private func waiting(_ stage: Stage) async throws -> [String] {
        let key = stage.keyspace.waiting(of: Stage.job.text, ofWebhook: "wh_1")
        let events = try await stage.client.run("LRANGE", key, "0", "-1").array ?? []
        return events.compactMap { $0.text?.prefix { $0 != " " } }.map { String($0) }
    }

    /// Erases the record, as the gateway does between the two erasures of events.
    private func eraseRecord(_ stage: Stage) async throws {
        let erasable = try await stage.ledger.erasable(Stage.job).get()
        let erased = try await stage.ledger.erase(Stage.job, as: erasable?.version).get().value
        guard case .erased = erased else { throw BadMessage("\(erased)") }
    }

    @Test func `a repeated erasure while the endpoint is down keeps the event about it, which is due at once`()
        async throws
    {
        try await self.stage { stage, store in
            try await stage.createJob()
            try await self.park([self.event(1, .created)], store)
            _ = try await stage.ledger.eraseEvents(of: Stage.job).get()
            #expect(try await self.waiting(stage).isEmpty)
            #expect(try await store.waitingSubjects("wh_1").isEmpty)
            // Events from the memory of a gateway, and those that the worker reads while the search is still running.
            try await self.park([self.event(1, .created), self.event(2, .erased)], store)
            try await self.eraseRecord(stage)
            for _ in 0..<2 { _ = try await stage.ledger.eraseRemainingEvents(of: Stage.job).get() }
            #expect(try await self.waiting(stage) == ["e.2"])
            #expect(try await store.read("wh_1")?.waiting == 1)
            let first = try #require(try await store.first(Stage.job.text, of: "wh_1"))
            #expect(first.attempts == 0 && !first.event.body.contains("created"))
            let due = try await store.due("wh_1", before: try await stage.now(), most: 10)
            #expect(due == [Stage.job.text])
            // Also when everything is erased again.
            _ = try await stage.ledger.eraseEvents(of: Stage.job).get()
            #expect(try await self.waiting(stage) == ["e.2"])
            #expect(
                try await stage.client.run("HEXISTS", stage.keyspace.attempts(ofWebhook: "wh_1"), "job-7")
                    == .integer(0))
        }
    }

    @Test func `of the undelivered events only the one about the erasure stays, and can be delivered again`()
        async throws
    {
        try await self.stage { stage, store in
            try await stage.createJob()
            let events = [self.event(1, .created), self.event(2, .trackingChanged, epoch: ""), self.event(3, .erased)]
            try await self.park(events, store)
            for _ in events { try await self.giveUp(store) }
            #expect(try await store.dead("wh_1").count == 3)
            try await self.eraseRecord(stage)
            _ = try await stage.ledger.eraseRemainingEvents(of: Stage.job).get()
            let dead = try await store.dead("wh_1")
            #expect(dead.map(\.event.id) == ["e.3"])
            #expect(try await store.replay(try #require(dead.first), of: "wh_1", now: Self.now))
            #expect(try await self.waiting(stage) == ["e.3"])
        }
    }

    @Test
    func `events about a rider with the id of the job stay in the stream, the waiting list and the undelivered ones`()
        async throws
    {
        try await self.stage { stage, store in
            try await stage.createJob()
            let kinds: [LedgerEvent.Kind] = [.riderAvailabilityChanged, .riderUnreachableWithTask]
            for (number, kind) in kinds.enumerated() {
                try await store.streams.append(self.event(number, kind)).get()
            }
            try await self.park([self.event(10, .riderAvailabilityChanged), self.event(11, .created)], store)
            try await self.giveUp(store)
            try await self.giveUp(store)
            try await self.park(
                [self.event(20, .riderUnreachableWithTask), self.event(21, .created), self.event(22, .closed)], store)
            for _ in 0..<2 { _ = try await stage.ledger.eraseEvents(of: Stage.job).get() }
            try await self.eraseRecord(stage)
            _ = try await stage.ledger.eraseRemainingEvents(of: Stage.job).get()
            let shard = HashSlot.of(Stage.job.text) % Keyspace.eventShards
            let left = try await store.streams.read(shard: shard, after: "0-0").compactMap(\.event?.kind)
            #expect(left == kinds + [.erased])
            #expect(try await self.waiting(stage) == ["e.20"])
            #expect(try await store.dead("wh_1").map(\.event.id) == ["e.10"])
            #expect(try await store.read("wh_1")?.waiting == 1)
            // The rider's event keeps its failed attempts and the time of its next one.
            let first = try #require(try await store.first(Stage.job.text, of: "wh_1"))
            #expect(first.attempts == 3)
            #expect(try await store.due("wh_1", before: try await stage.now(), most: 10).isEmpty)
        }
    }

    @Test func `a job that was created again during the erasure keeps its events`() async throws {
        try await self.stage { stage, store in
            try await stage.createJob()
            _ = try await stage.ledger.eraseEvents(of: Stage.job).get()
            try await self.eraseRecord(stage)
            try await stage.createJob(epoch: "epoch-2")
            let events = [
                self.event(1, .created), self.event(2, .erased), self.event(3, .created, epoch: "epoch-2"),
                self.event(4, .closed, epoch: "epoch-2"),
            ]
            try await self.park([events[0], events[2]], store)
            for _ in 0..<2 { try await self.giveUp(store) }
            try await self.park([events[0], events[1], events[3]], store)
            _ = try await stage.ledger.eraseRemainingEvents(of: Stage.job).get()
            #expect(try await self.waiting(stage) == ["e.2", "e.4"])
            #expect(try await store.dead("wh_1").map(\.event.id) == ["e.3"])
            let shard = HashSlot.of(Stage.job.text) % Keyspace.eventShards
            let left = try await store.streams.read(shard: shard, after: "0-0").compactMap(\.event)
            #expect(left.map(\.kind) == [.erased, .created] && left.last?.epoch == "epoch-2")
        }
    }

    @Test func `a worker that has read of an erasure removes every earlier event, also of a record that has expired`()
        async throws
    {
        try await self.stage { stage, store in
            let events = [
                self.event(1, .created, epoch: "epoch-0"), self.event(2, .created), self.event(3, .erased),
                self.event(4, .created, epoch: "epoch-2"),
            ]
            try await self.park([events[0], events[1]], store)
            for _ in 0..<2 { try await self.giveUp(store) }
            try await self.park(events, store)
            try await stage.createJob(epoch: "epoch-2")
            try await store.forgetErased([Stage.job.text], of: "wh_1")
            #expect(try await self.waiting(stage) == ["e.3", "e.4"])
            #expect(try await store.dead("wh_1").isEmpty)
            try await stage.client.run("HSET", stage.jobKey, "epoch", "not an epoch")
            try await store.forgetErased([Stage.job.text], of: "wh_1")
            #expect(try await self.waiting(stage) == ["e.3"])
        }
    }

    @Test func `malformed data of the webhook does not stop an erasure`() async throws {
        try await self.stage { stage, store in
            try await stage.createJob()
            let keys = stage.keyspace
            let waiting = keys.waiting(of: Stage.job.text, ofWebhook: "wh_1")
            for key in [keys.dead(ofWebhook: "wh_1"), keys.due(ofWebhook: "wh_1"), keys.attempts(ofWebhook: "wh_1")] {
                try await self.park([self.event(1, .created)], store)
                try await stage.client.run("RPUSH", waiting, "garbage", "", "e.7 {")
                try await stage.client.run("SET", key, "x")
                _ = try await stage.ledger.eraseEvents(of: Stage.job).get()
                #expect(try await stage.client.run("EXISTS", waiting) == .integer(0), "\(key)")
                try await stage.client.run("DEL", key)
            }
            try await stage.client.run("SET", waiting, "alice-secret")
            _ = try await stage.ledger.eraseEvents(of: Stage.job).get()
            #expect(try await stage.client.run("EXISTS", waiting) == .integer(0))
        }
    }

    // MARK: the outboxes of a cluster

    @Test func `I7: an event that a gateway has read from an outbox does not follow the erasure of its record`()
        async throws
    {
        try await self.stage { stage, store in
            let (created, erased) = (self.event(1, .created), self.event(2, .erased))
            #expect(try await store.streams.forward(created))
            #expect(try await store.streams.forward(erased))
            try await stage.leavesEverythingUnchanged {
                for late in [created, self.event(3, .statusChanged), self.event(4, .closed)] {
                    let isAppended = try await store.streams.forward(late)
                    #expect(!isAppended)
                }
            }
            // The erasure itself may be repeated. Neither a new job nor a job whose id starts alike is affected.
            #expect(try await store.streams.forward(erased))
            #expect(try await store.streams.forward(self.event(4, .created, epoch: "epoch-2")))
            #expect(try await store.streams.forward(self.event(5, .created, epoch: "epoch-")))
            let shard = HashSlot.of(Stage.job.text) % Keyspace.eventShards
            let entries = try await store.streams.read(shard: shard, after: "0-0")
            #expect(
                entries.map(\.event) == [created, erased, erased]
                    + [4, 5].map { number in
                        self.event(number, .created, epoch: number == 4 ? "epoch-2" : "epoch-")
                    })
        }
    }

    @Test func `erased records are remembered for a day`() async throws {
        try await self.stage { stage, store in
            #expect(try await store.streams.forward(self.event(1, .erased)))
            let key = stage.keyspace.erased(fromShardOf: Stage.job.text)
            let now = try await stage.now()
            try await stage.client.run("ZADD", key, "\(now - 86_500_000)", "job-8.epoch-1")
            try await stage.client.run("ZADD", key, "\(now - 86_300_000)", "job-9.epoch-1")
            try await store.streams.removeOld()
            let left = try await stage.client.run("ZRANGE", key, "0", "-1").array?.compactMap(\.text)
            #expect(left == ["job-9.epoch-1", "job-7.epoch-1"])
            // Malformed data there stops no event.
            try await stage.client.run("SET", key, "x")
            #expect(try await store.streams.forward(self.event(2, .created)))
            #expect(try await store.streams.forward(self.event(3, .erased)))
        }
    }

    @Test func `forward_event refuses a bad argument by name`() async throws {
        try await Stage.set { stage in
            let keys = [stage.eventStream, stage.keyspace.erased(fromShardOf: Stage.job.text)]
            let call = ValidCall(
                script: Scripts.forwardEvent, keys: keys,
                arguments: ["e.1.1", "enroute.job.created", "5", "job-7", "epoch-1", "1", "rome", "{}"])
            let numbers = ["", "x", "-1", "1.5", String(repeating: "1", count: 17)]
            var bad = ["", "a b", "a:b", "a\n", String(repeating: "a", count: 161)].map { (0, $0, "id must be") }
            bad += [
                "", "enroute.", "io.enroute.job.created", "enroute.job.A",
                "enroute." + String(repeating: "a", count: 57),
            ]
            .map { (1, $0, "type must be") }
            bad += numbers.map { (2, $0, "time must be") }
            bad += (badNames + [""]).map { (3, $0, "subject must be") }
            bad += badNames.map { (4, $0, "epoch must be") }
            bad += numbers.map { (5, $0, "version must be") }
            bad += badNames.map { (6, $0, "zone must be") }
            bad += ["", "[]", "{", "{}x", "{\"a\":\"\(String(repeating: "a", count: 8_192))\"}"]
                .map { (7, $0, "data must be") }
            try await call.refuses(bad, on: stage)
            let appended = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(appended == .answer(1))
        }
    }
}

import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// The scripts of webhooks: only the holder of the lease changes anything, events wait in order, and nothing is lost.
@Suite struct WebhookStoreTests {
    private static let me = "gateway-1"

    private func stage(_ body: (Stage, WebhookStore, Webhook) async throws -> Void) async throws {
        try await Stage.set { stage in
            let store = WebhookStore(ledger: stage.client, settings: stage.settings)
            let webhook = Webhook(
                id: "wh_1", url: "https://shop.example/", kinds: [.closed],
                secrets: [.init(text: "whsec_a", expiresAt: 0)],
                createdAt: 1_763_856_000_000)
            #expect(try await store.add(webhook))
            #expect(try await store.lease(of: "wh_1", holder: Self.me).hold())
            // Nothing renews it here, and a busy machine may need longer than it lasts.
            try await stage.client.run("PEXPIRE", stage.keyspace.lease(ofWebhook: "wh_1"), "600000")
            try await body(stage, store, webhook)
        }
    }

    private func event(_ number: Int, of subject: String = "job-7") -> WaitingEvent {
        WaitingEvent(
            LedgerEvent(id: "e.\(number).1", kind: .closed, time: 1_763_856_000_000, subject: subject, data: "{}"))
    }

    private let now: Int64 = 1_763_856_000_000

    @Test func `a webhook is read as it was added, and starts with the next event`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let store = WebhookStore(ledger: stage.client, settings: stage.settings)
            #expect(try await store.all().isEmpty)
            let new = Webhook(
                id: "wh_2", url: "https://shop.example/?a=1", kinds: [.closed, .assigned],
                secrets: [.init(text: "whsec_a", expiresAt: 0), .init(text: "whsec_b", expiresAt: 5_000)], createdAt: 7)
            #expect(try await store.add(new))
            let read = try #require(try await store.read("wh_2"))
            #expect(read.url == new.url && read.kinds == new.kinds && read.secrets == new.secrets && read.isOn)
            #expect(read.secrets(at: 4_999) == ["whsec_a", "whsec_b"] && read.secrets(at: 5_000) == ["whsec_a"])
            var waiting: [EventStreams.Entry] = []
            for shard in 0..<Keyspace.eventShards {
                waiting += try await store.streams.read(shard: shard, after: try #require(read.cursors[shard]))
            }
            #expect(waiting.isEmpty)
            #expect(try await store.remove("wh_2"))
            #expect(try await !store.remove("wh_2"))
            #expect(try await store.read("wh_2") == nil)
        }
    }

    @Test func `events wait in order, and are retried, delivered or given up one after the other`() async throws {
        try await self.stage { _, store, _ in
            for number in [1, 2, 2, 3] {
                #expect(try await store.park(self.event(number), for: "wh_1", attempts: 1, due: self.now, by: Self.me))
            }
            #expect(try await store.read("wh_1")?.waiting == 3)
            #expect(try await store.due("wh_1", before: self.now - 1, most: 10).isEmpty)
            #expect(try await store.due("wh_1", before: self.now, most: 10) == ["job-7"])
            var first = try #require(try await store.first("job-7", of: "wh_1"))
            #expect(first.event == self.event(1) && first.attempts == 1)

            // Only the first event can be settled.
            #expect(
                try await store.settle(self.event(2), for: "wh_1", .delivered, due: self.now, reason: "", by: Self.me)
                    == nil)
            _ = try await store.settle(self.event(1), for: "wh_1", .retry, due: self.now + 5, reason: "x", by: Self.me)
            first = try #require(try await store.first("job-7", of: "wh_1"))
            #expect(first.attempts == 2)
            #expect(try await store.due("wh_1", before: self.now, most: 10).isEmpty)
            let left = try await store.settle(
                self.event(1), for: "wh_1", .dead, due: self.now, reason: "status 500", by: Self.me)
            #expect(left == 2)
            first = try #require(try await store.first("job-7", of: "wh_1"))
            #expect(first.event == self.event(2) && first.attempts == 0)
            for number in [2, 3] {
                _ = try await store.settle(
                    self.event(number), for: "wh_1", .delivered, due: self.now, reason: "", by: Self.me)
            }
            #expect(try await store.first("job-7", of: "wh_1") == nil)
            #expect(try await store.waitingSubjects("wh_1").isEmpty)
            #expect(try await store.read("wh_1")?.waiting == 0)

            let dead = try await store.dead("wh_1")
            #expect(dead.map(\.event) == [self.event(1)] && dead[0].attempts == 3 && dead[0].reason == "status 500")
            #expect(try await store.replay(dead[0], of: "wh_1", now: self.now))
            #expect(try await !store.replay(dead[0], of: "wh_1", now: self.now))
            #expect(try await store.first("job-7", of: "wh_1")?.event == self.event(1))
            #expect(try await store.dead("wh_1").isEmpty)
        }
    }

    @Test func `a gateway without the lease changes nothing`() async throws {
        try await self.stage { stage, store, _ in
            #expect(try await store.park(self.event(1), for: "wh_1", attempts: 1, due: self.now, by: Self.me))
            let other = store.lease(of: "wh_1", holder: "gateway-2")
            #expect(try await !other.hold())
            try await stage.leavesEverythingUnchanged {
                try await other.release()
                await #expect(throws: WebhookStore.NotHeld.self) {
                    try await store.note(.cursor(shard: 0, "1-1"), about: "wh_1", by: "gateway-2")
                }
                await #expect(throws: WebhookStore.NotHeld.self) {
                    _ = try await store.park(self.event(2), for: "wh_1", attempts: 1, due: self.now, by: "gateway-2")
                }
                await #expect(throws: WebhookStore.NotHeld.self) {
                    _ = try await store.settle(
                        self.event(1), for: "wh_1", .delivered, due: self.now, reason: "", by: "gateway-2")
                }
            }
            try await store.lease(of: "wh_1", holder: Self.me).release()
            #expect(try await other.hold())
        }
    }

    @Test func `a removed webhook is not created again by late calls`() async throws {
        try await self.stage { stage, store, _ in
            #expect(try await store.park(self.event(1), for: "wh_1", attempts: 1, due: self.now, by: Self.me))
            #expect(try await store.remove("wh_1"))
            await #expect(throws: WebhookStore.NotHeld.self) {
                try await store.note(.delivered(at: self.now), about: "wh_1", by: Self.me)
            }
            await #expect(throws: WebhookStore.NotHeld.self) {
                _ = try await store.park(self.event(2), for: "wh_1", attempts: 1, due: self.now, by: Self.me)
            }
            try await store.lease(of: "wh_1", holder: Self.me).release()
            #expect(try await stage.client.dump().keys.filter { $0.hasPrefix("webhook") }.isEmpty)
        }
    }

    @Test func `a webhook is removed with its events, whatever else the set of due items contains`() async throws {
        try await self.stage { stage, store, _ in
            #expect(try await store.park(self.event(1), for: "wh_1", attempts: 1, due: self.now, by: Self.me))
            let due = stage.keyspace.due(ofWebhook: "wh_1")
            // More than one page of malformed members, which are due before the events of the job.
            for page in 0..<3 {
                let members = (0..<400).flatMap { [RedisCommand.Word.integer($0), .text("not an id \(page) \($0)")] }
                _ = try await stage.client.send(RedisCommand(["ZADD", .text(due)] + members)).get()
            }
            #expect(try await store.remove("wh_1"))
            try await store.lease(of: "wh_1", holder: Self.me).release()
            #expect(try await stage.client.dump().keys.filter { $0.hasPrefix("webhook") }.isEmpty)
        }
    }

    @Test func `a webhook is removed with events that never become due, and with a set of another type`() async throws {
        try await self.stage { stage, store, webhook in
            #expect(try await store.park(self.event(1), for: "wh_1", attempts: 1, due: self.now, by: Self.me))
            let due = stage.keyspace.due(ofWebhook: "wh_1")
            try await stage.client.run("ZADD", due, "inf", "job-7")
            #expect(try await store.remove("wh_1"))
            #expect(try await store.add(webhook))
            try await stage.client.run("SET", due, "x")
            #expect(try await store.remove("wh_1"))
            try await store.lease(of: "wh_1", holder: Self.me).release()
            #expect(try await stage.client.dump().keys.filter { $0.hasPrefix("webhook") }.isEmpty)
        }
    }

    @Test func `a successful test makes all waiting events due at once, and changes nothing else about them`()
        async throws
    {
        try await self.stage { stage, store, _ in
            let due = stage.keyspace.due(ofWebhook: "wh_1")
            let hour: Int64 = 3_600_000
            #expect(try await store.park(self.event(1), for: "wh_1", attempts: 3, due: self.now + hour, by: Self.me))
            #expect(
                try await store.park(
                    self.event(2, of: "job-8"), for: "wh_1", attempts: 0, due: self.now - 5, by: Self.me))
            // More than two steps.
            let later = (0..<(2 * WebhookStore.batch)).flatMap {
                [RedisCommand.Word.integer(self.now + hour), .text("later-\($0)")]
            }
            _ = try await stage.client.send(RedisCommand(["ZADD", .text(due)] + later)).get()
            try await stage.client.run("ZADD", due, "inf", "never")
            #expect(try await store.due("wh_1", before: self.now, most: 5) == ["job-8"])
            #expect(try await store.switchOn("wh_1", at: self.now))
            let subjects = try await store.due("wh_1", before: self.now, most: 5_000)
            #expect(subjects.count == 2 * WebhookStore.batch + 3 && subjects.first == "job-8")
            #expect(try await stage.client.run("ZSCORE", due, "job-8").text == "\(self.now - 5)")
            let first = try #require(try await store.first("job-7", of: "wh_1"))
            #expect(first.event == self.event(1) && first.attempts == 3)
        }
    }

    @Test func `a webhook is switched on whatever its set of due items contains`() async throws {
        try await self.stage { stage, store, _ in
            try await store.note(.off(reason: "status 410"), about: "wh_1", by: Self.me)
            try await stage.client.run("SET", stage.keyspace.due(ofWebhook: "wh_1"), "x")
            #expect(try await store.switchOn("wh_1", at: self.now))
            #expect(try await store.read("wh_1")?.isOn == true)
        }
    }

    @Test func `bad arguments are refused by name before anything is written`() async throws {
        try await self.stage { stage, store, _ in
            let keyspace = stage.keyspace
            let lease = keyspace.lease(ofWebhook: "wh_1")
            let keys = [
                lease, keyspace.webhook("wh_1"), keyspace.due(ofWebhook: "wh_1"), keyspace.attempts(ofWebhook: "wh_1"),
                keyspace.waiting(of: "job-7", ofWebhook: "wh_1"),
            ]
            let at = "1763856000000"
            let times = ["", "x", "176385600000", "17638560000000", "0763856000000"]
            func bad(_ index: Int, _ values: [String], _ reason: String) -> [(Int, String, String)] {
                values.map { (index, $0, reason) }
            }
            let long = String(repeating: "a", count: 16_385)
            try await ValidCall(
                script: Scripts.parkEvent, keys: keys, arguments: [Self.me, "job-7", "1", at, "e {}", "10"]
            ).refuses(
                bad(0, badNames + [""], "holder must be") + bad(1, badNames + [""], "subject must be")
                    + bad(2, ["", "-1", "101", "1.5", "x", "nan"], "attempts must be") + bad(3, times, "due must be")
                    + bad(4, ["", long], "event must be")
                    + bad(5, ["", "0", "10000001", "1.5", "nan"], "most must be"), on: stage)
            try await ValidCall(
                script: Scripts.settleEvent, keys: keys + [keyspace.dead(ofWebhook: "wh_1")],
                arguments: [Self.me, "job-7", "e {}", "retry", at, ""]
            ).refuses(
                bad(0, badNames + [""], "holder must be") + bad(1, badNames + [""], "subject must be")
                    + bad(2, ["", long], "event must be") + bad(3, ["", "lost"], "outcome must be")
                    + bad(4, times, "due must be")
                    + bad(5, ["a\nb", String(repeating: "a", count: 201)], "reason must be"), on: stage)
            try await ValidCall(
                script: Scripts.replayEvent,
                keys: [keys[1], keys[2], keys[4], keyspace.dead(ofWebhook: "wh_1")], arguments: ["1-1", "job-7", at]
            ).refuses(
                bad(0, ["", "1", "a-1", "1-1-1"], "entry must be") + bad(1, badNames + [""], "subject must be")
                    + bad(2, times, "due must be"), on: stage)
            try await ValidCall(
                script: Scripts.noteWebhook, keys: Array(keys.prefix(2)), arguments: [Self.me, "cursor:0", "1-1"]
            ).refuses(
                bad(0, badNames + [""], "holder must be")
                    + bad(1, ["", "cursor:", "cursor:100", "URL", String(repeating: "a", count: 41)], "field must be")
                    + bad(2, ["a\nb", String(repeating: "a", count: 501)], "value must be"), on: stage)
            try await ValidCall(
                script: Scripts.dropWaiting, keys: keys, arguments: [Self.me, "job-7", "orphan"]
            ).refuses(
                bad(0, badNames + [""], "holder must be") + bad(1, badNames + [""], "subject must be")
                    + bad(2, ["", "all"], "what must be"), on: stage)
            try await ValidCall(script: Scripts.enlistWebhook, keys: [keyspace.webhooks], arguments: ["wh_1", "50"])
                .refuses(
                    bad(0, badNames + [""], "id must be") + bad(1, ["", "0", "10001", "1.5", "nan"], "most must be"),
                    on: stage)
            try await ValidCall(
                script: Scripts.rotateWebhook, keys: [keys[1]], arguments: ["whsec_a", at, at, "8"]
            ).refuses(
                bad(0, ["", "a:b", "a b", String(repeating: "a", count: 201)], "secret must be")
                    + bad(1, times, "now must be") + bad(2, times, "expires must be")
                    + bad(3, ["", "1", "21", "2.5", "nan"], "most must be"), on: stage)
            try await ValidCall(script: Scripts.switchOnWebhook, keys: [keys[1]], arguments: [at]).refuses(
                bad(0, times, "at must be"), on: stage)
            try await ValidCall(script: Scripts.holdLease, keys: [lease], arguments: [Self.me, "15000"]).refuses(
                bad(0, badNames + [""], "holder must be")
                    + bad(1, ["", "-1", "1", "999", "600001", "1000.5", "nan", "x"], "lifetime_ms must be"), on: stage)
        }
    }

    @Test func `malformed data in the keys of webhooks and events stops nothing, and other data is still read`()
        async throws
    {
        try await self.stage { stage, store, webhook in
            let other = Webhook(
                id: "wh_9", url: webhook.url, kinds: webhook.kinds, secrets: webhook.secrets,
                createdAt: webhook.createdAt)
            #expect(try await store.add(other))
            let names = stage.settings.keyspace
            let own = [
                names.webhook("wh_1"), names.lease(ofWebhook: "wh_1"), names.due(ofWebhook: "wh_1"),
                names.attempts(ofWebhook: "wh_1"), names.waiting(of: "job-7", ofWebhook: "wh_1"),
                names.dead(ofWebhook: "wh_1"), names.events(shard: 0), names.events(shard: 7), names.eventCursors,
                names.eventLease, names.outbox(ofSlot: 0), names.webhooks,
            ]
            let plants = [
                ["SET", "x"], ["HSET", "url", "", "created_at", "never", "cursor:0", "x", "job-7", "many"],
                ["RPUSH", "", "{", #"{"id":1}"#], ["ZADD", "inf", "", "1", "a b"], ["SADD", "", "wh_1 ", "../x"],
                ["XADD", "1-1", "id", ""],
            ]
            for key in own {
                for plant in plants {
                    try await stage.client.run("DEL", key)
                    _ = try await stage.client.send(
                        RedisCommand([.text(plant[0]), .text(key)] + plant.dropFirst().map { .text($0) })
                    ).get()
                    // Any of these may fail, with an error.
                    if key == names.webhooks { _ = try? await store.all() }
                    _ = try? await store.read("wh_1")
                    _ = try? await store.due("wh_1", before: self.now, most: 10)
                    _ = try? await store.first("job-7", of: "wh_1")
                    _ = try? await store.park(self.event(1), for: "wh_1", attempts: 1, due: self.now, by: Self.me)
                    _ = try? await store.settle(
                        self.event(1), for: "wh_1", .retry, due: self.now, reason: "x", by: Self.me)
                    for shard in [0, 7] { _ = try? await store.streams.read(shard: shard, after: "0-0") }
                    let read = try await store.read("wh_9")
                    #expect(read?.url == other.url, "\(key) \(plant)")
                    guard key != names.webhooks else { continue }
                    let all = try await store.all()
                    #expect(all.contains { $0.id == "wh_9" }, "\(key) \(plant)")
                }
                try await stage.client.run("DEL", key)
            }
        }
    }
}

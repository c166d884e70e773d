import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// The contracts of erase_job and drop_listed.
@Suite struct EraseJobTests {
    private func keys(_ stage: Stage) -> [String] {
        [stage.jobKey, stage.logKey, stage.keyspace.links(of: Stage.job), stage.eventsChannel, stage.eventStream]
    }

    private static let arguments = ["epoch-1", "0", "300000"]

    @Test func `only fence and epoch of an erased job stay, and other scripts treat it as missing`() async throws {
        try await Stage.set { stage in
            try await stage.createJob(through: Stage.statusesUntilTransit)
            guard case .on(_, let fence) = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get()
            else {
                throw BadMessage("travel did not start")
            }
            let answer = try await stage.run(
                Scripts.eraseJob, keys: self.keys(stage), ["epoch-1", "\(fence)", "300000"])
            #expect(answer == .answer(1, 2))
            #expect(try await stage.subscriber.messages.next().text == #"{"type":"erased"}"#)
            let left = try await stage.client.run("HGETALL", stage.jobKey).array?.map(\.text)
            #expect(left == ["fence", "\(fence + 1)", "erased", "epoch-1"])
            #expect((1...300_000).contains(try await stage.client.timeLeft(of: stage.jobKey)))
            #expect(try await stage.client.run("EXISTS", stage.logKey) == .integer(0))

            let ledger = stage.ledger
            #expect(try await ledger.recover(Stage.job).get() == nil)
            #expect(try await ledger.head(Stage.job).get() == nil)
            let published = try await ledger.publish(.delivered, of: Stage.job, by: Stage.rider, source: "rest").get()
            #expect(published == .noSuchJob)
            let started = try await ledger.startTravel(for: Stage.job, by: Stage.rider).get()
            #expect(started == .noSuchJob)
            let stopped = try await ledger.stopTravel(for: Stage.job, by: nil).get()
            #expect(stopped == .noSuchJob)
            let assigned = try await ledger.assign(Stage.job, to: nil, of: Stage.customer, expected: fence + 1).get()
                .value
            #expect(assigned == .noSuchJob)
            let described = try await ledger.describe(
                Stage.job, kind: .delivery, zone: ZoneID("rome"), destination: nil, vendor: nil
            ).get().value
            #expect(described == .noSuchJob)
            try await ledger.refresh(Stage.job, after: 1, ofCardOf: Stage.rider).get()
            #expect(try await stage.hasNoMessages())

            // A new job with this id has another history, and its feed opens only for greater fences.
            let again = try await stage.createJob(epoch: "epoch-2")
            #expect(again.fence == fence + 1 && again.head > StatusID("0-0")!)
            let log = try await ledger.log(of: Stage.job).get()
            #expect(log.count == 1)
        }
    }

    @Test func `the last four erased records of a job are not created again, as long as their epochs are remembered`()
        async throws
    {
        try await Stage.set { stage in
            for number in 1...5 {
                try await stage.createJob(epoch: "epoch-\(number)")
                let erasable = try await stage.ledger.erasable(Stage.job).get()
                let erased = try await stage.ledger.erase(Stage.job, as: erasable?.version).get().value
                #expect(erased == .erased(keys: 2))
            }
            #expect(try await stage.record("erased") == ["epoch-5 epoch-4 epoch-3 epoch-2"])
            try await stage.leavesEverythingUnchanged {
                for number in 2...5 {
                    let answer = try await stage.ledger.create(Stage.newJob(), epoch: "epoch-\(number)").get()
                    #expect(answer == .erased)
                }
            }
            try await stage.createJob(epoch: "epoch-1")
            // While another record exists, the job exists.
            guard case .exists("epoch-1", _) = try await stage.ledger.create(Stage.newJob(), epoch: "epoch-5").get()
            else {
                Issue.record("created twice")
                return
            }
        }
    }

    @Test func `the events of an erased job are deleted, waiting or not, and those of other jobs stay`() async throws {
        try await Stage.set { stage in
            let store = WebhookStore(ledger: stage.client, settings: stage.settings)
            let webhook = Webhook(
                id: "wh_1", url: "https://shop.example/", kinds: [], secrets: [.init(text: "whsec_a", expiresAt: 0)],
                createdAt: 7)
            #expect(try await store.add(webhook))
            #expect(try await store.lease(of: "wh_1", holder: "g").hold())
            try await stage.createJob(through: Stage.statusesUntilTransit)
            func event(_ number: Int, of subject: String) -> WaitingEvent {
                WaitingEvent(
                    LedgerEvent(id: "e.\(number)", kind: .assigned, time: 7, subject: subject, data: #"{"rider":"r"}"#))
            }
            let now: Int64 = 1_763_856_000_000
            for subject in [Stage.job.text, "other"] {
                for number in 1...3 {
                    let waits = try await store.park(
                        event(number, of: subject), for: "wh_1", attempts: 0, due: now, by: "g")
                    #expect(waits)
                }
                let left = try await store.settle(
                    event(1, of: subject), for: "wh_1", .dead, due: now, reason: "410", by: "g")
                #expect(left == 2)
            }
            // More than a page of others' events, before and after.
            let fill = "for i = 1, 250 do redis.call('XADD', KEYS[1], '*', 'id', 'x', 'subject', 'other') end"
            try await stage.client.run("EVAL", fill, "1", stage.eventStream)
            try await stage.publish(.delivered)
            let before = try await stage.client.run("XLEN", stage.eventStream).integer ?? 0
            let own = before - 250

            let erased = try await stage.ledger.eraseEvents(of: Stage.job).get()
            #expect(Int64(erased) == own + 3, "\(own) of the stream, one dead, two waiting")
            let after = try await stage.client.run("XLEN", stage.eventStream)
            #expect(after == .integer(250))
            #expect(try await store.first(Stage.job.text, of: "wh_1") == nil)
            #expect(try await store.dead("wh_1").map(\.event.subject) == ["other"])
            #expect(try await store.due("wh_1", before: now, most: 10) == ["other"])
            #expect(try await store.read("wh_1")?.waiting == 2)
            let again = try await stage.ledger.eraseEvents(of: Stage.job).get()
            #expect(again == 0)

            // The erasure itself is an event, which names no person and is not erased.
            let answer = try await stage.run(Scripts.eraseJob, keys: self.keys(stage), Self.arguments)
            #expect(answer.array?.first == .integer(1))
            let last = try await stage.ledger.eraseEvents(of: Stage.job).get()
            #expect(last == 0)
            let shard = HashSlot.of(Stage.job.text) % Keyspace.eventShards
            var events: [LedgerEvent] = []
            var place = "0-0"
            while let page = Optional(try await store.streams.read(shard: shard, after: place)), let end = page.last {
                events += page.compactMap(\.event)
                place = end.id
            }
            #expect(events.map(\.kind) == [.erased] && events[0].data == "{}" && events[0].subject == Stage.job.text)
            #expect(events[0].version > own)
        }
    }

    @Test func `erased events do not count as trimmed, and events older than their lifetime may have been trimmed`()
        async throws
    {
        try await Stage.set { stage in
            let streams = WebhookStore(ledger: stage.client, settings: stage.settings).streams
            try await stage.createJob()
            let shard = HashSlot.of(Stage.job.text) % Keyspace.eventShards
            let place = try await streams.newest(shard: shard)
            _ = try await stage.ledger.eraseEvents(of: Stage.job).get()
            #expect(try await streams.newest(shard: shard) == "0-0")
            #expect(try await !streams.mayHaveTrimmed(shard: shard, after: place))
            #expect(try await streams.mayHaveTrimmed(shard: shard, after: "1700000000000-0"))
            let key = stage.keyspace.events(shard: shard)
            let fill = "for i = 1, \(EventStreams.longest) do redis.call('XADD', KEYS[1], '*', 'id', 'x') end"
            try await stage.client.run("EVAL", fill, "1", key)
            #expect(try await streams.mayHaveTrimmed(shard: shard, after: place))
        }
    }

    @Test func `forget_events refuses a bad argument by name`() async throws {
        try await Stage.set { stage in
            let keyspace = stage.keyspace
            let keys = [
                keyspace.webhook("w"), keyspace.due(ofWebhook: "w"), keyspace.attempts(ofWebhook: "w"),
                keyspace.waiting(of: "job-7", ofWebhook: "w"),
            ]
            let call = ValidCall(
                script: Scripts.forgetEvents, keys: keys, arguments: ["job-7", "only", "epoch-1 epoch-2"])
            var bad = (badNames + [""]).map { (0, $0, "subject must be") }
            bad += ["", "all", "Only"].map { (1, $0, "which must be") }
            bad += ["a:b", "{a}", "é", "a\n", String(repeating: "a", count: 65), String(repeating: "a ", count: 130)]
                .map { (2, $0, "epochs must be") }
            try await call.refuses(bad, on: stage)
            let nothing = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(nothing == .answer(1, 0))
            #expect(try await stage.client.dump().isEmpty)
        }
    }

    @Test func `a job that has changed since it was read is not erased`() async throws {
        try await Stage.set { stage in
            let absent = try await stage.run(Scripts.eraseJob, keys: self.keys(stage), Self.arguments)
            #expect(absent == .answer(0))
            try await stage.createJob()
            try await stage.leavesEverythingUnchanged {
                for arguments in [["epoch-2", "0", "300000"], ["epoch-1", "1", "300000"]] {
                    let answer = try await stage.run(Scripts.eraseJob, keys: self.keys(stage), arguments)
                    #expect(answer == .answer(-1))
                }
            }
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test(arguments: [
        ["HSET", "epoch", "!"], ["HDEL", "epoch"], ["HSET", "fence", "9999999999999999"], ["HSET", "fence", "x"],
        ["HSET", "kind", "x"], ["HDEL", "kind"], ["SET", "x"],
    ])
    func `a malformed record is erased`(change: [String]) async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            _ = try await stage.client.send(
                RedisCommand([.text(change[0]), .text(stage.jobKey)] + change.dropFirst().map { .text($0) })
            ).get()
            let erasable = try #require(try await stage.ledger.erasable(Stage.job).get())
            let isReadable = change.contains("kind")
            #expect((erasable.version != nil) == isReadable)
            #expect(erasable.customer == (change[0] == "SET" ? nil : Stage.customer))
            let erased = try await stage.ledger.erase(Stage.job, as: erasable.version).get().value
            #expect(erased == .erased(keys: 2))
            let left = try await stage.client.run("HKEYS", stage.jobKey).array?.compactMap(\.text)
            let hasEpoch = isReadable || change.contains("fence")
            #expect(left == (hasEpoch ? ["fence", "erased"] : ["fence"]))
            #expect(try await stage.ledger.erasable(Stage.job).get() == nil)
            let again = try await stage.ledger.erase(Stage.job, as: erasable.version).get().value
            #expect(again == .noSuchJob)
        }
    }

    @Test(arguments: [
        ("zone", "not a zone!"), ("zone", String(repeating: "z", count: 65)), ("version", "1e400"), ("version", "-5"),
        ("version", "nan"), ("version", "9999999999999999"),
    ])
    func `other systems receive the erasure of a job whose zone or version is malformed`(field: String, value: String)
        async throws
    {
        try await Stage.set { stage in
            try await stage.createJob()
            try await stage.client.run("HSET", stage.jobKey, field, value)
            let answer = try await stage.run(Scripts.eraseJob, keys: self.keys(stage), Self.arguments)
            #expect(answer.array?.first == .integer(1))
            let shard = HashSlot.of(Stage.job.text) % Keyspace.eventShards
            let streams = EventStreams(ledger: stage.client, settings: stage.settings)
            let event = try #require(try await streams.read(shard: shard, after: "0-0").last?.event)
            #expect(event.kind == .erased && event.subject == Stage.job.text)
            if field == "zone" { #expect(event.zone == nil) } else { #expect(event.version == 1) }
        }
    }

    @Test func `erase_job refuses a bad argument by name`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let call = ValidCall(script: Scripts.eraseJob, keys: self.keys(stage), arguments: Self.arguments)
            var bad = badNames.map { (0, $0, "epoch must be") }
            bad += ["", "x", "-1", "1.5", String(repeating: "1", count: 16)].map { (1, $0, "fence must be") }
            bad += badRetentions.map { (2, $0, "tombstone_ms must be") }
            try await call.refuses(bad, on: stage)
        }
    }

    @Test func `drop_listed removes an entry only if it was not listed again`() async throws {
        try await Stage.set { stage in
            let list = stage.keyspace.jobs(ofRider: Stage.rider)
            try await stage.client.run("ZADD", list, "1795248617611", "job-7")
            let other = try await stage.run(Scripts.dropListed, keys: [list], ["job-7", "1795248617610"])
            let unknown = try await stage.run(Scripts.dropListed, keys: [list], ["job-8", "1795248617611"])
            #expect(other == .answer(0) && unknown == .answer(0))
            let call = ValidCall(script: Scripts.dropListed, keys: [list], arguments: ["job-7", "1795248617611"])
            try await call.refuses(
                (badNames + [""]).map { (0, $0, "job must be") }
                    + ["", "x", "-1", "1.5", String(repeating: "1", count: 14)].map { (1, $0, "score must be") },
                on: stage)
            let removed = try await stage.run(call.script, keys: call.keys, call.arguments)
            #expect(removed == .answer(1))
            #expect(try await stage.client.run("EXISTS", list) == .integer(0))
        }
    }

    @Test func `refresh_job publishes each version of a card once, and refuses a bad argument by name`() async throws {
        try await Stage.set { stage in
            let keys = [stage.jobKey, stage.eventsChannel]
            let absent = try await stage.run(Scripts.refreshJob, keys: keys, ["rider-1", "17"])
            #expect(absent == .answer(0))
            try await stage.createJob()
            let call = ValidCall(script: Scripts.refreshJob, keys: keys, arguments: ["rider-1", "17"])
            try await call.refuses(
                (badNames + [""]).map { (0, $0, "rider must be") }
                    + ["", "x", "-1", "1.5", String(repeating: "1", count: 17)].map { (1, $0, "version must be") },
                on: stage)
            let other = try await stage.run(Scripts.refreshJob, keys: keys, ["rider-2", "17"])
            #expect(other == .answer(0))
            let first = try await stage.run(Scripts.refreshJob, keys: keys, ["rider-1", "17"])
            #expect(first == .answer(1))
            #expect(try await stage.subscriber.messages.next().text == #"{"type":"assigned"}"#)
            try await stage.leavesEverythingUnchanged {
                let again = try await stage.run(Scripts.refreshJob, keys: keys, ["rider-1", "17"])
                #expect(again == .answer(2))
            }
            let next = try await stage.run(Scripts.refreshJob, keys: keys, ["rider-1", "18"])
            #expect(next == .answer(1))
            #expect(try await stage.record("revision", "card") == ["2", "rider-1:18"])
        }
    }
}

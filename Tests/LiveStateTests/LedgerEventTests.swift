import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// The stream of all events: what each change appends, in which order and with which ids.
@Suite struct LedgerEventTests {
    private func events(_ stage: Stage) async throws -> [LedgerEvent] {
        let streams = EventStreams(ledger: stage.client, settings: stage.settings)
        var events: [LedgerEvent] = []
        for shard in 0..<Keyspace.eventShards {
            let entries = try await streams.read(shard: shard, after: "0-0")
            #expect(entries.allSatisfy { $0.event != nil })
            events += entries.compactMap(\.event)
        }
        return events
    }

    @Test func `every change of a job is an event with the next version and a unique id`() async throws {
        try await Stage.set { stage in
            let record = try await stage.createJob(through: Stage.statusesUntilTransit)
            _ = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get()
            _ = try await stage.ledger.stopTravel(for: Stage.job, by: Stage.rider).get()
            _ = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get()
            let described = try await stage.ledger.describe(
                Stage.job, kind: .delivery, zone: ZoneID("rome"), destination: nil, vendor: nil
            ).get()
            #expect(described.value == .changed)
            let fence = try #require(try await stage.ledger.recover(Stage.job).get()).record.fence
            _ = try await stage.ledger.assign(
                Stage.job, to: PersonID("rider-2"), of: Stage.customer, expected: fence
            ).get()
            try await stage.publish(.delivered)

            let events = try await self.events(stage)
            #expect(
                events.map(\.kind) == [
                    .created, .statusChanged, .statusChanged, .statusChanged, .statusChanged, .travelStarted,
                    .travelEnded, .travelStarted, .described, .travelEnded, .assigned, .statusChanged, .closed,
                ])
            #expect(events.map(\.version) == (1...13).map { Int64($0) })
            #expect(Set(events.map(\.id)).count == events.count)
            #expect(events.allSatisfy { $0.subject == "job-7" && $0.epoch == record.epoch })
            #expect(events.prefix(8).allSatisfy { $0.zone == ZoneID("berlin") })
            #expect(events.suffix(5).allSatisfy { $0.zone == ZoneID("rome") })
            #expect(events[1].data.contains(#""status":"accepted","previous":"pending_vendor_acceptance""#))
            #expect(events[8].data == #"{"previousZone":"berlin"}"#)
            #expect(events[9].data == #"{"rider":"rider-1","reason":"reassigned"}"#)
            #expect(events[10].data.contains(#""rider":"rider-2","previousRider":"rider-1""#))
            #expect(events.allSatisfy { !$0.data.contains("52.5") && !$0.data.contains("lat") })
        }
    }

    @Test func `a repeated or refused change does not cause an event`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            try await stage.createJob()
            for _ in 0..<2 {
                _ = try await stage.ledger.publish(
                    .accepted, of: Stage.job, by: Stage.rider, source: "rest", request: "once"
                ).get()
            }
            _ = try await stage.ledger.publish(.delivered, of: Stage.job, by: Stage.rider, source: "rest").get()
            _ = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get()
            _ = try await stage.ledger.stopTravel(for: Stage.job, by: Stage.rider).get()
            #expect(try await self.events(stage).map(\.kind) == [.created, .statusChanged])
        }
    }

    @Test func `the last event of a job says that it was erased, and a new job with its id starts again`() async throws
    {
        try await Stage.set { stage in
            try await stage.createJob()
            try await stage.publish(.accepted)
            let erasable = try #require(try await stage.ledger.erasable(Stage.job).get())
            let erased = try await stage.ledger.erase(Stage.job, as: erasable.version).get().value
            #expect(erased == .erased(keys: 2))
            try await stage.createJob(epoch: "epoch-2")
            let events = try await self.events(stage)
            #expect(events.map(\.kind) == [.created, .statusChanged, .erased, .created])
            #expect(events.map(\.version) == [1, 2, 3, 1])
            #expect(events[2].data == "{}" && events[2].zone == ZoneID("berlin"))
            #expect(Set(events.map(\.id)).count == 4)
        }
    }

    @Test func `events are removed after seven days, but never the newest of a shard`() async throws {
        try await Stage.set { stage in
            let streams = EventStreams(ledger: stage.client, settings: stage.settings)
            let shards = (0..<EventStreams.shards).map { stage.keyspace.events(shard: $0) }
            let quiet = try #require(shards.firstIndex { $0 != stage.eventStream })
            try await stage.createJob()
            try await stage.client.run("DEL", stage.eventStream)
            let old = 1_763_856_000_000
            for time in old...(old + 2) {
                for shard in [stage.eventStream, shards[quiet]] {
                    try await stage.client.run("XADD", shard, "\(time)-1", "f", "v")
                }
            }
            try await stage.publish(.accepted)
            try await streams.removeOld()
            let stays = try await stage.client.run("XLEN", stage.eventStream)
            #expect(stays == .integer(1))
            let left = try await stage.client.run("XLEN", shards[quiet])
            let newest = try await streams.newest(shard: quiet)
            #expect(left == .integer(1) && newest == "\(old + 2)-1")
        }
    }

    @Test func `a malformed shard does not prevent the others from being trimmed`() async throws {
        try await Stage.set { stage in
            let shards = (0..<EventStreams.shards).map { stage.keyspace.events(shard: $0) }
            try await stage.client.run("SET", shards[0], "in the way")
            for time in [1_763_856_000_000, 1_763_856_000_001] {
                try await stage.client.run("XADD", shards[1], "\(time)-1", "f", "v")
            }
            try await EventStreams(ledger: stage.client, settings: stage.settings).removeOld()
            let left = try await stage.client.run("XLEN", shards[1])
            #expect(left == .integer(1))
        }
    }

    @Test func `a shard holds about 50,000 events`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let fill = "for i = 1, 60000 do redis.call('XADD', KEYS[1], '*', 'f', 'v') end"
            try await stage.client.run("EVAL", fill, "1", stage.eventStream)
            try await stage.publish(.accepted)
            let length = try await stage.client.run("XLEN", stage.eventStream).integer ?? 0
            #expect((50_000...50_200).contains(length))
        }
    }

    @Test func `changes of riders are copied once, with stable ids`() async throws {
        try await ZoneStage.set { stage in
            let streams = EventStreams(ledger: stage.client, settings: stage.base.settings)
            let forwarder = EventForwarder(streams, holder: "gateway-1")
            try await forwarder.copyRiderChanges()
            try await stage.online()
            _ = try await stage.assign(ZoneStage.jobs[0])
            let told = try await stage.nextChanges(3)
            try await forwarder.copyRiderChanges()
            try await forwarder.copyRiderChanges()
            let events = try await self.events(stage.base)
            #expect(events.map(\.id) == told.map { "berlin.\($0.version)" })
            #expect(events.allSatisfy { $0.kind == .riderAvailabilityChanged && $0.subject == "rider-1" })
            #expect(events.last?.data.contains(#""change":"assigned""#) == true)
            #expect(events.last?.data.contains(#""job":"\#(ZoneStage.jobs[0].text)""#) == true)
        }
    }

    @Test func `a malformed change log does not stop other zones`() async throws {
        try await ZoneStage.set { stage in
            let hamburg = ZoneID("hamburg")!
            try await stage.client.run("SADD", stage.keyspace.zones, hamburg.text)
            try await stage.client.run("SET", stage.keyspace.changeLog(of: hamburg), "in the way")
            let streams = EventStreams(ledger: stage.client, settings: stage.base.settings)
            let forwarder = EventForwarder(streams, holder: "gateway-1")
            try await forwarder.copyRiderChanges()
            try await stage.describe()
            try await forwarder.copyRiderChanges()
            #expect(try await self.events(stage.base).map(\.subject) == [ZoneStage.rider.text])
        }
    }

    @Test func `copying continues with the next change of a zone whose cursor is malformed, and stops no other zone`()
        async throws
    {
        try await ZoneStage.set { stage in
            let streams = EventStreams(ledger: stage.client, settings: stage.base.settings)
            let forwarder = EventForwarder(streams, holder: "gateway-1")
            try await forwarder.copyRiderChanges()
            let hamburg = ZoneID("hamburg")!
            func describe(isApproved: Bool) async throws {
                _ = try await stage.riders.describe(
                    ZoneStage.other, in: hamburg, isApproved: isApproved, capacity: 1, by: ZoneStage.service
                ).get()
            }
            try await describe(isApproved: true)
            try await forwarder.copyRiderChanges()
            try await stage.client.run("HSET", stage.keyspace.eventCursors, hamburg.text, "malformed")
            try await stage.describe()
            try await forwarder.copyRiderChanges()
            let subjects = [ZoneStage.other.text, ZoneStage.rider.text]
            #expect(try await self.events(stage.base).map(\.subject).sorted() == subjects.sorted())
            try await describe(isApproved: false)
            try await forwarder.copyRiderChanges()
            let repaired = try await self.events(stage.base).map(\.subject)
            #expect(repaired.sorted() == (subjects + [ZoneStage.other.text]).sorted())
        }
    }

    @Test func `while a shard fails, the changes before the failure are copied once, and none is missed`() async throws
    {
        try await ZoneStage.set { stage in
            let streams = EventStreams(ledger: stage.client, settings: stage.base.settings)
            let forwarder = EventForwarder(streams, holder: "gateway-1")
            try await forwarder.copyRiderChanges()
            let shard = stage.keyspace.events(of: ZoneStage.rider.text)
            let other = try #require(
                (2...99).compactMap { PersonID("rider-\($0)") }.first {
                    stage.keyspace.events(of: $0.text) != shard
                })
            try await stage.describe(other)
            try await stage.describe()
            try await stage.client.run("SET", shard, "in the way")
            for _ in 0..<3 { try await forwarder.copyRiderChanges() }
            let copied = try await stage.client.run("XLEN", stage.keyspace.events(of: other.text))
            #expect(copied == .integer(1))
            try await stage.client.run("DEL", shard)
            try await forwarder.copyRiderChanges()
            let subjects = try await self.events(stage.base).map(\.subject)
            #expect(subjects.sorted() == [ZoneStage.rider.text, other.text].sorted())
        }
    }

    @Test func `changes from before the first copying do not become events`() async throws {
        try await ZoneStage.set { stage in
            let streams = EventStreams(ledger: stage.client, settings: stage.base.settings)
            let forwarder = EventForwarder(streams, holder: "gateway-1")
            try await stage.online()
            try await forwarder.copyRiderChanges()
            #expect(try await self.events(stage.base).isEmpty)
            _ = try await stage.goOffline()
            try await forwarder.copyRiderChanges()
            #expect(try await self.events(stage.base).map(\.kind) == [.riderAvailabilityChanged])
        }
    }

    @Test func `the code that scripts share for events is identical in each`() throws {
        let parts = try LuaFolder.scripts().compactMap { script -> Substring? in
            script.text.firstRange(of: "local function append_event").map { found in
                let rest = script.text[found.lowerBound...]
                return rest[..<(rest.firstRange(of: "\n\n")?.lowerBound ?? rest.endIndex)]
            }
        }
        #expect(parts.count == 9)
        #expect(Set(parts).count == 1)
    }

    @Test func `the time of an event is exact to the millisecond`() {
        for millisecond in 0..<1000 {
            let event = LedgerEvent(
                id: "e.1.1", kind: .closed, time: 1_763_856_000_000 + Int64(millisecond), subject: "job-7", data: "{}")
            let digits = "\(1000 + millisecond)".dropFirst()
            #expect(event.body.contains(#""time":"2025-11-23T00:00:00.\#(digits)Z""#), "\(event.body)")
        }
    }

    @Test(arguments: ["", "x y", "a\r\nb", String(repeating: "a", count: 161)])
    func `a malformed entry is not read as an event`(id: String) {
        var fields = [
            "id": "e.1.1", "type": "enroute.job.created", "time": "1763856000000", "subject": "job-7", "epoch": "e",
            "version": "1", "zone": "", "data": "{}",
        ]
        #expect(LedgerEvent(fields: fields) != nil)
        for (name, value) in [
            ("type", "enroute.job.sold"), ("time", "soon"), ("subject", "job 7"), ("epoch", "a\"b"), ("version", "-1"),
            ("zone", "a b"), ("data", "{"), ("data", "[]"), ("data", "{}}"), ("id", id),
        ] {
            var bad = fields
            bad[name] = value
            #expect(LedgerEvent(fields: bad) == nil, "\(name) \(value)")
        }
        fields["zone"] = nil
        #expect(LedgerEvent(fields: fields)?.zone == nil)
    }
}

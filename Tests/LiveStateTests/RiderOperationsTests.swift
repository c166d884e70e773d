import Embedded
import EnrouteWire
import LiveState
import NIOCore
import Redis
import Subprocess
import TestSupport
import Testing

/// The redis-cli examples about riders answer what operations staff ask, and the access lists allow gateways every call.
@Suite struct RiderOperationsTests {
    /// The output of the README's command whose comment starts with `question`.
    private func answer(to question: String, _ stage: ZoneStage) async throws -> String {
        let command = try #require(
            LuaFolder.commands("sh").first { $0.comment.hasPrefix(question) }, "no example: \(question)")
        let script = "alias redis-cli='redis-cli -e -s \(stage.base.socketPath)'\n\(command.line)"
        let outcome = try await Subprocess.run(
            .name("sh"), arguments: ["-c", script], output: .string(limit: 65_536), error: .combinedWithOutput)
        return outcome.standardOutput.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    @Test func `examples show available riders, why a rider cannot go offline, and what changed today`() async throws {
        try await ZoneStage.set { stage in
            try await stage.riders.setUpTask(JobID("job-7")!)
            try await stage.online(ZoneStage.other)
            _ = try await stage.assign(ZoneStage.jobs[1], to: ZoneStage.other)
            _ = try await stage.goOffline(because: "home")
            let heartbeat = try #require(try await stage.record()?.heartbeat)
            #expect(try await self.answer(to: "Available riders in berlin", stage) == "rider-1 \(heartbeat)")
            #expect(try await self.answer(to: "Why rider-1 cannot go offline", stage) == "job-7 accepted")
            #expect(try await self.answer(to: "The rider who has the job as a task", stage) == "rider-1")
            let record = try await self.answer(to: "Why rider-1 is not available", stage)
            #expect(record.contains("status online reachable 1 approved 1 capacity 2"))
            let today = try await self.answer(to: "Today's changes of rider-1", stage)
            for change in ["change created", "change online", "change assigned"] { #expect(today.contains(change)) }
            #expect(today.contains("actor service-1") && today.contains("device phone-1"))
            #expect(!today.contains("rider-2"))
        }
    }

    @Test func `the gateway's Redis user can make every call about riders`() async throws {
        let settings = LiveStateSettings()
        try await DeployedRedis.ledger.run { ledger in
            try await DeployedRedis.live.runBeside { live in
                let client = try await RedisClient.started(at: ledger.address(for: "enroute"))
                defer { client.stop() }
                let positions = try await RedisClient.started(at: live.address(for: "enroute"))
                defer { positions.stop() }
                let subscriber = try await Subscriber.started(at: ledger.address(for: "enroute"))
                defer { subscriber.stop() }
                try await subscriber.subscribe(Keyspace().changes(in: ZoneStage.zone))
                try await self.callAll(Riders(ledger: client, settings: settings))
                _ = try await subscriber.messages.next(9)
                let index = GeoIndex(live: positions, settings: settings)
                let pool = ZonePool(ledger: client, live: positions, settings: settings)
                let here = Coordinate(latitude: 52.5, longitude: 13.4)!
                for _ in 0..<2 { _ = try await index.place(ZoneStage.rider, in: ZoneStage.zone, at: here).get() }
                let near = try await pool.nearest(to: here, in: ZoneStage.zone, within: 100, limit: 1).get()
                #expect(near.isEmpty)
                for _ in 0..<2 { _ = try await pool.read(ZoneStage.zone).get() }
                try await index.forget(ZoneStage.rider, in: ZoneStage.zone).get()
            }
        }
    }

    @Test func `in a cluster all keys of a script are in one slot`() async throws {
        try await withRedis(options: ["--cluster-enabled", "yes"]) { client, _ in
            try await client.run("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
            let isReady = try await eventually {
                try await client.run("CLUSTER", "INFO").text?.contains("cluster_state:ok") == true
            }
            try #require(isReady)
            try await self.callAll(Riders(ledger: client, settings: LiveStateSettings()))
            let index = GeoIndex(live: client, settings: LiveStateSettings())
            let here = Coordinate(latitude: 52.5, longitude: 13.4)!
            #expect(try await index.place(ZoneStage.rider, in: ZoneStage.zone, at: here).get())
            let pool = ZonePool(ledger: client, live: client, settings: LiveStateSettings())
            #expect(try await pool.read(ZoneStage.zone).get().count == 0)
            // Keys in two slots are refused, so the calls above prove something.
            let call = client.evaluate(
                Scripts.zoneSnapshot, keys: ["riders:{a}:available", "riders:{b}:audit"], arguments: ["", 10])
            guard case .refused("CROSSSLOT", _)? = await failure(of: call) else {
                Issue.record("keys of two slots were accepted")
                return
            }
        }
    }

    @Test func `R1: every change is logged once with actor, device, request and time; a refusal is not logged`()
        async throws
    {
        try await ZoneStage.set { stage in
            let begun = try await stage.base.now()
            try await stage.describe()
            let phone = DeviceID("phone-1")!
            let requester = Riders.Requester(ZoneStage.rider, request: "on-1")
            for _ in 0..<3 {
                _ = try await stage.riders.setOnline(ZoneStage.rider, in: ZoneStage.zone, device: phone, by: requester)
                    .get()
            }
            _ = try await stage.assign(ZoneStage.jobs[0])
            _ = try await stage.goOffline(by: .init(ZoneStage.rider, request: "off-1"))
            _ = try await stage.release(ZoneStage.jobs[0])
            _ = try await stage.goOffline(because: "shift ends", by: .init(PersonID("ops-1")!, request: "off-2"))
            let entries = try await stage.client.run("XRANGE", stage.keys[3], "-", "+").array ?? []
            let logged = entries.map { entry -> [String: String] in
                let words = entry.array?.last?.array?.compactMap(\.text) ?? []
                let pairs = stride(from: 0, to: words.count, by: 2).map { (words[$0], words[$0 + 1]) }
                return Dictionary(uniqueKeysWithValues: pairs)
            }
            #expect(logged.map { $0["change"] } == ["created", "online", "assigned", "released", "offline"])
            #expect(logged.map { $0["request"] } == ["", "on-1", "", "", "off-2"])
            #expect(logged.map { $0["actor"] } == ["service-1", "rider-1", "s", "service-1", "ops-1"])
            #expect(logged[1]["device"] == "phone-1" && logged[4]["reason"] == "shift ends")
            let now = try await stage.base.now()
            for entry in entries {
                let id = try #require(entry.array?.first?.text.flatMap { StatusID($0) })
                #expect((begun...now).contains(Int64(id.milliseconds)))
            }
        }
    }

    /// Makes every call once; nine of them are changes.
    private func callAll(_ riders: Riders) async throws {
        let (rider, zone, job) = (ZoneStage.rider, ZoneStage.zone, ZoneStage.jobs[0])
        let requester = Riders.Requester(rider, request: "r-1")
        try await riders.setUpTask(job)
        _ = try await riders.advance(job, of: rider, in: zone, to: .pickedUp, by: requester).get()
        _ = try await riders.heartbeat(of: rider, in: zone, device: DeviceID("phone-2"), takesOver: true).get()
        #expect(try await riders.expire(rider, in: zone).get() == .unchanged)
        #expect(try await riders.sweep(zone).get().isEmpty)
        #expect(try await riders.owner(of: job, in: zone).get() == rider)
        #expect(try await riders.online(in: zone).get().roster.busy == [rider])
        _ = try await riders.release(job, of: rider, in: zone, because: .reassigned, by: ZoneStage.service).get()
        _ = try await riders.setOffline(rider, in: zone, by: ZoneStage.service).get()
        #expect(try await riders.read(rider, in: zone).get()?.status == .offline)
        #expect(try await riders.zones().get() == [zone])
        let hamburg = ZoneID("hamburg")!
        _ = try await riders.describe(
            rider, in: hamburg, isApproved: true, capacity: 1, card: RiderCard(name: "Rosa"), by: ZoneStage.service
        ).get()
        #expect(try await riders.zone(of: rider).get() == hamburg)
        _ = try await riders.describe(rider, in: zone, isApproved: true, capacity: 1, by: ZoneStage.service).get()
    }
}

import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// The lists of open jobs and the reports of gateways, at real servers with the users of deploy/redis.
@Suite struct ZoneJobsTests {
    private static let rome = ZoneID("rome")!
    private static let now: Int64 = 1_795_248_617_611

    private static func atLedger(_ body: (JobLedger, RedisClient) async throws -> Void) async throws {
        try await DeployedRedis.ledger.run { server in
            let gateway = try await RedisClient.started(at: server.address(for: "enroute"))
            defer { gateway.stop() }
            let admin = try await RedisClient.started(at: server.address(for: "admin"))
            defer { admin.stop() }
            try await body(JobLedger(ledger: gateway, settings: LiveStateSettings()), admin)
        }
    }

    private static func make(_ name: String, in zone: ZoneID?, _ ledger: JobLedger, at time: Int64 = now) async throws {
        let new = NewJob(
            job: JobID(name)!, kind: .service, customer: PersonID("anna")!, zone: zone, actor: PersonID("orders")!)
        _ = try await ledger.create(new, epoch: "epoch-\(name)").get()
        try await ledger.listing.update(JobID(name)!, now: time).get()
    }

    @Test func `an open job is on its zone's list, newest first, and a job without a zone under a dash`() async throws {
        try await Self.atLedger { ledger, admin in
            try await Self.make("a", in: Self.rome, ledger)
            try await Self.make("b", in: Self.rome, ledger, at: Self.now + 1)
            try await Self.make("c", in: nil, ledger, at: Self.now + 2)
            let rome = try await ledger.listing.jobIDs(in: Self.rome).get()
            #expect(rome.map(\.text) == ["b", "a"])
            let none = try await ledger.listing.jobIDs(in: ZoneJobs.withoutZone).get()
            #expect(none.map(\.text) == ["c"])
            let zones = try await ledger.listing.zones().get()
            #expect(zones.map(\.text) == ["-", "rome"])
            let sizes = try await ledger.listing.sizes(of: Self.rome).get()
            #expect(sizes.jobs == 2 && sizes.available == 0 && sizes.online == 0)
            let open = try await ledger.listing.openJobs(rome[...], in: Self.rome).get()
            #expect(open.map(\.job.text) == ["b", "a"] && open.allSatisfy { $0.record.status == .assigned })
            // A zone without changes leaves no data.
            for key in ["zone:{rome}:jobs", "zones:jobs"] {
                let lifetime = try await admin.run("PTTL", key).integer ?? 0
                #expect((1...LiveStateSettings().retention.milliseconds).contains(lifetime), "\(key)")
            }
        }
    }

    @Test func `a list that is of another type counts as empty`() async throws {
        try await Self.atLedger { ledger, admin in
            try await Self.make("a", in: Self.rome, ledger)
            try await admin.run("SET", "riders:{rome}:due", "malformed")
            let before = try await ledger.listing.sizes(of: Self.rome).get()
            #expect(before.jobs == 1 && before.available == 0 && before.online == 0)
            try await admin.run("DEL", "zone:{rome}:jobs")
            try await admin.run("SET", "zone:{rome}:jobs", "malformed")
            let sizes = try await ledger.listing.sizes(of: Self.rome).get()
            #expect(sizes.jobs == 0 && sizes.available == 0 && sizes.online == 0)
        }
    }

    @Test func `a job that has ended leaves the list, and an unknown job is not added`() async throws {
        try await Self.atLedger { ledger, _ in
            try await Self.make("a", in: Self.rome, ledger)
            _ = try await ledger.publish(.cancelled, of: JobID("a")!, by: PersonID("orders")!, source: "rest").get()
            for job in ["a", "unknown"] { try await ledger.listing.update(JobID(job)!, now: Self.now).get() }
            let listed = try await ledger.listing.jobIDs(in: Self.rome).get()
            #expect(listed.isEmpty)
        }
    }

    @Test func `a read removes jobs that ended, moved or were deleted`() async throws {
        try await Self.atLedger { ledger, admin in
            for job in ["ended", "moved", "gone", "open"] { try await Self.make(job, in: Self.rome, ledger) }
            _ = try await ledger.publish(.cancelled, of: JobID("ended")!, by: PersonID("orders")!, source: "rest").get()
            try await admin.run("HSET", "job:{moved}", "zone", "milan")
            try await admin.run("DEL", "job:{gone}")
            let listed = try await ledger.listing.jobIDs(in: Self.rome).get()
            #expect(listed.count == 4)
            let open = try await ledger.listing.openJobs(listed[...], in: Self.rome).get()
            #expect(open.map(\.job.text) == ["open"])
            let after = try await ledger.listing.jobIDs(in: Self.rome).get()
            #expect(after.map(\.text) == ["open"])
        }
    }

    @Test func `a job that did not change within the retention is dropped when another is added`() async throws {
        try await Self.atLedger { ledger, _ in
            let retention = LiveStateSettings().retention.milliseconds
            try await Self.make("old", in: Self.rome, ledger, at: Self.now - retention - 1)
            try await Self.make("new", in: Self.rome, ledger)
            try await Self.make("newer", in: Self.rome, ledger)
            try await becomes("the old one is out") {
                try await ledger.listing.jobIDs(in: Self.rome).get().map(\.text).sorted() == ["new", "newer"]
            }
        }
    }

    @Test func `a zone's list has a maximum length, and the job that changed longest ago is dropped`() async throws {
        try await Self.atLedger { ledger, admin in
            let fill = "for i = 1, ARGV[2] do redis.call('ZADD', KEYS[1], ARGV[1] + i, ARGV[3] .. i) end"
            let most = ZoneJobs.maxListedJobs
            try await admin.run(
                "EVAL", fill, "1", "zone:{rome}:jobs", "\(Self.now - Int64(most) - 1)", "\(most)", "job-")
            try await Self.make("new", in: Self.rome, ledger)
            try await becomes("one has given way") {
                let listed = try await ledger.listing.jobIDs(in: Self.rome).get().map(\.text)
                return listed.count == most && listed[0] == "new" && listed.last == "job-2"
            }
            let size = try await ledger.listing.sizes(of: Self.rome).get()
            #expect(size.jobs == most)
            try await admin.run("EVAL", fill, "1", "zones:jobs", "\(Self.now)", "\(ZoneJobs.maxZones)", "zone-")
            let zones = try await ledger.listing.zones().get()
            #expect(zones.count == ZoneJobs.maxZones && !zones.contains(Self.rome))
        }
    }

    @Test func `a report has a maximum number of jobs, and at most the newest gateways are read`() async throws {
        try await DeployedRedis.live.run { server in
            let client = try await RedisClient.started(at: server.address(for: "enroute"))
            defer { client.stop() }
            let registry = GatewayRegistry(live: client, settings: LiveStateSettings())
            let most = GatewayRegistry.maxFollowedJobs
            let followed = Dictionary(uniqueKeysWithValues: (0...most).map { (JobID("job-\($0)")!, 1) })
            try await registry.report("first", [], followed: followed, now: Self.now).get()
            let followers = try await registry.followers().get()
            #expect(followers.count == most)
            for number in 1...Int64(GatewayRegistry.maxGateways) {
                try await registry.report("later-\(number)", [], followed: [:], now: Self.now + number).get()
            }
            let heard = try await registry.reports(now: Self.now).get()
            #expect(heard.count == GatewayRegistry.maxGateways && !heard.contains { $0.id == "first" })
            let others = try await registry.followers().get()
            #expect(others.isEmpty)
        }
    }

    @Test func `gateways read each other's reports, add up followers, and are dropped when they are silent`()
        async throws
    {
        try await DeployedRedis.live.run { server in
            let client = try await RedisClient.started(at: server.address(for: "enroute"))
            defer { client.stop() }
            let registry = GatewayRegistry(live: client, settings: LiveStateSettings())
            let (first, second) = (JobID("a")!, JobID("b")!)
            try await registry.report("one", Array("{}".utf8), followed: [first: 2, second: 1], now: Self.now).get()
            try await registry.report("two", Array("{}".utf8), followed: [first: 3], now: Self.now + 1).get()
            let followers = try await registry.followers().get()
            #expect(followers == [first: 5, second: 1])
            let heard = try await registry.reports(now: Self.now).get()
            #expect(heard.map(\.id) == ["one", "two"] && heard.allSatisfy { $0.facts != nil })
            try await registry.remove("one").get()
            let left = try await registry.reports(now: Self.now).get()
            #expect(left.map(\.id) == ["two"])
            let later = Self.now + GatewayRegistry.retention.milliseconds + 2
            let forgotten = try await registry.reports(now: later).get()
            #expect(forgotten.isEmpty)
            try await registry.report("three", [], followed: [:], now: later).get()
            try await becomes("only who speaks is kept") {
                try await client.send(["ZRANGEBYSCORE", "gateways", "-inf", "+inf"]).get().array?.compactMap(\.text)
                    == ["three"]
            }
        }
    }
}

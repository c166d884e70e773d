import Embedded
import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// The facts that are read for an explanation, from real servers.
@Suite struct FactsCollectorTests {
    private static let settings = LiveStateSettings()
    private static let keyspace = Keyspace()

    private static func collector(_ live: RedisClient, _ ledger: RedisClient) -> FactsCollector {
        FactsCollector(
            live: live, ledger: ledger, settings: Self.settings, accessPages: 5, rereadDelay: .milliseconds(1),
            now: { 0 })
    }

    private static let open = [
        "status": "on_the_way", "kind": "service", "customer": "anna", "rider": "rider-1", "epoch": "e", "head": "1-0",
        "status_at": "1795000000000",
    ]

    /// A job with a follower, a link and revocations, and its rider, written with commands only.
    private static func fill(_ live: RedisClient, _ ledger: RedisClient) async throws {
        for (name, value) in self.open { try await ledger.run("HSET", "job:{job-7}", name, value) }
        try await live.run("SET", "job:{job-7}:travel", "2 1995000000000 rider-1")
        let registry = GatewayRegistry(live: live, settings: Self.settings)
        let facts = Array(#"{"name":"g1","state":"serving","more":[1]}"#.utf8)
        try await registry.report(
            "g1-x", facts, followed: [Stage.job: 2], riders: [Stage.rider: 1], now: 1_795_000_000_000
        ).get()
        let link = String(repeating: "b", count: 32)
        try await ledger.run(
            "HSET", "link:{\(link)}", "job", "job-7", "customer", "anna", "viewers", "5", "expires", "1995000000000")
        try await ledger.run("ZADD", "link:{\(link)}:viewers", "1995000000000", "s2", "1", "s1")
        let streams = AuditStreams(ledger: ledger, settings: Self.settings)
        for (session, hasLeft) in [("s1", true), ("s2", false)] {
            let access = FollowedAccess(
                job: Stage.job, person: PersonID("anna")!, role: "customer", credential: .link, link: link,
                session: session)
            for var entry in hasLeft ? [access.followed, access.left] : [access.followed] {
                entry.stamp(gateway: "g1", at: 1_795_000_000_000, number: "n")
                try await streams.append(entry).get()
            }
        }
        try await ledger.run(
            "XADD", "control", "*", "kind", "user", "id", "anna", "at", "1795000000000", "actor", "a", "reason", "")
        try await ledger.run("SET", "home:{rider-1}", "rome")
        try await ledger.run(
            "HSET", "rider:{rome}:rider-1", "status", "online", "approved", "1", "capacity", "1", "version", "1")
        try await ledger.run("HSET", "rider:{rome}:rider-1:tasks", "job-7", "accepted")
    }

    private static func check(_ collector: FactsCollector) async throws {
        let facts = try await collector.facts(of: Stage.job)
        #expect(facts.failures.isEmpty && facts.malformed.isEmpty, "\(facts.failures) \(facts.malformed)")
        #expect(facts.record.value?.customer.text == "anna" && facts.travel.value?.rider == Stage.rider)
        #expect(facts.now > 1_700_000_000_000)
        let gateway = try #require(facts.watching.gateways.value?.first)
        #expect(gateway.health == .value(.init(name: "g1", state: "serving")) && gateway.followers == .value(2))
        #expect(facts.watching.sessions.value?.map(\.session) == ["s2"])
        #expect(facts.links.count == 1 && facts.links[0].viewers == .value(1))
        #expect(facts.links[0].link.value?.mostViewers == 5)
        #expect(facts.revocations.people[PersonID("anna")!] == 1_795_000_000_000)
        #expect(facts.watching.feedSubscribers == .value(0))
        #expect(facts.liveKeys.master != nil && facts.liveKeys.slot == nil)
        let rider = try await collector.facts(of: Stage.rider)
        #expect(rider.failures.isEmpty && rider.malformed.isEmpty, "\(rider.failures) \(rider.malformed)")
        #expect(rider.record.value?.tasks == [Stage.job: .accepted] && rider.zone.value?.text == "rome")
        #expect(rider.jobs.map(\.job) == [Stage.job] && rider.jobs[0].travel.value?.rider == Stage.rider)
        #expect(rider.watching.gateways.value?.first?.riderSessions == .value(1))
    }

    @Test func `a job and a rider are read from one instance`() async throws {
        try await withRedis { client, _ in
            try await Self.fill(client, client)
            try await Self.check(Self.collector(client, client))
            let before = try await client.dump()
            _ = try await Self.collector(client, client).facts(of: Stage.job)
            #expect(try await client.dump() == before, "reading changes nothing")
        }
    }

    @Test(arguments: ["enroute", "operations"])
    func `the users of deploy/redis may read everything`(user: String) async throws {
        try await DeployedRedis.live.run { live in
            try await DeployedRedis.ledger.runBeside { ledger in
                let writers = (
                    try await RedisClient.started(at: live.address(for: "enroute")),
                    try await RedisClient.started(at: ledger.address(for: "enroute"))
                )
                defer { writers.0.stop(); writers.1.stop() }
                try await Self.fill(writers.0, writers.1)
                let readers = (
                    try await RedisClient.started(at: live.address(for: user)),
                    try await RedisClient.started(at: ledger.address(for: user))
                )
                defer { readers.0.stop(); readers.1.stop() }
                try await Self.check(Self.collector(readers.0, readers.1))
                let collector = Self.collector(readers.0, readers.1)
                #expect(try await collector.isJob("job-7"))
                #expect(try await collector.isRider("rider-1"))
                #expect(try await collector.openJobs().isEmpty)
                #expect(try await collector.onlineRiders().isEmpty)
            }
        }
    }

    @Test func `open jobs from before a rider entered the zone are read until the rider has been online`() async throws
    {
        try await withRedis { client, _ in
            try await Self.fill(client, client)
            try await client.run("DEL", "rider:{rome}:rider-1:tasks")
            try await client.run("HSET", "rider:{rome}:rider-1", "status", "offline")
            for (name, value) in Self.open { try await client.run("HSET", "job:{job-8}", name, value) }
            try await client.run("HSET", "job:{job-8}", "status", "completed")
            try await client.run("ZADD", "jobs:rider:{rider-1}", "1", "job-7", "2", "job-8", "3", "job-9")
            let collector = Self.collector(client, client)
            let (job, rider) = (try await collector.facts(of: Stage.job), try await collector.facts(of: Stage.rider))
            #expect(job.riderZone.value?.text == "rome" && job.isRiderJoining == .value(true))
            #expect(rider.isJoining == .value(true) && rider.jobs.map(\.job) == [Stage.job])
            #expect(rider.jobs.first?.state == nil)
            for change in [
                ["HSET", "rider:{rome}:rider-1", "joined", "1"], ["HSET", "job:{job-7}", "status", "completed"],
            ] {
                _ = try await client.send(RedisCommand(change.map { .text($0) })).get()
                #expect(try await collector.facts(of: Stage.job).isRiderJoining.value != true)
            }
            #expect(try await collector.facts(of: Stage.rider).jobs.isEmpty)
        }
    }

    private static let link = "link:{" + String(repeating: "b", count: 32) + "}"

    /// Each key, a command that fills it with garbage (`!`), and whether the explanation of the rider reads it.
    private static let keys: [(key: String, command: [String], isOfRider: Bool)] = [
        ("job:{job-7}", ["HSET", "job:{job-7}", "status", "!"], true),
        ("job:{job-7}:log", ["XADD", "job:{job-7}:log", "*", "status", "!"], false),
        ("job:{job-7}:travel", ["SET", "job:{job-7}:travel", "!"], true),
        ("job:{job-7}:position", ["SET", "job:{job-7}:position", "!"], false),
        ("job:{job-7}:eta", ["SET", "job:{job-7}:eta", "!"], false),
        ("job:{job-7}:verdicts", ["HSET", "job:{job-7}:verdicts", "at:accepted", "!"], false),
        ("job:{job-7}:before", ["SET", "job:{job-7}:before", "a b!"], false),
        ("gateways", ["ZADD", "gateways", "inf", "g"], true),
        ("gateway:{g1-x}", ["SET", "gateway:{g1-x}", "!"], true),
        ("gateway:{g1-x}:followed", ["SET", "gateway:{g1-x}:followed", "!"], false),
        ("gateway:{g1-x}:riders", ["SET", "gateway:{g1-x}:riders", "!"], true),
        (Self.link, ["HSET", Self.link, "expires", "!"], false),
        ("control", ["XADD", "control", "*", "kind", "user", "id", "!"], true),
        ("home:{rider-1}", ["SET", "home:{rider-1}", "! !"], true),
        ("rider:{rome}:rider-1", ["HSET", "rider:{rome}:rider-1", "capacity", "!"], true),
        ("rider:{rome}:rider-1:tasks", ["HSET", "rider:{rome}:rider-1:tasks", "job-7", "!"], true),
        ("riders:{rome}:due", ["SET", "riders:{rome}:due", "!"], true),
        ("riders:{rome}:available", ["SET", "riders:{rome}:available", "!"], true),
        ("riders:{rome}:audit", ["SET", "riders:{rome}:audit", "!"], true),
        ("access", ["SET", "access", "!"], true), ("audit", ["SET", "audit", "!"], false),
    ]

    @Test(arguments: Self.keys.indices)
    func `garbage in a key is reported as malformed data of that key`(index: Int) async throws {
        let (key, command, isOfRider) = Self.keys[index]
        try await withRedis { client, _ in
            func malformed() async throws -> (job: [String], rider: [String]) {
                let collector = Self.collector(client, client)
                let (job, rider) = (
                    try await collector.facts(of: Stage.job), try await collector.facts(of: Stage.rider)
                )
                return (job.malformed.map(\.key), rider.malformed.map(\.key))
            }
            for garbage in Self.garbage {
                try await client.run("FLUSHALL")
                try await Self.fill(client, client)
                if command[0] == "SET" { try await client.run("DEL", key) }
                let words = command.map { $0.replacing("!", with: garbage) }
                _ = try await client.send(RedisCommand(words.map { .text($0) })).get()
                let found = try await malformed()
                // The others are valid ids or numbers under some keys.
                guard garbage == "!" else { continue }
                #expect((found.job + found.rider).contains(key), "\(found)")
                #expect(!isOfRider || found.rider.contains(key), "\(found)")
            }
            try await client.run("FLUSHALL")
            try await Self.fill(client, client)
            try await client.run("DEL", key)
            try await client.run("RPUSH", key, "a list")
            let found = try await malformed()
            #expect((found.job + found.rider).contains(key), "\(found)")
        }
    }

    @Test func `a follower that left after its gateway's report is not counted, one that left before it is`()
        async throws
    {
        try await withRedis { client, _ in
            let registry = GatewayRegistry(live: client, settings: Self.settings)
            for name in ["g1", "g2"] {
                let facts = Array(#"{"name":"\#(name)","state":"serving"}"#.utf8)
                try await registry.report("\(name)-x", facts, followed: [Stage.job: 2], now: 1_795_000_005_000).get()
            }
            let streams = AuditStreams(ledger: client, settings: Self.settings)
            for (session, gateway, at) in [
                ("s1", "g1", Int64(1_795_000_004_999)), ("s2", "g1", 1_795_000_005_001),
                ("s3", "g2", 1_795_000_005_001), ("s4", "g2", 1_795_000_006_000),
            ] {
                let access = FollowedAccess(
                    job: Stage.job, person: PersonID("anna")!, role: "customer", credential: .token, link: nil,
                    session: session)
                for (var entry, at) in [(access.followed, Int64(1_795_000_000_000)), (access.left, at)] {
                    entry.stamp(gateway: gateway, at: at, number: "n")
                    try await streams.append(entry).get()
                }
            }
            let facts = try await Self.collector(client, client).facts(of: Stage.job).watching
            let gateways = try #require(facts.gateways.value)
            #expect(gateways.map(\.followers) == [.value(2), .value(2)] && gateways.map(\.departed) == [1, 2])
            #expect(gateways.map(\.currentFollowers) == [1, 0] && facts.followers == 1)
        }
    }

    private static let garbage = [
        "!", "\u{FF}\u{1B}[2J", "9223372036854775807", "-1", "nan", String(repeating: "A", count: 70_000),
    ]

    @Test func `without Redis no call fails, and the unavailable role is reported`() async throws {
        let client = try await RedisClient.made(at: RedisAddress(endpoint: .unix(path: "/nowhere.sock")))
        let facts = try await Self.collector(client, client).facts(of: Stage.job)
        #expect(Set(facts.failures.map(\.role)) == [.live, .ledger] && facts.failures.allSatisfy { $0.error.isOutage })
        #expect(facts.now == 0)
    }

    @Test func `sessions are found across pages, at most as many as reported, and a newer entry decides`() async throws
    {
        try await withRedis { client, _ in
            let streams = AuditStreams(ledger: client, settings: Self.settings)
            func access(_ session: String, _ job: String) -> FollowedAccess {
                FollowedAccess(
                    job: JobID(job)!, person: PersonID("anna")!, role: "customer", credential: .token, link: nil,
                    session: session)
            }
            func append(_ entry: AuditEntry) async throws {
                var entry = entry
                entry.stamp(gateway: "g", at: 1, number: "n")
                try await streams.append(entry).get()
            }
            // Started, stopped and started again: this session follows. The other one has stopped.
            for session in ["again", "left"] { try await append(access(session, "job-7").followed) }
            for session in ["again", "left"] { try await append(access(session, "job-7").left) }
            try await append(access("again", "job-7").followed)
            for number in 0..<AuditStreams.page + 3 { try await append(access("s\(number)", "other").followed) }
            let facts = try await Self.collector(client, client).facts(of: Stage.job)
            #expect(facts.watching.sessions.value?.map(\.session) == ["again"])
            #expect(facts.watching.sessionsSince == nil)
        }
    }
}

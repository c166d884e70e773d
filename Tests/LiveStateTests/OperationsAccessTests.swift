import Embedded
import EnrouteWire
import LiveState
import NIOCore
import Redis
import Subprocess
import TestSupport
import Testing

/// The user `operations` of deploy/redis can run everything in lua/README.md, and change nothing.
@Suite struct OperationsAccessTests {
    private static let job = JobID("job-7")!
    private static let rider = PersonID("rider-1")!
    private static let keyspace = Keyspace()

    /// Runs a role with an active job in it, and passes a client of `operations`.
    private static func looking(
        at role: DeployedRedis, _ body: (RedisClient, RedisServer) async throws -> Void
    ) async throws {
        try await role.run { server in
            let gateway = try await RedisClient.started(at: server.address(for: "enroute"))
            defer { gateway.stop() }
            let settings = LiveStateSettings()
            switch role {
            case .ledger:
                let ledger = JobLedger(ledger: gateway, settings: settings)
                let new = NewJob(
                    job: Self.job, kind: .delivery, customer: PersonID("customer-1")!, rider: Self.rider,
                    actor: PersonID("service-1")!)
                _ = try await ledger.create(new, epoch: "epoch-1").get()
                for status in Stage.statusesUntilTransit {
                    _ = try await ledger.publish(status, of: Self.job, by: Self.rider, source: "rest").get()
                }
                _ = try await ledger.startTravel(for: Self.job, by: Self.rider).get()
                _ = try await TrackingLinks(ledger: gateway, settings: settings).issue(
                    for: Self.job, of: PersonID("customer-1")!, by: Self.rider
                )
                .get()
                try await AuditStreams(ledger: gateway, settings: settings)
                    .append(.erased(Self.job, keys: 2, because: .arrived)).get()
                try await Riders(ledger: gateway, settings: settings).setUpTask(Self.job)
            case .live:
                let now = try await gateway.run("TIME").array?.first?.text.flatMap(Int64.init) ?? 0
                let feed = JobFeed(live: gateway, settings: settings)
                _ = try await feed.open(Self.job, for: Self.rider, until: (now + 3600) * 1000, fence: 1).get()
                let fix = Fix(at: now * 1000, place: Coordinate(latitude: 52.5, longitude: 13.4)!)
                _ = try await LocationPublisher(live: gateway, settings: settings)
                    .publish(fix, for: Self.job, by: Self.rider, receivedAt: now * 1000).get()
                _ = try await GeoIndex(live: gateway, settings: settings)
                    .place(Self.rider, in: ZoneStage.zone, at: fix.place).get()
            }
            let operations = try await RedisClient.started(at: server.address(for: "operations"))
            defer { operations.stop() }
            try await body(operations, server)
        }
    }

    @Test(arguments: DeployedRedis.allCases)
    func `the user operations can run every redis-cli example of lua/README.md`(role: DeployedRedis) async throws {
        let heading = role == .ledger ? "Ledger examples" : "Live instance examples"
        let lines = try LuaFolder.commands("sh", below: heading).map(\.line)
        #expect(lines.count >= 4)
        try await Self.looking(at: role) { _, server in
            let client =
                "redis-cli -e -s \(server.socketPath) --user operations --pass \(DeployedRedis.password) --no-auth-warning"
            for line in lines {
                let outcome = try await Subprocess.run(
                    .name("sh"), arguments: ["-c", "alias redis-cli='\(client)'\n\(line)"],
                    output: .string(limit: 65_536), error: .combinedWithOutput)
                #expect(outcome.terminationStatus.isSuccess, "\(line): \(outcome.standardOutput)")
                #expect(!outcome.standardOutput.contains("NOPERM"), "\(line): \(outcome.standardOutput)")
            }
        }
    }

    @Test(arguments: DeployedRedis.allCases)
    func `the user operations can read settings, load and clients`(role: DeployedRedis) async throws {
        try await Self.looking(at: role) { client, _ in
            for line in [
                "INFO", "CONFIG GET save", "CLIENT LIST", "SLOWLOG GET", "LATENCY LATEST", "DBSIZE", "ROLE",
                "ACL WHOAMI",
                "PUBSUB SHARDNUMSUB x", "SCAN 0",
            ] {
                _ = try await client.send(RedisCommand(line.split(separator: " ").map { .text(String($0)) })).get()
            }
        }
    }

    @Test(arguments: DeployedRedis.allCases)
    func `the user operations cannot change, subscribe to or stop anything`(role: DeployedRedis) async throws {
        let key = role == .live ? Self.keyspace.position(of: Self.job) : Self.keyspace.job(Self.job)
        let channel = role == .live ? Self.keyspace.feed(of: Self.job) : Self.keyspace.events(of: Self.job)
        try await Self.looking(at: role) { client, _ in
            for words in [
                ["SET", key, "1"], ["DEL", key], ["UNLINK", key], ["EXPIRE", key, "1"], ["PERSIST", key],
                ["HSET", key, "a", "1"], ["XADD", key, "*", "a", "1"], ["GETDEL", key], ["RENAME", key, key + "2"],
                ["COPY", key, key + "2"], ["EVAL", "return 1", "0"], ["EVALSHA", "x", "0"], ["FUNCTION", "LIST"],
                ["PUBLISH", channel, "x"], ["SPUBLISH", channel, "x"], ["SUBSCRIBE", channel],
                ["SSUBSCRIBE", channel], ["PSUBSCRIBE", "*"], ["MONITOR"], ["KEYS", "*"], ["FLUSHALL"], ["FLUSHDB"],
                ["CONFIG", "SET", "save", ""], ["CONFIG", "REWRITE"], ["ACL", "LIST"],
                ["ACL", "SETUSER", "operations"],
                ["CLIENT", "KILL", "ID", "1"], ["CLIENT", "PAUSE", "1"], ["SHUTDOWN"], ["SAVE"], ["BGSAVE"],
                ["REPLICAOF", "NO", "ONE"], ["CLUSTER", "RESET"], ["SLOWLOG", "RESET"], ["MULTI"], ["GET", "other"],
                ["HGETALL", "other"], ["OBJECT", "ENCODING", "other"],
            ] {
                let error = await failure(of: client.send(RedisCommand(words.map { .text($0) })))
                guard case .refused("NOPERM", _)? = error else {
                    Issue.record("\(words): \(error as Any)")
                    continue
                }
            }
            let isThere = try await client.run("EXISTS", key)
            #expect(isThere == .integer(1))
        }
    }
}

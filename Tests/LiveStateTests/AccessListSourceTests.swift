import FoundationEssentials
import TestSupport
import Testing

/// The access lists of deploy/redis compared with the sources: exactly the commands that scripts and gateways use are allowed.
@Suite struct AccessListSourceTests {
    /// Commands that a role's list allows a user: lower case, subcommands after a bar.
    private func allowed(_ user: String, at role: DeployedRedis) throws -> Set<String> {
        let lines = try DeployedRedis.text("\(role.rawValue).acl").split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("user \(user) ") })
        return Set(line.split(separator: " ").filter { $0.hasPrefix("+") }.map { String($0.dropFirst()) })
    }

    /// The commands that the scripts of a role call.
    private func scripted(at role: DeployedRedis) throws -> Set<String> {
        var commands: Set<String> = []
        for (_, text) in try LuaFolder.scripts() where text.contains("-- Role     \(role.rawValue)\n") {
            for match in text.matches(of: /redis\.p?call\('([A-Z]+)'/) { commands.insert(match.1.lowercased()) }
        }
        return commands
    }

    /// The commands that appear in a file: `send(["GET"`, `send(["CLUSTER", "SLOTS"`, `[.text("EVAL")`, `case a =
    /// "SSUBSCRIBE"`.
    private func spelled(in path: String) throws -> Set<String> {
        let root = DeployedRedis.folder + "/../../"
        let bytes = try #require(FileManager.default.contents(atPath: root + path), "\(path)")
        let text = String(decoding: bytes, as: UTF8.self)
        let words = /(?:send\(\s*\[|RedisCommand\(\[\.text\(|case [a-z]+ =)\s*"([A-Z]+)"(?:, "([A-Z]+)")?/
        return Set(
            text.matches(of: words).map { match in
                match.1 == "CLUSTER" ? "cluster|\(match.2 ?? "")".lowercased() : match.1.lowercased()
            })
    }

    /// The commands that `enroute explain` sends: `self.live.reading(["GET"`, and `client.reading(["ROLE"` to both roles.
    private func explained(at role: DeployedRedis) throws -> Set<String> {
        let folder = DeployedRedis.folder + "/../../Sources/LiveState/Explanation"
        let calls = /(\w+)\.reading\(\s*\[\s*"([A-Z]+)"(?:, "([A-Z]+)")?/
        var commands: Set<String> = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let bytes = try #require(FileManager.default.contents(atPath: "\(folder)/\(name)"))
            for match in String(decoding: bytes, as: UTF8.self).matches(of: calls)
            where match.1 == role.rawValue || match.1 == "client" {
                commands.insert(match.3.map { "\(match.2)|\($0)" }?.lowercased() ?? match.2.lowercased())
            }
        }
        #expect(commands.isSuperset(of: ["get", "time", "role", "pubsub|shardnumsub", "cluster|slots"]))
        return commands
    }

    private static let ownCalls: [DeployedRedis: [String]] = [
        .live: [
            "Sources/LiveState/Jobs/JobFeed.swift", "Sources/LiveState/Jobs/ETAStore.swift",
            "Sources/LiveState/Riders/StopSequenceStore.swift", "Sources/LiveState/Access/Tickets.swift",
            "Sources/LiveState/Riders/GeoIndex.swift", "Sources/LiveState/Jobs/ValidationSummaryStore.swift",
            "Sources/LiveState/Access/SignInCodes.swift", "Sources/LiveState/Operations/GatewayRegistry.swift",
            "Sources/LiveState/Operations/ClockReading.swift",
        ],
        .ledger: [
            "Sources/LiveState/Jobs/JobLedger.swift", "Sources/LiveState/Jobs/JobHead.swift",
            "Sources/LiveState/Access/RevocationLog.swift", "Sources/LiveState/Access/TrackingLinks.swift",
            "Sources/LiveState/Operations/AuditStreams.swift", "Sources/LiveState/Riders/RiderPresence.swift",
            "Sources/LiveState/Riders/RiderProfiles.swift", "Sources/LiveState/Riders/RiderTasks.swift",
            "Sources/LiveState/Riders/ZonePool.swift", "Sources/LiveState/Operations/ZoneJobs.swift",
            "Sources/LiveState/Operations/ZoneOverview.swift", "Sources/LiveState/Operations/PersonJobs.swift",
            "Sources/LiveState/Jobs/JobErasure.swift", "Sources/LiveState/Events/EventStreams.swift",
            "Sources/LiveState/Events/EventForwarder.swift", "Sources/LiveState/Webhooks/WebhookStore.swift",
            "Sources/LiveState/Webhooks/WaitingEvents.swift", "Sources/LiveState/Webhooks/UndeliveredEvents.swift",
            "Sources/LiveState/Events/EventErasure.swift", "Sources/LiveState/Operations/ClockReading.swift",
        ],
    ]

    /// Commands that every connection sends, in both roles. Sentinels receive other commands, from other users.
    private static let connections = [
        "RedisChannelHandler", "RedisLink", "RedisSignIn", "RedisScript", "ReplicationMonitor", "ClusterRoute",
        "ClusterCommands",
    ].map { "Sources/Redis/\($0).swift" }

    /// Commands that are sent only to Sentinels.
    private static let ofSentinels: Set = ["subscribe"]

    /// Commands that are allowed although no source uses them today, each with its reason.
    private static let reserved: [String: String] = [
        "client|id": "a connection finds itself in CLIENT LIST", "client|setname": "and is found there by people",
        "acl|dryrun": "`enroute check` asks whether the ledger may load what it has appended",
        "cluster|shards": "what takes the place of CLUSTER SLOTS in later versions",
    ]

    private func needed(at role: DeployedRedis) throws -> Set<String> {
        var commands = try self.scripted(at: role)
        for path in Self.connections + (Self.ownCalls[role] ?? []) { commands.formUnion(try self.spelled(in: path)) }
        return commands.union(try self.explained(at: role)).subtracting(Self.ofSentinels)
    }

    @Test func `the sources can be parsed`() throws {
        #expect(try self.scripted(at: .live).isSuperset(of: ["get", "set", "del", "time", "spublish"]))
        #expect(try self.scripted(at: .ledger).isSuperset(of: ["hmget", "hset", "xadd", "xrange", "pexpire"]))
        #expect(try self.needed(at: .live).isSuperset(of: ["mget", "evalsha", "eval", "ping", "select", "ssubscribe"]))
        #expect(try self.needed(at: .ledger).isSuperset(of: ["evalsha", "role", "wait", "cluster|slots", "asking"]))
    }

    @Test(arguments: DeployedRedis.allCases)
    func `the gateway's user may run every command in the sources`(role: DeployedRedis) throws {
        // Every user may run these before it has signed in.
        let open: Set = ["auth", "hello", "quit", "reset"]
        let missing = try self.needed(at: role).subtracting(self.allowed("enroute", at: role)).subtracting(open)
        #expect(missing.isEmpty)
    }

    @Test(arguments: DeployedRedis.allCases)
    func `I5: the gateway's user may run only commands in the sources`(role: DeployedRedis) throws {
        let superfluous = try self.allowed("enroute", at: role).subtracting(self.needed(at: role))
            .subtracting(Self.reserved.keys)
        #expect(superfluous.isEmpty)
    }

    @Test(arguments: DeployedRedis.allCases)
    func `no user has whole categories, other users' keys or all channels`(role: DeployedRedis) throws {
        for line in try DeployedRedis.text("\(role.rawValue).acl").split(separator: "\n")
        where !self.isAdmin(line) && !self.isLoader(line, at: role) {
            let words = line.split(separator: " ")
            #expect(
                words.contains("-@all") && words.contains("resetkeys") && words.contains("resetchannels"), "\(line)")
            let wide = words.filter {
                $0.hasPrefix("+@") || ["~*", "&*", "allkeys", "allchannels", "nopass"].contains($0)
            }
            #expect(wide.isEmpty, "\(line)")
        }
    }

    private func isAdmin(_ line: Substring) -> Bool { line.hasPrefix("user admin ") }

    /// The user as which the ledger loads its append-only file, and as which no client can sign in.
    private func isLoader(_ line: Substring, at role: DeployedRedis) -> Bool {
        role == .ledger && line == "user default off resetpass ~* &* +@all"
    }

    @Test(arguments: DeployedRedis.allCases)
    func `the repository contains no password`(role: DeployedRedis) throws {
        for word in try DeployedRedis.text("\(role.rawValue).acl").split(whereSeparator: { $0.isWhitespace }) {
            #expect(!word.hasPrefix(">") && !word.hasPrefix("#") && word != "nopass")
        }
    }

    @Test func `both roles have the same users`() throws {
        let users = try DeployedRedis.allCases.map { role in
            try DeployedRedis.text("\(role.rawValue).acl").split(separator: "\n").map { $0.split(separator: " ")[1] }
        }
        #expect(users[0] == users[1])
        #expect(users[0] == ["default", "enroute", "operations", "replica", "sentinel", "admin"])
    }
}

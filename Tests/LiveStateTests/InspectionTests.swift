import LiveState
import Redis
import Testing

/// The rules that turn facts into findings, without a server.
@Suite struct InspectionTests {
    private static let info: [RedisRole: String] = [
        .live: """
        # Server\r
        redis_version:7.0.15\r
        run_id:aaaa\r
        config_file:/etc/redis/redis-live.conf\r
        used_memory:2097152\r
        maxmemory:536870912\r
        maxmemory_policy:volatile-ttl\r
        evicted_keys:0\r
        rdb_saves:0\r
        aof_enabled:0\r
        role:master\r
        connected_slaves:1\r
        connected_clients:12\r
        cluster_connections:0\r
        maxclients:10000\r
        """,
        .ledger: """
        redis_version:7.0.15\r
        run_id:bbbb\r
        config_file:\r
        used_memory:2147483900\r
        mem_not_counted_for_evict:256\r
        maxmemory:2147483648\r
        maxmemory_policy:noeviction\r
        rdb_saves:3\r
        aof_enabled:1\r
        role:master\r
        connected_slaves:1\r
        connected_clients:12\r
        cluster_connections:0\r
        maxclients:10000\r
        """,
    ]

    private static let settings: [RedisRole: [String: String]] = [
        .live: [
            "save": "", "appendonly": "no", "slowlog-log-slower-than": "-1", "repl-diskless-sync": "yes",
            "repl-diskless-load": "swapdb", "min-replicas-to-write": "0",
            "client-output-buffer-limit": "normal 0 0 0 slave 268435456 67108864 60 pubsub 67108864 16777216 10",
        ],
        .ledger: [
            "save": "3600 1", "appendonly": "yes", "appendfsync": "everysec", "min-replicas-to-write": "1",
            "client-output-buffer-limit": "normal 0 0 0 slave 0 0 0 pubsub 33554432 8388608 10",
        ],
    ]

    /// Facts of a Redis without any problem.
    private static func good(_ role: RedisRole) -> RedisFacts {
        var facts = RedisFacts(
            role: role, connection: RedisConnectionInfo(RedisAddress(endpoint: .tcp(host: "localhost", port: 6379))),
            info: Self.info[role] ?? "",
            settings: Self.settings[role])
        facts.access = AccessFacts()
        facts.clientDemand = ClientDemand(gateway: 13, loops: 2, inspection: 2)
        facts.clockAheadMilliseconds = 3
        return facts
    }

    @Test(arguments: RedisRole.allCases, DeploymentMode.allCases)
    func `without a problem all findings are ok, and each names what was checked`(
        role: RedisRole, mode: DeploymentMode
    ) {
        let findings = Self.good(role).findings(in: mode)
        #expect(findings.filter { $0.severity != .ok } == [])
        #expect(findings.count >= 9)
        #expect(findings.allSatisfy { $0.role == role && !$0.what.isEmpty })
        #expect(Set(findings.map(\.subject)).count == findings.count)
    }

    /// One problem, and the finding it must cause.
    struct Fault: Sendable, CustomStringConvertible {
        var role: RedisRole
        var description: String
        var subject: Finding.Subject
        var severity: Finding.Severity
        /// Text that the remedy must contain.
        var remedy: String
        var change: @Sendable (inout RedisFacts) -> Void

        init(
            _ role: RedisRole, _ description: String, _ subject: Finding.Subject, _ severity: Finding.Severity,
            _ remedy: String, _ change: @escaping @Sendable (inout RedisFacts) -> Void
        ) {
            (self.role, self.description, self.subject, self.severity) = (role, description, subject, severity)
            (self.remedy, self.change) = (remedy, change)
        }
    }

    private static func set(_ name: String, _ value: String) -> @Sendable (inout RedisFacts) -> Void {
        { $0.settings?[name] = value }
    }

    private static func says(_ field: String, _ value: String) -> @Sendable (inout RedisFacts) -> Void {
        { $0.info[field] = value }
    }

    private static let pubsub = "client-output-buffer-limit"

    static let faults: [Fault] = [
        Fault(.live, "snapshots", .persistence, .error, "CONFIG SET save ''", set("save", "3600 1 300 100")),
        Fault(.live, "append-only file", .persistence, .error, "CONFIG SET appendonly no", says("aof_enabled", "1")),
        Fault(.live, "a snapshot, settings unseen", .persistence, .error, "`save \"\"` in /etc/redis/redis-live.conf") {
            ($0.settings, $0.info["rdb_saves"]) = (nil, "1")
        },
        Fault(
            .live, "master sends by file", .copies, .error, "repl-diskless-sync yes", set("repl-diskless-sync", "no")),
        Fault(.live, "replica loads by file, none there", .copies, .warning, "repl-diskless-load swapdb") {
            $0.settings?["repl-diskless-load"] = "disabled"
            $0.info["connected_slaves"] = "0"
        },
        Fault(.live, "no eviction", .eviction, .warning, "volatile-ttl", says("maxmemory_policy", "noeviction")),
        Fault(.live, "LRU of all", .eviction, .warning, "volatile-ttl", says("maxmemory_policy", "allkeys-lru")),
        Fault(.live, "no bound", .memory, .warning, "CONFIG SET maxmemory 512mb", says("maxmemory", "0")),
        Fault(.live, "was full", .memory, .warning, "CONFIG SET maxmemory 1024mb", says("evicted_keys", "9")),
        Fault(.live, "full", .memory, .warning, "CONFIG SET maxmemory 1025mb", says("used_memory", "536870913")),
        Fault(.ledger, "full", .memory, .error, "CONFIG SET maxmemory 4097mb", says("used_memory", "2147483905")),
        Fault(
            .live, "limit below a megabyte", .memory, .warning, "CONFIG SET maxmemory 4mb", says("maxmemory", "1000")),
        Fault(.live, "slow log", .slowlog, .warning, "slowlog-log-slower-than -1", set("slowlog-log-slower-than", "0")),
        Fault(.live, "buffer without end", .buffers, .warning, "pubsub 64mb 16mb 10", set(pubsub, "pubsub 0 0 0")),
        Fault(.live, "small hard buffer", .buffers, .warning, "pubsub 64mb", set(pubsub, "pubsub 1000000 0 0")),
        Fault(.ledger, "small soft buffer", .buffers, .warning, "pubsub 32mb", set(pubsub, "pubsub 99999999 4096 60")),
        Fault(.live, "settings unseen", .settings, .warning, "the live admin URL") { $0.settings = nil },
        Fault(.ledger, "settings unseen", .settings, .warning, "the ledger admin URL") { $0.settings = nil },
        Fault(.live, "admin elsewhere", .settings, .error, "the live admin URL") { $0.isAdminElsewhere = true },
        Fault(.ledger, "admin elsewhere", .settings, .error, "the ledger admin URL") { $0.isAdminElsewhere = true },
        Fault(.live, "old", .version, .error, "7.0", says("redis_version", "6.2.14")),
        Fault(.live, "unknown version", .version, .error, "7.0", says("redis_version", "")),
        Fault(.ledger, "replica", .master, .error, "10.0.0.5:6380") {
            ($0.info["role"], $0.info["master_host"], $0.info["master_port"]) = ("slave", "10.0.0.5", "6380")
        },
        Fault(.live, "too narrow", .access, .error, "live.acl") { $0.access?.missing = ["GET x"] },
        Fault(.ledger, "too wide", .access, .warning, "ledger.acl") { $0.access?.excessive = ["FLUSHALL"] },
        Fault(.live, "commands unknown", .access, .error, "rename-command") { $0.access?.unknown = ["EVAL"] },
        Fault(.live, "too few clients", .clients, .error, "CONFIG SET maxclients 10000", says("maxclients", "12")),
        Fault(.ledger, "no room for a gateway", .clients, .warning, "CLIENT LIST", says("maxclients", "23")),
        Fault(.ledger, "a bus without room", .clients, .warning, "CLIENT LIST") {
            ($0.info["cluster_connections"], $0.info["maxclients"]) = ("1", "24")
        },
        Fault(.live, "clock before", .clock, .warning, "set-ntp true") { $0.clockAheadMilliseconds = 201 },
        Fault(.live, "clock behind", .clock, .warning, "set-ntp true") { $0.clockAheadMilliseconds = -201 },
        Fault(.ledger, "clock far off", .clock, .error, "set-ntp true") { $0.clockAheadMilliseconds = -30_000 },
        Fault(.live, "plaintext", .encryption, .warning, "rediss://") {
            $0.connection = RedisConnectionInfo(RedisAddress(endpoint: .tcp(host: "10.0.0.5", port: 6379)))
        },
        Fault(.ledger, "nothing on disk", .persistence, .error, "CONFIG SET appendonly yes") {
            $0.info["aof_enabled"] = "0"
            $0.settings?["save"] = ""
        },
        Fault(.ledger, "snapshots only", .persistence, .warning, "CONFIG SET appendonly yes", says("aof_enabled", "0")),
        Fault(.ledger, "no fsync", .persistence, .warning, "appendfsync everysec", set("appendfsync", "no")),
        Fault(.ledger, "evicts", .eviction, .error, "noeviction", says("maxmemory_policy", "allkeys-lru")),
        Fault(.ledger, "would evict", .eviction, .warning, "noeviction") {
            ($0.info["maxmemory"], $0.info["maxmemory_policy"]) = ("0", "volatile-lru")
        },
        Fault(.ledger, "alone", .replicas, .warning, "replicaof") {
            $0.info["connected_slaves"] = "0"
            $0.settings?["min-replicas-to-write"] = "0"
        },
        Fault(.ledger, "waits for no replica", .replicas, .warning, "CONFIG SET min-replicas-to-write 1") {
            $0.settings?["min-replicas-to-write"] = "0"
        },
        Fault(.ledger, "waits for too many", .replicas, .error, "CONFIG SET min-replicas-to-write 1") {
            $0.settings?["min-replicas-to-write"] = "2"
        },
        Fault(.ledger, "a frozen replica", .replicas, .error, "CONFIG SET min-replicas-to-write 0") {
            $0.info["min_slaves_good_slaves"] = "0"
        },
    ]

    /// Ten others and a replica are connected, and a gateway opens 13 connections.
    @Test func `the connections of the inspection itself do not count`() {
        var facts = Self.good(.ledger)
        facts.info["maxclients"] = "24"
        let finding = facts.findings(in: .production).first { $0.subject == .clients }
        #expect(finding?.severity == .ok, "\(finding as Any)")
        #expect(finding?.what.contains("accepts 24 clients, 11 are connected") == true, "\(finding as Any)")
        facts.clientDemand = nil
        #expect(facts.findings(in: .production).allSatisfy { $0.subject != .clients })
    }

    @Test(arguments: faults)
    func `in production each fault causes exactly one finding, with a reason and a remedy`(fault: Fault) throws {
        var facts = Self.good(fault.role)
        fault.change(&facts)
        let findings = facts.findings(in: .production)
        let wrong = findings.filter { $0.severity != .ok && ($0.subject != .settings || fault.subject == .settings) }
        let finding = try #require(wrong.first)
        #expect(wrong.count == 1, "\(wrong.map(\.what))")
        #expect((finding.subject, finding.severity) == (fault.subject, fault.severity))
        #expect(finding.remedy.contains(fault.remedy), "\(finding.remedy)")
        #expect(!finding.why.isEmpty)
        // Problems come before the other findings.
        #expect(findings.first?.severity == fault.severity || facts.settings == nil)
    }

    @Test func `B36: an instance that holds jobs gets no remedy for the live role`() {
        for (setting, value) in [("maxmemory_policy", "noeviction"), ("maxmemory", "0"), ("aof_enabled", "1")] {
            var facts = Self.good(.live)
            facts.info[setting] = value
            facts.settings?["slowlog-log-slower-than"] = "0"
            facts.keys = [.ledger]
            let remedies = facts.findings(in: .production).map(\.remedy).joined()
            #expect(!remedies.contains("CONFIG SET") && !remedies.contains("delete"), "\(remedies)")
        }
    }

    @Test func `full memory of the live Redis is an error when nothing may be evicted`() {
        for (policy, severity) in [("noeviction", Finding.Severity.error), ("volatile-ttl", .warning)] {
            var facts = Self.good(.live)
            (facts.info["used_memory"], facts.info["maxmemory_policy"]) = ("536870913", policy)
            let memory = facts.findings(in: .production).first { $0.subject == .memory }
            #expect(memory?.severity == severity)
            #expect(memory?.what == "Memory is full: 536870913 bytes are used, and the limit is 536870912.")
        }
    }

    @Test func `B20: the clock finding says whether Redis is ahead of or behind this machine`() {
        for (milliseconds, words) in [(Int64(300), "300 ms ahead of"), (-300, "300 ms behind")] {
            var facts = Self.good(.live)
            facts.clockAheadMilliseconds = milliseconds
            let clock = facts.findings(in: .production).first { $0.subject == .clock }
            #expect(clock?.what == "The Redis server's clock is \(words) this machine's.")
        }
    }

    @Test func `in development a risk to personal data is not an error`() {
        let risks = Self.faults.filter { [.persistence, .copies].contains($0.subject) && $0.severity == .error }
        #expect(risks.count >= 4)
        for fault in risks {
            var facts = Self.good(fault.role)
            fault.change(&facts)
            #expect(facts.findings(in: .development).allSatisfy { $0.severity != .error }, "\(fault)")
        }
    }

    @Test func `without the settings, the counters of INFO are not reported as proof`() {
        var facts = Self.good(.live)
        facts.settings = nil
        let finding = facts.livePersistence(in: .production)
        #expect(finding.severity == .ok)
        #expect(finding.what == "No snapshot has been written to disk since the server started.")
    }

    @Test(arguments: [("0", Finding.Severity.error), ("1", .ok)])
    func `without the settings, a ledger that has no recent replica is still an error`(
        recent: String, severity: Finding.Severity
    ) {
        var facts = Self.good(.ledger)
        (facts.settings, facts.info["min_slaves_good_slaves"]) = (nil, recent)
        let finding = facts.findings(in: .production).first { $0.subject == .replicas }
        #expect(finding?.severity == severity, "\(finding as Any)")
        let words = "Writes require replicas, but only 0 of 1 connected ones have answered recently."
        #expect(severity == .ok || finding?.what == words)
    }

    @Test func `one instance for both roles is an error in production, and ok in development`() {
        var live = Self.good(.live)
        let ledger = Self.good(.ledger)
        // For example two nodes of one cluster.
        #expect(separationFinding(live, ledger, in: .production)?.severity == .error)
        live.connection.name = "another"
        #expect(separationFinding(live, ledger, in: .production)?.severity == .ok)
        #expect(separationFinding(live, live, in: .production)?.severity == .error)
        #expect(separationFinding(live, live, in: .development)?.severity == .ok)
    }

    @Test(arguments: [
        (
            "redis://localhost", RedisConnectionInfo.Transport.sameMachine, "redis-cli -h localhost -p 6379",
            "localhost:6379"
        ),
        ("redis://a:p%40ss@127.0.0.1:7000/2", .sameMachine, "redis-cli -h 127.0.0.1 -p 7000", "127.0.0.1:7000"),
        ("redis://[::1]:7000", .sameMachine, "redis-cli -h ::1 -p 7000", "[::1]:7000"),
        (
            "redis://user:secret@redis.example:6380", .plaintext, "redis-cli -h redis.example -p 6380",
            "redis.example:6380"
        ),
        ("rediss://10.0.0.5", .encrypted, "redis-cli -h 10.0.0.5 -p 6379 --tls", "10.0.0.5:6379"),
        ("rediss://a:1?ca=/ca.pem", .encrypted, "redis-cli -h a -p 1 --tls --cacert /ca.pem", "a:1"),
        ("unix:/run/redis.sock?database=2", .sameMachine, "redis-cli -s /run/redis.sock", "unix:/run/redis.sock"),
        ("redis+sentinel://u:p@[::1]:1/m", .plaintext, "redis-cli -h HOST -p PORT", "m of the Sentinels [::1]:1"),
        ("redis+cluster://u:p@[::1]:1", .sameMachine, "redis-cli -h HOST -p PORT", "the cluster of [::1]:1"),
        ("redis+cluster://[::1]:1,h2", .plaintext, "redis-cli -h HOST -p PORT", "the cluster of [::1]:1,h2:6379"),
    ])
    func `the connection to a Redis is described by its URL, without the password`(
        url: String, transport: RedisConnectionInfo.Transport, commandLine: String, name: String
    ) throws {
        let connection = RedisConnectionInfo(try RedisAddress(url: url))
        #expect((connection.transport, connection.commandLine, connection.name) == (transport, commandLine, name))
    }

    @Test(arguments: [
        (
            "redis+sentinel://h:1,i:2/m", "redis-cli -h 127.0.0.1 -p 7",
            "redis-cli -h h -p 1 SENTINEL GET-MASTER-ADDR-BY-NAME m"
        ),
        ("redis+cluster://h:1,i:2", "redis-cli -h 127.0.0.1 -p 7", "redis-cli -h h -p 1 CLUSTER SLOTS"),
        ("redis://127.0.0.1:7", "redis-cli -h 127.0.0.1 -p 7", "redis-cli -h 127.0.0.1 -p 7 PING"),
    ])
    func `the command line names the inspected master, and the connection test finds it through the URL`(
        url: String, commandLine: String, test: String
    ) throws {
        let address = try RedisAddress(url: url)
        let connection = RedisConnectionInfo(address, at: address.at(RedisAddress.Node(host: "127.0.0.1", port: 7)))
        #expect((connection.commandLine, connection.connectionTest) == (commandLine, test))
        #expect((connection.transport, connection.name) == (.sameMachine, address.description))
    }
}

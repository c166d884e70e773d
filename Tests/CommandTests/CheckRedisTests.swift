import Foundation
import LiveState
import Redis
import TestSupport
import Testing

/// `enroute check` and the check before the start, with Redis servers whose state affects the conclusions: another server
/// behind the admin URL, full memory, masters of a cluster that differ.
@Suite(.needsMachine(for: .faults)) struct CheckRedisTests {
    /// Two servers on TCP ports, live and ledger as in deploy/redis but without an access list.
    private static func both(_ body: (_ live: RedisClient, _ ledger: RedisClient, _ ports: [Int]) async throws -> Void)
        async throws
    {
        let ports = [try await freePort(), try await freePort()]
        func options(_ port: Int) -> [String] { ["--port", "\(port)", "--bind", "127.0.0.1"] }
        try await withServer(configuration: DeployedRedis.live.configurationPath, options: options(ports[0])) { live in
            try await withServer(configuration: DeployedRedis.ledger.configurationPath, options: options(ports[1])) {
                ledger in
                let clients = (
                    try await RedisClient.started(at: live.address), try await RedisClient.started(at: ledger.address)
                )
                defer { clients.0.stop(); clients.1.stop() }
                try await body(clients.0, clients.1, ports)
            }
        }
    }

    private static func urls(_ ports: [Int]) -> [String: String] {
        [
            "ENROUTE_REDIS_LIVE_URL": "redis://127.0.0.1:\(ports[0])",
            "ENROUTE_REDIS_LEDGER_URL": "redis://127.0.0.1:\(ports[1])",
        ]
    }

    // MARK: admin URLs

    @Test
    func `an admin URL of another Redis is an error that names the setting, and does not hide that positions persist`()
        async throws
    {
        try await Self.both { live, _, ports in
            try await live.run("CONFIG", "SET", "save", "1 1")
            try await withServer { other in
                let wrong = Self.urls(ports).merging(["ENROUTE_REDIS_LIVE_ADMIN_URL": other.url]) { $1 }
                let (code, report) = try await CheckTests.check(wrong)
                #expect(code == 78)
                #expect(report.has(.error, .live, .persistence), "\(report.findings)")
                let finding = try #require(report.findings.first { $0.role == .live && $0.subject == .settings })
                #expect(finding.severity == .error && finding.what.contains("ENROUTE_REDIS_LIVE_ADMIN_URL"))
                #expect(
                    finding.remedy.contains("set ENROUTE_REDIS_LIVE_ADMIN_URL to the address of 127.0.0.1:\(ports[0])"))
                let output = try await CheckTests.starts(wrong)
                #expect(!output.contains("listening") && output.contains("stores positions on disk"), "\(output)")
            }
        }
    }

    @Test func `an admin URL of the ledger for live causes no finding about a shared instance`() async throws {
        try await Self.both { _, _, ports in
            let urls = Self.urls(ports)
            let ledger = try #require(urls["ENROUTE_REDIS_LEDGER_URL"])
            let (code, report) = try await CheckTests.check(
                urls.merging(["ENROUTE_REDIS_LIVE_ADMIN_URL": ledger]) { $1 })
            #expect(code == 78)
            let errors = report.findings.filter { $0.severity == .error }
            #expect(errors.map(\.subject) == [.settings], "\(errors)")
            #expect(report.has(.ok, .ledger, .separation))
        }
    }

    // MARK: memory

    @Test func `a ledger without free memory is an error of the check, and does not keep a gateway from starting`()
        async throws
    {
        try await Self.both { _, ledger, ports in
            try await ledger.run("CONFIG", "SET", "maxmemory", "100kb")
            await #expect(throws: RedisError.self) { try await ledger.run("SET", "a", "1") }
            let (code, report) = try await CheckTests.check(Self.urls(ports))
            #expect(code == 78)
            let errors = report.findings.filter { $0.severity == .error }
            #expect(errors.map(\.subject) == [.memory] && errors.first?.role == .ledger, "\(errors)")
            #expect(errors.first?.remedy.contains("-p \(ports[1]) CONFIG SET maxmemory ") == true)
            let output = try await CheckTests.starts(Self.urls(ports))
            #expect(output.contains("listening") && output.contains("Memory is full"), "\(output)")
        }
    }

    @Test func `full memory of the live Redis is an error when it may not evict`() async throws {
        try await Self.both { live, _, ports in
            try await live.run("CONFIG", "SET", "maxmemory", "100kb")
            for (policy, severity) in [("volatile-ttl", Finding.Severity.warning), ("noeviction", .error)] {
                try await live.run("CONFIG", "SET", "maxmemory-policy", policy)
                let (code, report) = try await CheckTests.check(Self.urls(ports))
                #expect(code == (severity == .error ? 78 : 0))
                #expect(report.has(severity, .live, .memory), "\(report.findings)")
            }
        }
    }

    // MARK: clusters and Sentinels

    @Test func `every master of a cluster is checked, and a finding names its master`() async throws {
        try await ClusterFleet.running { fleet in
            let wrong = fleet.nodes[1]
            _ = try await wrong.redis.run("CONFIG", "SET", "save", "1 1")
            let admin = "redis://127.0.0.1:\(fleet.nodes[0].port)"
            for more in [[:], ["ENROUTE_REDIS_LIVE_ADMIN_URL": admin]] {
                let (code, report) = try await CheckTests.check(
                    ["ENROUTE_REDIS_LIVE_URL": fleet.url].merging(more) { $1 })
                #expect(code == 78)
                let errors = report.findings.filter { $0.severity == .error && $0.role == .live }
                #expect(errors.map(\.subject) == [.persistence], "\(errors)")
                #expect(errors.first?.what.hasPrefix("127.0.0.1:\(wrong.port): The live instance stores") == true)
                #expect(
                    errors.first?.remedy.contains("redis-cli -h 127.0.0.1 -p \(wrong.port) CONFIG SET save") == true)
                #expect(report.findings.count { $0.role == .live && $0.subject == .version } == 1)
            }
        }
    }

    @Test func `a remedy behind Sentinels names the master, and an unreachable one the Sentinel to query`() async throws
    {
        try await SentinelFleet.running { fleet in
            let (_, report) = try await CheckTests.check(["ENROUTE_REDIS_LIVE_URL": fleet.url])
            let remedies = report.findings.map(\.remedy).joined(separator: "\n")
            #expect(remedies.contains("redis-cli -h 127.0.0.1 -p "), "\(remedies)")
            #expect(!remedies.contains("HOST"), "\(remedies)")
        }
        let port = try await freePort()
        let (code, report) = try await CheckTests.check([
            "ENROUTE_REDIS_LIVE_URL": "redis+sentinel://127.0.0.1:\(port)/mymaster"
        ])
        #expect(code == 69)
        let remedy = "redis-cli -h 127.0.0.1 -p \(port) SENTINEL GET-MASTER-ADDR-BY-NAME mymaster"
        #expect(report.findings.contains { $0.subject == .connection && $0.remedy.hasPrefix(remedy) })
    }
}

import TestSupport
import Testing

/// Faults of Redis that pass on their own: `enroute serve` waits, because systemd does not restart a gateway that exited with
/// 78.
@Suite(.needsMachine(for: .faults)) struct StartOutageTests {
    private static let settings = [
        "ENROUTE_TLS": "off", "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
        "ENROUTE_EVENT_LOOPS": "1", "ENROUTE_MANAGEMENT": "off", "ENROUTE_LOG_LEVEL": "notice",
    ]

    private static func serve(_ url: String) async throws -> String {
        try await CommandTests.serve(
            Self.settings.merging(["ENROUTE_REDIS_LIVE_URL": url]) { $1 }, until: ["waiting for Redis", "listening"])
    }

    @Test func `a gateway waits for a Redis that has reached its maximum number of clients`() async throws {
        let port = try await freePort()
        try await withRedis(options: ["--port", "\(port)", "--bind", "127.0.0.1"]) { holder, _ in
            try await holder.run("CONFIG", "SET", "maxclients", "1")
            for url in ["redis://127.0.0.1:\(port)", "redis://enroute:hunter2@127.0.0.1:\(port)/2"] {
                let output = try await Self.serve(url)
                #expect(output.contains("waiting for Redis") && !output.contains("listening"), "\(output)")
            }
        }
    }

    /// The connections of the check before the start fit, but not the gateway's: there is room for one fewer than it
    /// opens, because one is the test's.
    @Test(arguments: [(loops: 1, live: 5, ledger: 9), (2, 6, 13), (6, 12, 31)])
    func `a gateway waits for its last connection, starts with it, and the check knows how many it opens`(
        loops: Int, live: Int, ledger: Int
    ) async throws {
        for (count, name) in [(live, "ENROUTE_REDIS_LIVE_URL"), (ledger, "ENROUTE_REDIS_LEDGER_URL")] {
            try await withRedis { _, roomy in
                try await withRedis { holder, tight in
                    try await holder.run("CONFIG", "SET", "maxclients", "\(count)")
                    let settings = Self.settings.merging([
                        "ENROUTE_EVENT_LOOPS": "\(loops)", "ENROUTE_MODE": "development",
                        "ENROUTE_REDIS_LIVE_URL": roomy.url, "ENROUTE_REDIS_LEDGER_URL": roomy.url,
                    ]) { $1 }.merging([name: tight.url]) { $1 }
                    let (_, report) = try await CheckTests.check(settings)
                    let gateway = "a gateway with \(loops == 1 ? "one event loop" : "\(loops) event loops")"
                    let finding = report.findings.first { $0.subject == .clients && $0.severity == .warning }
                    #expect(
                        finding?.what.hasSuffix(
                            "1 are connected, and \(gateway) opens \(count).")
                            == true, "\(report.findings)")
                    let output = try await CommandTests.serve(settings, until: ["enroute: listening"]) { line in
                        guard line.contains("waiting for Redis") else { return }
                        #expect(line.contains("maximum number of clients") || line.contains("closed"), "\(line)")
                        try await holder.run("CONFIG", "SET", "maxclients", "\(count + 1)")
                    }
                    #expect(output.contains("waiting for Redis") && output.contains("listening"), "\(output)")
                }
            }
        }
    }

    @Test func `SIGTERM stops a gateway that waits for its connections to Redis`() async throws {
        try await withRedis { holder, server in
            try await holder.run("CONFIG", "SET", "maxclients", "5")
            let settings = Self.settings.merging([
                "ENROUTE_EVENT_LOOPS": "1", "ENROUTE_MODE": "development", "ENROUTE_REDIS_LIVE_URL": server.url,
            ]) { $1 }
            let outcome = try await CommandTests.terminated(settings, on: "waiting for Redis")
            #expect(outcome.isClean && outcome.output.contains("stopped before the gateway was ready"), "\(outcome)")
        }
    }

    @Test(arguments: ["redis", "rediss"])
    func `a gateway waits for a balancer without a backend`(scheme: String) async throws {
        try await FakePort.running(greeting: nil) { port in
            let output = try await Self.serve("\(scheme)://127.0.0.1:\(port)")
            #expect(output.contains("waiting for Redis") && output.contains("closed the connection"), "\(output)")
        }
    }
}

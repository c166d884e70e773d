import TestSupport
import Testing

/// Faults of Redis that pass on their own: `enroute serve` waits, because systemd does not restart a gateway that exited with
/// 78.
@Suite(.needsMachine(for: .faults)) struct StartOutageTests {
    private static func serve(_ url: String) async throws -> String {
        try await CommandTests.serve(
            [
                "ENROUTE_TLS": "off", "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
                "ENROUTE_EVENT_LOOPS": "1", "ENROUTE_LOG_LEVEL": "warning", "ENROUTE_REDIS_LIVE_URL": url,
            ], until: ["waiting for Redis", "listening"])
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

    @Test(arguments: ["redis", "rediss"])
    func `a gateway waits for a balancer without a backend`(scheme: String) async throws {
        try await FakePort.running(greeting: nil) { port in
            let output = try await Self.serve("\(scheme)://127.0.0.1:\(port)")
            #expect(output.contains("waiting for Redis") && output.contains("closed the connection"), "\(output)")
        }
    }
}

import Redis
import Subprocess
import TestSupport
import Testing

@Suite(.needsMachine(for: .faults)) struct TLSRedisTests {
    @Test func `only a client that trusts the CA is answered`() async throws {
        try await TLSRedis.running { server in
            #expect(try await server.said(to: ["SET", "a", "1"], trusting: server.authorityPath) == "OK")
            #expect(try await server.redis.run("GET", "a").text == "1")
            let other = try TestAuthority().write(into: server.folder, as: "other")
            #expect(try await server.said(to: ["GET", "a"], trusting: other).contains("certificate verify failed"))
        }
    }

    @Test func `a client without the required certificate is rejected, and one with it is accepted`() async throws {
        try await TLSRedis.running(requiresClientCertificate: true) { server in
            let ping = ["PING"]
            #expect(try await server.said(to: ping, trusting: server.authorityPath) != "PONG")
            #expect(try await server.said(to: ping, trusting: server.authorityPath, showing: server.client) == "PONG")
            let foreign = try TestAuthority().issue(.client(name: "mallory"), into: server.folder, as: "foreign")
            #expect(try await server.said(to: ping, trusting: server.authorityPath, showing: foreign) != "PONG")
        }
    }

    @Test func `an expired certificate is rejected`() async throws {
        try await TLSRedis.running(validity: -60) { server in
            let said = try await server.said(to: ["PING"], trusting: server.authorityPath)
            #expect(said.contains("certificate verify failed"))
        }
    }

    @Test func `a client without TLS is disconnected`() async throws {
        try await TLSRedis.running { server in
            try await RawRedis.talking(to: server.endpoint) { connection in
                connection.send(["PING"])
                let reply = try await connection.replies.next()
                #expect(reply == nil)
            }
        }
    }

    @Test func `a crashed server offers TLS again on the same port, and through a proxy`() async throws {
        try await TLSRedis.running { server in
            #expect(try await server.said(to: ["SET", "a", "1"], trusting: server.authorityPath) == "OK")
            try await server.redis.restart()
            #expect(try await server.said(to: ["GET", "a"], trusting: server.authorityPath) == "1")
            try await LossyProxy.running(to: server.endpoint) { proxy in
                let port = try #require(proxy.endpoint.port)
                #expect(try await server.said(to: ["GET", "a"], trusting: server.authorityPath, at: port) == "1")
                #expect(try await proxy.connectionCount == 1)
            }
        }
    }
}

extension TLSRedis {
    /// The output of redis-cli: the reply, or an error.
    fileprivate func said(
        to words: [String], trusting authority: String, showing files: TestAuthority.Files? = nil, at port: Int? = nil
    ) async throws -> String {
        let own = ["-h", "127.0.0.1", "-p", "\(port ?? self.port)", "--tls", "--cacert", authority]
        let shown = files.map { ["--cert", $0.certificate, "--key", $0.key] } ?? []
        let outcome = try await Subprocess.run(
            .name("redis-cli"), arguments: Arguments(own + shown + words), output: .string(limit: Self.maxPrinted),
            error: .combinedWithOutput)
        return outcome.standardOutput.split(separator: "\n").first.map(String.init) ?? ""
    }

    /// Bytes.
    private static let maxPrinted = 65_536
}

import Logging
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import Redis

/// Every failure is reported exactly once, whoever sent the command.
@Suite struct RedisWitnessTests {
    private final class Ear: RedisObserver {
        struct Heard: Sendable {
            var errors: [RedisError] = []
            var refusals: [[String]] = []
            var writes = 0
        }

        private let state = Mutex(Heard())
        let isRefusingWrites = true

        var heard: Heard { self.state.withLock { $0 } }

        func failed(_ error: RedisError) { self.state.withLock { $0.errors.append(error) } }
        func refused(_ names: [String], by command: String) { self.state.withLock { $0.refusals.append(names) } }
        func wrote() { self.state.withLock { $0.writes += 1 } }
    }

    private static func client(_ address: RedisAddress, _ ear: Ear) async throws -> RedisClient {
        let eventLoop = NIOSingletons.posixEventLoopGroup.next()
        let client = try await eventLoop.submit {
            RedisClient(address: address, eventLoop: eventLoop, timing: .patient, logger: .quiet, witness: ear)
        }.get()
        try await client.start().get()
        return client
    }

    @Test func `B35: the observer receives each error once, malformed data as such, and accepted writes`() async throws
    {
        try await withServer { server in
            let ear = Ear()
            let client = try await Self.client(server.address, ear)
            defer { client.stop() }
            try await client.run("RPUSH", "list", "x")
            _ = try? await client.run("NOSUCH", "secret")
            _ = try? await client.run("GET", "list")
            _ = try? await client.run("MGET", "list")
            let script = RedisScript(name: "s", source: Array("return redis.call('GET', KEYS[1])".utf8))
            _ = try? await client.evaluate(script, keys: ["list", "other"], arguments: ["secret"]).get()
            let broken = RedisScript(name: "b", source: Array("return 1 + redis.call('LPOP', KEYS[1])".utf8))
            _ = try? await client.evaluate(broken, keys: ["list"], arguments: []).get()
            #expect(ear.heard.writes == 0)
            try await client.run("SET", "a", "b")
            #expect(ear.heard.writes == 1)
            #expect(ear.heard.errors.count == 1, "\(ear.heard.errors)")
            #expect(ear.heard.refusals == [["list"], ["list", "other"], ["list"]])
        }
    }

    @Test func `a reply that is not RESP reaches the observer and fails the waiting command`() async throws {
        let ear = Ear()
        try await ScriptedServer.running { words in
            words.first == "GET" ? .text("?what is this\r\n") : .ordinary
        } _: { server in
            let client = try await Self.client(server.address, ear)
            defer { client.stop() }
            let error = await failure(of: client.send(["GET", "a"]))
            guard case .protocolViolation? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(ear.heard.errors == [error])
        }
    }

    @Test func `only the keys of a command are reported, never its values`() {
        #expect(RedisCommand(["SET", "key", "secret"]).names == ["key"])
        #expect(RedisCommand(["MGET", "a", "b"]).names == ["a", "b"])
        #expect(RedisCommand(["EVALSHA", "digest", "2", "a", "b", "secret"]).names == ["a", "b"])
        for count in ["-1", "x", "9223372036854775807"] {
            let names = RedisCommand(["EVALSHA", "digest", .text(count), "a"]).names
            #expect(names == (count.first == "9" ? ["a"] : []))
        }
        #expect(RedisCommand([]).names == [] && RedisCommand(["PING"]).names == [])
    }
}

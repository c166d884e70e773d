import Logging
import NIOCore
import TestSupport
import Testing

@testable import Redis

/// Every failure is reported exactly once, whichever code sent the command.
@Suite struct RedisWitnessTests {
    private static func client(_ address: RedisAddress, _ observer: RecordingObserver) async throws -> RedisClient {
        let eventLoop = NIOSingletons.posixEventLoopGroup.next()
        let client = try await eventLoop.submit {
            RedisClient(address: address, eventLoop: eventLoop, timing: .patient, logger: .quiet, witness: observer)
        }.get()
        try await client.start().get()
        return client
    }

    @Test func `a direct command's failure is reported once, unless the command is sent again`() async throws {
        try await withServer { server in
            let observer = RecordingObserver()
            let client = try await Self.client(server.address, observer)
            defer { client.stop() }
            let lines = [
                "NOSCRIPT No matching script", "MOVED 1 127.0.0.1:1", "OOM command not allowed", "WRONGTYPE x",
            ]
            for line in lines {
                client.reportFailure(.failure(RedisError(errorLine: line)), of: ["a", "b"], by: "EVALSHA")
            }
            #expect(observer.received.errors == [RedisError(errorLine: "OOM command not allowed")])
            #expect(observer.received.refusals == [["a", "b"]])
        }
    }

    @Test func `a log line names an unknown command without its arguments`() async throws {
        try await withServer(options: ["--rename-command", "XADD", ""]) { server in
            let client = try await RedisClient.started(at: server.address)
            defer { client.stop() }
            let plain = await failure(of: client.send(["XADD", "jobs:1", "*", "destination", "41.9"]))
            #expect(plain?.withoutArguments == "Redis replied ERR unknown command XADD")
            let script = RedisScript(
                name: "add", source: Array("return redis.call('XADD', ARGV[1], '*', 'f', 'v')".utf8))
            let inside = await failure(of: client.evaluate(script, keys: [], arguments: [.text("jobs:1")]))
            #expect(inside?.withoutArguments == "Redis replied ERR Unknown Redis command called from script")
            #expect(plain?.isUnknownCommand == true && inside?.isUnknownCommand == true)
            let other = await failure(of: client.send(["INCRBY", "a", "destination"]))
            #expect(other?.withoutArguments == "Redis replied ERR" && other?.isUnknownCommand == false)
        }
    }

    @Test func `B35: the observer receives each error once, malformed data as such, and accepted writes`() async throws
    {
        try await withServer { server in
            let observer = RecordingObserver()
            let client = try await Self.client(server.address, observer)
            defer { client.stop() }
            try await client.run("RPUSH", "list", "x")
            _ = try? await client.run("NOSUCH", "secret")
            _ = try? await client.run("GET", "list")
            _ = try? await client.run("MGET", "list")
            let script = RedisScript(name: "s", source: Array("return redis.call('GET', KEYS[1])".utf8))
            _ = try? await client.evaluate(script, keys: ["list", "other"], arguments: ["secret"]).get()
            let broken = RedisScript(name: "b", source: Array("return 1 + redis.call('LPOP', KEYS[1])".utf8))
            _ = try? await client.evaluate(broken, keys: ["list"], arguments: []).get()
            #expect(observer.received.writes == 0)
            try await client.run("SET", "a", "b")
            #expect(observer.received.writes == 1)
            #expect(observer.received.errors.count == 1, "\(observer.received.errors)")
            #expect(observer.received.refusals == [["list"], ["list", "other"], ["list"]])
        }
    }

    @Test func `an outage is observed with its reason, and again when the reason changes`() async throws {
        try await withRedis { admin, server in
            let observer = RecordingObserver()
            let client = try await Self.client(server.address, observer)
            defer { client.stop() }
            #expect(observer.received.events == [])
            try await admin.run("ACL", "SETUSER", "default", "resetpass", ">another")
            try await admin.run("CLIENT", "KILL", "TYPE", "normal")
            let place = server.address.description
            let isRefused = await eventually {
                observer.received.events.contains {
                    guard case .attemptFailed(.authenticationRefused(place, let reason), place) = $0 else {
                        return false
                    }
                    return reason.hasPrefix("NOAUTH")
                }
            }
            #expect(isRefused)
            #expect(observer.received.events.first == .connectionEnded(.connectionLost, at: place))
            server.crash()
            let isUnreachable = await eventually {
                if case .attemptFailed(.unreachable(place, _), place)? = observer.received.events.last {
                    true
                } else {
                    false
                }
            }
            #expect(isUnreachable)
        }
    }

    @Test func `a reply that is not RESP reaches the observer and fails the waiting command`() async throws {
        let observer = RecordingObserver()
        try await ScriptedServer.running { words in
            words.first == "GET" ? .text("?what is this\r\n") : .ordinary
        } _: { server in
            let client = try await Self.client(server.address, observer)
            defer { client.stop() }
            let error = await failure(of: client.send(["GET", "a"]))
            guard case .protocolViolation? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(observer.received.errors == [error])
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

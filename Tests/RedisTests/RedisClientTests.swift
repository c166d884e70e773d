import NIOCore
import TestSupport
import Testing

@testable import Redis

@Suite struct RedisClientTests {
    @Test func `ten thousand pipelined commands are answered in order`() async throws {
        try await withRedis { client, _ in
            let answers = (0..<10_000).map { _ in client.send(["INCR", "n"]) }
            let values = try await EventLoopFuture.whenAllSucceed(answers, on: client.eventLoop).get()
            #expect(values == (1...10_000).map { .integer($0) })
        }
    }

    @Test func `commands from many tasks each get their own answer`() async throws {
        try await withRedis { client, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<8 {
                    group.addTask {
                        for number in 0..<250 {
                            let text = "\(task)-\(number)"
                            let echo = try await client.run("ECHO", text)
                            #expect(echo.text == text)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `every byte value is stored and returned unchanged`() async throws {
        try await withRedis { client, _ in
            let bytes = (UInt8.min...UInt8.max).map { $0 } + Array("\r\n$3\r\n".utf8)
            _ = try await client.send(["SET", .bytes(bytes), .bytes(bytes)]).get()
            #expect(try await client.send(["GET", .bytes(bytes)]).get() == .string(bytes))
        }
    }

    @Test func `replies of every type keep their type`() async throws {
        try await withRedis { client, _ in
            let answer = try await client.run("SET", "a", "1")
            #expect(answer.text == "OK")
            #expect(try await client.run("GET", "missing") == .null)
            #expect(try await client.run("INCR", "a").integer == 2)
            #expect(try await client.run("MGET", "a", "missing") == .array([.string([0x32]), .null]))
            #expect(
                try await client.run("EVAL", "return {1, {'x', {}}, false}", "0")
                    == .array([.integer(1), .array([.string([0x78]), .array([])]), .null]))
        }
    }

    @Test func `an error reply fails with its code and message, and the next command succeeds`() async throws {
        try await withRedis { client, _ in
            let error = await failure(of: client.send(["NOSUCH"]))
            guard case .refused("ERR", let message)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(message.hasPrefix("ERR unknown command 'NOSUCH'"))
            #expect(error?.isOutage == false)
            try await client.run("SET", "a", "x")
            let wrongType = await failure(of: client.send(["LPUSH", "a", "1"]))
            #expect(wrongType?.description.contains("WRONGTYPE") == true)
            #expect(try await client.run("GET", "a").text == "x")
        }
    }

    @Test func `an out-of-memory error counts as an outage`() async throws {
        try await withRedis(options: ["--maxmemory", "1", "--maxmemory-policy", "noeviction"]) { client, _ in
            let error = await failure(of: client.send(["SET", "a", "1"]))
            guard case .refused("OOM", _)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(error?.isOutage == true)
        }
    }

    @Test func `a server busy with a script reports BUSY and continues when the script is killed`() async throws {
        try await withRedis(options: ["--busy-reply-threshold", "10"]) { client, server in
            let other = try await RedisClient.started(at: server.address)
            defer { other.stop() }
            let endless = client.send(["EVAL", "while true do end", "0"])
            var error: RedisError?
            #expect(
                await eventually {
                    error = await failure(of: other.send(["GET", "a"]))
                    return error != nil
                })
            guard case .refused("BUSY", _)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(error?.isOutage == true)
            try await other.run("SCRIPT", "KILL")
            guard case .refused? = await failure(of: endless) else {
                Issue.record("not refused")
                return
            }
            #expect(try await client.run("GET", "a") == .null)
        }
    }

    @Test func `commands beyond the limit of unanswered ones fail, and all others are answered`() async throws {
        try await withRedis { client, _ in
            let bound = 65_536
            let outcomes = try await client.eventLoop.flatSubmit {
                EventLoopFuture.whenAllComplete(
                    (0..<bound + 3).map { _ in client.send(["INCR", "n"]) }, on: client.eventLoop)
            }.get()
            let refused = outcomes.filter { outcome in
                if case .failure(RedisError.overloaded) = outcome { true } else { false }
            }
            // The client's own monitoring command may be among those waiting.
            #expect((3...4).contains(refused.count))
            #expect(try await client.run("GET", "n").text == String(bound + 3 - refused.count))
        }
    }

    @Test func `a string beyond the limit closes the connection, which reconnects`() async throws {
        try await withRedis { client, _ in
            try await client.run("SETRANGE", "long", String(1 << 20), "x")
            guard case .protocolViolation(let what)? = await failure(of: client.send(["GET", "long"])) else {
                Issue.record("not refused")
                return
            }
            #expect(what.contains("1048577"))
            #expect(await eventually { await failure(of: client.send(["PING"])) == nil })
        }
    }

    @Test func `a stopped client fails commands immediately and does not reconnect`() async throws {
        try await withRedis { _, server in
            let client = try await RedisClient.started(at: server.address)
            client.stop()
            #expect(await failure(of: client.send(["PING"])) == .disconnected)
            let name = try await RedisClient.started(at: server.address)
            defer { name.stop() }
            #expect(await failure(of: client.send(["PING"])) == .disconnected)
        }
    }

    @Test func `an unsolicited reply closes the connection, which reconnects`() async throws {
        try await ScriptedServer.running { words in
            switch words[0] {
            case "ECHO": .text("+a\r\n+b\r\n")
            case "GET": .text("+GET\r\n")
            default: .ordinary
            }
        } _: {
            server in
            let client = try await RedisClient.started(at: server.address)
            defer { client.stop() }
            #expect(try await client.run("ECHO", "a").text == "a")
            #expect(await eventually { (try? await client.run("GET", "x"))?.text == "GET" })
        }
    }

    @Test func `a RESP3 reply fails unanswered commands with a protocol violation`() async throws {
        try await ScriptedServer.running { words in
            words[0] == "HGETALL" ? .text("%1\r\n") : .ordinary
        } _: { server in
            let client = try await RedisClient.started(at: server.address)
            defer { client.stop() }
            guard case .protocolViolation? = await failure(of: client.send(["HGETALL", "a"])) else {
                Issue.record("not refused")
                return
            }
        }
    }
}

@Suite struct RedisCommandTests {
    @Test func `a command is encoded as an array of strings with their lengths in bytes`() {
        var buffer = ByteBuffer()
        RedisCommand(["SET", .text("é"), .bytes([0, 13, 10]), .integer(-7), 42, ""]).write(into: &buffer)
        #expect(
            Array(buffer.readableBytesView)
                == Array("*6\r\n$3\r\nSET\r\n$2\r\né\r\n$3\r\n\0\r\n\r\n$2\r\n-7\r\n$2\r\n42\r\n$0\r\n\r\n".utf8))
    }
}

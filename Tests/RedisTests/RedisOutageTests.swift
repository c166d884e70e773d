import Glibc
import NIOCore
import NIOEmbedded
import NIOPosix
import Resilience
import TestSupport
import Testing

@testable import Redis

@Suite struct RedisOutageTests {
    private func counts(_ client: RedisClient, _ count: Int) -> [EventLoopFuture<RESPValue>] {
        (0..<count).map { _ in client.send(["INCR", "n"]) }
    }

    @Test func `commands in flight fail with connectionLost when the server is killed`() async throws {
        try await withRedis { client, server in
            server.freeze()
            // On the loop, so that all are in flight before the connection ends.
            let answers = try await client.eventLoop.submit { self.counts(client, 100) }.get()
            server.crash()
            for answer in answers { #expect(await failure(of: answer) == .connectionLost) }
        }
    }

    @Test func `commands fail immediately without a connection`() async throws {
        try await withRedis { client, server in
            server.crash()
            #expect(await eventually { await failure(of: client.send(["PING"])) == .disconnected })
            // In the loop tick in which they are sent.
            let failed = LockedCounter()
            let count = try await client.eventLoop.submit {
                for answer in self.counts(client, 1000) { answer.whenFailure { _ in _ = failed.next() } }
                return failed.count
            }.get()
            #expect(count == 1000)
        }
    }

    @Test(arguments: ["unix", "tcp"])
    func `a client reconnects when the server restarts at the same address`(endpoint: String) async throws {
        let port = try await freePort()
        let options = ["--port", String(port), "--bind", "127.0.0.1"]
        try await withServer(options: options) { server in
            var address = endpoint == "tcp" ? try RedisAddress(url: "redis://127.0.0.1:\(port)") : server.address
            address.database = 2
            let client = try await RedisClient.started(at: address)
            defer { client.stop() }
            try await client.run("SET", "a", "of the first")
            server.crash()
            #expect(await eventually { await failure(of: client.send(["PING"])) == .disconnected })
            try await server.successor(options: options) {
                #expect(await eventually { await failure(of: client.send(["PING"])) == nil })
                let value = try await client.run("GET", "a")
                #expect(value == .null)
                #expect(try await client.run("CLIENT", "INFO").text?.contains(" db=2 ") == true)
            }
        }
    }

    @Test func `a connection to a hanging server is closed in time and re-established when it responds`() async throws {
        var timing = RedisTiming()
        timing.answer = .seconds(2)
        try await withRedis(timing: timing) { client, server in
            server.freeze()
            let start = ContinuousClock.now
            let answers = self.counts(client, 10)
            for answer in answers { #expect(await failure(of: answer) == .timedOut) }
            // Checked every half second, on a machine that may be busy.
            #expect(ContinuousClock.now - start < .seconds(30))
            server.thaw()
            #expect(await eventually { await failure(of: client.send(["PING"])) == nil })
        }
    }

    @Test func `an idle connection to a hanging server is detected`() async throws {
        var timing = RedisTiming()
        (timing.answer, timing.health) = (.seconds(2), .milliseconds(100))
        try await withServer { server in
            let subscriber = try await Subscriber.started(at: server.address, timing: timing)
            defer { subscriber.stop() }
            server.freeze()
            #expect(try await subscriber.states.next() == false)
            server.thaw()
            #expect(try await subscriber.states.next() == true)
        }
    }

    /// The process was suspended, or a callback took long: the reply has arrived, but the loop has not read it.
    @Test func `a server is not reported as unresponsive because the event loop was blocked`() async throws {
        var timing = RedisTiming()
        (timing.answer, timing.suspicion) = (.seconds(2), .seconds(2))
        try await withServer { server in
            let client = try await RedisClient.started(at: server.address, timing: timing)
            defer { client.stop() }
            let loop = client.eventLoop
            let connection = try await client.send(["CLIENT", "ID"]).get()
            let (answer, suspicion) = try await loop.submit {
                let answer = client.send(["ECHO", "unread"])
                // The command is flushed first; then its reply arrives while the loop is blocked.
                let suspicion = loop.submit {
                    Self.block(milliseconds: Int32(StallWatch.maxDelay / 1_000_000) + 2_500)
                    return client.unresponsiveSince
                }
                return (answer, suspicion)
            }.get()
            #expect(try await answer.get().text == "unread")
            #expect(try await suspicion.get() == nil)
            #expect(try await client.send(["CLIENT", "ID"]).get() == connection)
        }
    }

    /// Blocks the calling thread: the stall itself, not a wait for something.
    private static func block(milliseconds: Int32) { _ = poll(nil, 0, milliseconds) }

    @Test func `waiting for a permanently stopped link fails immediately`() async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let nowhere = RedisAddress(endpoint: .unix(path: "/nonexistent.sock"))
        let standing = try await eventLoop.submit {
            let link = RedisLink(
                eventLoop: eventLoop, timing: .patient, logger: .quiet,
                locate: { eventLoop.makeSucceededFuture(nowhere) })
            link.connectWithRetries()
            let before = link.whenConnected()
            link.stop()
            return [before, link.whenConnected()]
        }.get()
        for waiting in standing { #expect(await failure(of: waiting) == .disconnected) }
    }

    @Test func `an idle connection to a healthy server stays open`() async throws {
        var timing = RedisTiming()
        (timing.health, timing.answer) = (.milliseconds(100), .seconds(10))
        let pings = LockedCounter()
        try await ScriptedServer.running { words in
            if words == ["PING"] { _ = pings.next() }
            return .ordinary
        } _: { server in
            let client = try await RedisClient.started(at: server.address, timing: timing)
            defer { client.stop() }
            // One from signing in, two from being idle; a second connection would count its own.
            #expect(await eventually { pings.count >= 3 })
            #expect(try await server.connectionCount == 1)
        }
    }

    @Test func `a client waits for a server that is loading its data`() async throws {
        // The first connection ends at QUIT; the next two attempts meet a server that is loading.
        let turn = LockedCounter()
        try await ScriptedServer.running { words in
            switch words[0] {
            case "QUIT": return .close
            case "PING":
                let number = turn.next()
                return (2...3).contains(number) ? .text("-LOADING wait\r\n") : .ordinary
            case "GET": return .text("+GET\r\n")
            default: return .ordinary
            }
        } _: { server in
            let client = try await RedisClient.started(at: server.address)
            defer { client.stop() }
            #expect(await failure(of: client.send(["QUIT"])) == .connectionLost)
            #expect(await eventually { (try? await client.run("GET", "a"))?.text == "GET" })
            #expect(turn.count >= 4)
        }
    }

    @Test func `a failed connection attempt leaves nothing behind`() throws {
        weak var handler: RedisChannelHandler?
        do {
            let channel = EmbeddedChannel()
            let made = RedisChannelHandler(eventLoop: channel.eventLoop)
            try channel.pipeline.syncOperations.addHandler(made)
            handler = made
            _ = try? channel.finish()
        }
        #expect(handler == nil)
    }

    @Test func `the outcome is unknown only if the command was sent and has no reply`() {
        let known: [RedisError] = [
            .unreachable(address: "a", reason: "r"), .authenticationRefused(address: "a", reason: "r"),
            .sentinelAuthenticationRefused(address: "a", reason: "r"), .tooManyClients(address: "a"),
            .databaseRefused(address: "a", database: 1, reason: "r"), .disconnected, .overloaded,
            .refused(code: "ERR", message: "ERR"), .unexpectedAnswer(command: "GET"),
        ]
        let unknown: [RedisError] = [.connectionLost, .timedOut, .protocolViolation("x")]
        for error in known { #expect(!error.isOutcomeUnknown, "\(error)") }
        for error in unknown { #expect(error.isOutcomeUnknown, "\(error)") }
    }
}

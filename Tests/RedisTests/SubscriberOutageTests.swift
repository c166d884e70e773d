import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct SubscriberOutageTests {
    private func running(_ body: (RedisClient, RedisAddress) async throws -> Void) async throws {
        try await withRedis { client, server in try await body(client, server.address) }
    }

    @Test func `every channel is resubscribed after a lost connection, and its owner is notified`() async throws {
        try await self.running { client, address in
            let subscriber = try await Subscriber.started(at: address)
            defer { subscriber.stop() }
            let channels = (0..<250).map { "c\($0)" }
            try await subscriber.onLoop { connection in
                EventLoopFuture.andAllSucceed(channels.map(connection.subscribe), on: subscriber.eventLoop)
            }.get()
            #expect(try await client.run("CLIENT", "KILL", "TYPE", "pubsub").integer == 1)
            #expect(try await subscriber.states.next(2) == [false, true])
            #expect(Set(try await subscriber.resubscribed.next(250)) == Set(channels))
            for channel in channels {
                let receivers = try await client.run("SPUBLISH", channel, "again").integer
                try #require(receivers == 1)
            }
            #expect(try await subscriber.messages.next(250).map(\.channel) == channels)
            #expect(try await subscriber.resubscribed.count == 0)
        }
    }

    @Test func `a refused resubscription is retried until it succeeds`() async throws {
        try await self.running { client, address in
            let subscriber = try await Subscriber.started(at: address)
            defer { subscriber.stop() }
            try await subscriber.subscribe("kept")
            try await client.run("ACL", "SETUSER", "default", "resetchannels")
            try await client.run("CLIENT", "KILL", "TYPE", "pubsub")
            #expect(try await subscriber.states.next(2) == [false, true])
            let isRefused = try await eventually { try await client.run("ACL", "LOG").array?.isEmpty == false }
            #expect(isRefused)
            #expect(try await client.run("PUBSUB", "SHARDCHANNELS").array?.isEmpty == true)
            try await client.run("ACL", "SETUSER", "default", "allchannels")
            #expect(try await subscriber.resubscribed.next() == "kept")
            #expect(try await client.run("SPUBLISH", "kept", "x").integer == 1)
        }
    }

    @Test func `a channel unsubscribed before the connection was lost is not resubscribed`() async throws {
        try await self.running { client, address in
            let subscriber = try await Subscriber.started(at: address)
            defer { subscriber.stop() }
            try await subscriber.subscribe("kept")
            try await subscriber.subscribe("left")
            try await subscriber.unsubscribe("left")
            try await client.run("CLIENT", "KILL", "TYPE", "pubsub")
            #expect(try await subscriber.resubscribed.next() == "kept")
            try await subscriber.subscribe("kept")
            #expect(try await client.run("PUBSUB", "SHARDCHANNELS").array?.compactMap(\.text) == ["kept"])
        }
    }

    @Test func `a channel unsubscribed while disconnected is not resubscribed`() async throws {
        try await self.running { client, address in
            let subscriber = try await Subscriber.started(at: address)
            defer { subscriber.stop() }
            try await subscriber.subscribe("kept")
            try await subscriber.subscribe("left")
            try await subscriber.eventLoop.submit {
                let connection = subscriber.connection.value
                connection.onState = { [unowned connection] isUp in
                    if !isUp { connection.unsubscribe("left") }
                    subscriber.states.put(isUp)
                }
            }.get()
            try await client.run("CLIENT", "KILL", "TYPE", "pubsub")
            #expect(try await subscriber.states.next(2) == [false, true])
            #expect(try await subscriber.resubscribed.next() == "kept")
            try await subscriber.subscribe("later")
            #expect(
                Set(try await client.run("PUBSUB", "SHARDCHANNELS").array?.compactMap(\.text) ?? []) == [
                    "kept", "later",
                ])
        }
    }

    @Test func `a new subscriber during a resubscription does not hide that messages may be missing`()
        async throws
    {
        try await self.running { client, address in
            let subscriber = try await Subscriber.started(at: address)
            defer { subscriber.stop() }
            try await subscriber.subscribe("a")
            let second = subscriber.eventLoop.makePromise(of: Void.self)
            // NIO crashes if a promise is never completed, and ignores a second completion.
            defer { second.fail(CancellationError()) }
            try await subscriber.eventLoop.submit {
                let connection = subscriber.connection.value
                connection.onState = { [unowned connection] isUp in
                    if !isUp { connection.subscribe("a").cascade(to: second) }
                }
            }.get()
            try await client.run("CLIENT", "KILL", "TYPE", "pubsub")
            #expect(try await subscriber.resubscribed.next() == "a")
            try await second.futureResult.within().get()
        }
    }

    @Test func `a subscribe without a connection fails immediately`() async throws {
        try await withServer { server in
            let subscriber = try await Subscriber.started(at: server.address)
            defer { subscriber.stop() }
            server.crash()
            #expect(try await subscriber.states.next() == false)
            #expect(await failure(of: subscriber.onLoop { $0.subscribe("a") }) == .disconnected)
        }
    }

    @Test func `a subscribe in flight fails when the connection is lost, and is not repaired later`()
        async throws
    {
        try await withServer { server in
            let subscriber = try await Subscriber.started(at: server.address)
            defer { subscriber.stop() }
            server.freeze()
            let subscribed = try await subscriber.eventLoop.submit { subscriber.connection.value.subscribe("a") }.get()
            server.crash()
            #expect(await failure(of: subscribed) == .connectionLost)
            try await server.successor {
                #expect(try await subscriber.states.next(2) == [false, true])
                try await subscriber.subscribe("b")
                #expect(try await subscriber.resubscribed.count == 0)
            }
        }
    }

    @Test func `a channel forbidden by the ACL is refused with the reason, and the others continue`() async throws {
        try await self.running { client, address in
            try await client.run("ACL", "SETUSER", "bob", "on", ">pw", "~*", "+@all", "resetchannels", "&mine:*")
            var address = address
            (address.user, address.password) = ("bob", "pw")
            let subscriber = try await Subscriber.started(at: address)
            defer { subscriber.stop() }
            try await subscriber.subscribe("mine:a")
            guard
                case .refused("NOPERM", let message)? = await failure(of: subscriber.onLoop { $0.subscribe("foreign") })
            else {
                Issue.record("not refused")
                return
            }
            #expect(message.contains("channel"))
            try await subscriber.subscribe("mine:b")
            for channel in ["foreign", "mine:a", "mine:b"] { try await client.run("SPUBLISH", channel, "x") }
            #expect(try await subscriber.messages.next(2).map(\.channel) == ["mine:a", "mine:b"])
        }
    }

    @Test func `a subscribe refused by a busy server fails instead of waiting forever`() async throws {
        try await withRedis(options: ["--busy-reply-threshold", "10"]) { client, server in
            let subscriber = try await Subscriber.started(at: server.address)
            defer { subscriber.stop() }
            let other = try await RedisClient.started(at: server.address)
            defer { other.stop() }
            let endless = client.send(["EVAL", "while true do end", "0"])
            #expect(await eventually { await failure(of: other.send(["GET", "a"])) != nil })
            guard case .refused("BUSY", _)? = await failure(of: subscriber.onLoop { $0.subscribe("a") }) else {
                Issue.record("not refused")
                return
            }
            try await other.run("SCRIPT", "KILL")
            guard case .refused? = await failure(of: endless) else {
                Issue.record("not refused")
                return
            }
            try await subscriber.subscribe("a")
        }
    }

    @Test func `a connection that receives garbage is closed and re-established`() async throws {
        try await ScriptedServer.running { _ in
            .ordinary
        } _: { server in
            let subscriber = try await Subscriber.started(at: server.address)
            defer { subscriber.stop() }
            try await server.write("HTTP/1.1 200 OK\r\n")
            #expect(try await subscriber.states.next(2) == [false, true])
            #expect(try await server.connectionCount == 3)
        }
    }
}

import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct SubscriberConnectionTests {
    /// A server, a client of it and a subscriber.
    private func running(_ body: (RedisClient, Subscriber) async throws -> Void) async throws {
        try await withRedis { client, server in
            let subscriber = try await Subscriber.started(at: server.address)
            defer { subscriber.stop() }
            try await body(client, subscriber)
        }
    }

    private func subscribers(of channel: String, _ client: RedisClient) async throws -> Int64? {
        try await client.run("PUBSUB", "SHARDNUMSUB", channel).array?.last?.integer
    }

    @Test func `no message is missed after a subscribe has succeeded`() async throws {
        try await self.running { client, subscriber in
            for number in 0..<200 {
                try await subscriber.subscribe("c\(number)")
                let receivers = try await client.run("SPUBLISH", "c\(number)", "first").integer
                try #require(receivers == 1)
            }
            #expect(try await subscriber.messages.next(200).map(\.channel) == (0..<200).map { "c\($0)" })
        }
    }

    @Test func `messages arrive in order, and only from subscribed channels`() async throws {
        try await self.running { client, subscriber in
            try await subscriber.subscribe("a")
            for number in 0..<100 {
                try await client.run("SPUBLISH", "b", "not mine")
                try await client.run("SPUBLISH", "a", String(number))
            }
            let messages = try await subscriber.messages.next(100)
            #expect(messages.map(\.text) == (0..<100).map(String.init))
            #expect(messages.allSatisfy { $0.channel == "a" })
        }
    }

    @Test func `a payload may be any bytes, even protocol syntax`() async throws {
        try await self.running { client, subscriber in
            try await subscriber.subscribe("a")
            let payloads: [[UInt8]] = [
                [], [0], Array("\r\n".utf8), Array("*3\r\n$8\r\nsmessage\r\n".utf8), (UInt8.min...UInt8.max).map { $0 },
                [UInt8](repeating: 13, count: 100_000), Array("subscribe".utf8),
            ]
            for payload in payloads { _ = try await client.send(["SPUBLISH", "a", .bytes(payload)]).get() }
            #expect(try await subscriber.messages.next(payloads.count).map(\.payload) == payloads)
        }
    }

    @Test(arguments: ["message", "smessage", "ssubscribe", "sunsubscribe", "pong", "a b", "ü", "job:{x}:feed"])
    func `a channel may have any name, even a protocol keyword`(name: String) async throws {
        try await self.running { client, subscriber in
            try await subscriber.subscribe(name)
            try await client.run("SPUBLISH", name, name)
            let message = try await subscriber.messages.next()
            #expect(message == ReceivedMessage(channel: name, payload: Array(name.utf8)))
        }
    }

    @Test func `no message arrives after an unsubscribe`() async throws {
        try await self.running { client, subscriber in
            try await subscriber.subscribe("a")
            try await subscriber.unsubscribe("a")
            // Sent after it on the same connection.
            try await subscriber.subscribe("b")
            #expect(try await self.subscribers(of: "a", client) == 0)
            try await client.run("SPUBLISH", "a", "no")
            try await client.run("SPUBLISH", "b", "yes")
            #expect(try await subscriber.messages.next().text == "yes")
        }
    }

    @Test func `two subscribes to one channel share one subscription, and both succeed`() async throws {
        try await self.running { client, subscriber in
            try await subscriber.onLoop { connection in
                EventLoopFuture.andAllSucceed(
                    [connection.subscribe("a"), connection.subscribe("a")], on: subscriber.eventLoop)
            }.get()
            try await subscriber.subscribe("a")
            try await client.run("SPUBLISH", "a", "once")
            try await client.run("SPUBLISH", "a", "end")
            #expect(try await subscriber.messages.next(2).map(\.text) == ["once", "end"])
        }
    }

    @Test func `a channel unsubscribed and subscribed again in one tick is subscribed`() async throws {
        try await self.running { client, subscriber in
            try await subscriber.subscribe("a")
            try await subscriber.onLoop { connection in
                connection.unsubscribe("a")
                return connection.subscribe("a")
            }.get()
            #expect(try await self.subscribers(of: "a", client) == 1)
            try await client.run("SPUBLISH", "a", "still here")
            #expect(try await subscriber.messages.next().text == "still here")
        }
    }

    @Test func `a channel subscribed and unsubscribed in one tick is not subscribed, and its subscribe fails`()
        async throws
    {
        try await self.running { client, subscriber in
            let subscribed = subscriber.onLoop { connection in
                let future = connection.subscribe("a")
                connection.unsubscribe("a")
                return future
            }
            #expect(await failure(of: subscribed) == .disconnected)
            try await subscriber.subscribe("b")
            #expect(try await self.subscribers(of: "a", client) == 0)
        }
    }

    @Test func `a thousand channels are subscribed in ten commands`() async throws {
        try await self.running { client, subscriber in
            let channels = (0..<1000).map { "c\($0)" }
            try await subscriber.onLoop { connection in
                EventLoopFuture.andAllSucceed(channels.map(connection.subscribe), on: subscriber.eventLoop)
            }.get()
            #expect(try await client.run("INFO", "commandstats").text?.contains("cmdstat_ssubscribe:calls=10,") == true)
            for channel in channels { try await client.run("SPUBLISH", channel, "x") }
            #expect(try await subscriber.messages.next(1000).map(\.channel) == channels)
        }
    }

    @Test func `messages between acknowledgements are distinguished from them`() async throws {
        try await self.running { client, subscriber in
            try await subscriber.subscribe("a")
            let published = (0..<2000).map { client.send(["SPUBLISH", "a", .integer($0)]) }
            try await subscriber.onLoop { connection in
                EventLoopFuture.andAllSucceed(
                    (0..<2000).map { connection.subscribe("other\($0)") }, on: subscriber.eventLoop)
            }.get()
            _ = try await EventLoopFuture.whenAllSucceed(published, on: client.eventLoop).get()
            #expect(try await subscriber.messages.next(2000).map(\.text) == (0..<2000).map(String.init))
        }
    }

    @Test func `a subscribe succeeds only when it is acknowledged`() async throws {
        try await ScriptedServer.running { _ in
            .ordinary
        } _: { server in
            let subscriber = try await Subscriber.started(at: server.address)
            defer { subscriber.stop() }
            let isDone = LockedCounter()
            let subscribed = subscriber.onLoop { $0.subscribe("a") }
            subscribed.whenComplete { _ in _ = isDone.next() }
            #expect(try await server.commands.next() == ["SSUBSCRIBE", "a"])
            try await server.write("*3\r\n$8\r\nsmessage\r\n$1\r\na\r\n$1\r\nx\r\n")
            _ = try await subscriber.messages.next()
            #expect(isDone.count == 0)
            try await server.write("*3\r\n$10\r\nssubscribe\r\n$1\r\na\r\n:1\r\n")
            try await subscribed.get()
        }
    }

    @Test func `an acknowledgement of an earlier subscription does not count for a later one`() async throws {
        try await ScriptedServer.running { _ in
            .ordinary
        } _: { server in
            let subscriber = try await Subscriber.started(at: server.address)
            defer { subscriber.stop() }
            let first = subscriber.onLoop { $0.subscribe("a") }
            #expect(try await server.commands.next() == ["SSUBSCRIBE", "a"])
            let isDone = LockedCounter()
            let second = subscriber.onLoop { connection in
                connection.unsubscribe("a")
                return connection.subscribe("a")
            }
            second.whenComplete { _ in _ = isDone.next() }
            #expect(try await server.commands.next(2) == [["SUNSUBSCRIBE", "a"], ["SSUBSCRIBE", "a"]])
            #expect(await failure(of: first) == .disconnected)
            // Between this acknowledgement and the next two, a message would be missed.
            try await server.write(
                "*3\r\n$10\r\nssubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$8\r\nsmessage\r\n$1\r\na\r\n$1\r\nx\r\n")
            _ = try await subscriber.messages.next()
            #expect(isDone.count == 0)
            try await server.write(
                "*3\r\n$12\r\nsunsubscribe\r\n$1\r\na\r\n:0\r\n*3\r\n$10\r\nssubscribe\r\n$1\r\na\r\n:1\r\n")
            try await second.get()
        }
    }
}

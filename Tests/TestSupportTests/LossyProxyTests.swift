import NIOCore
import Redis
import TestSupport
import Testing

@Suite(.needsMachine(for: .faults)) struct LossyProxyTests {
    /// A proxy in front of a Redis, a direct client, and a connection through the proxy.
    private func running(
        at kind: LossyProxy.Kind = .tcp, _ body: (LossyProxy, RedisClient, RawRedis) async throws -> Void
    ) async throws {
        try await withRedis { client, server in
            try await LossyProxy.running(to: .unix(path: server.socketPath), at: kind) { proxy in
                try await RawRedis.talking(to: proxy.endpoint) { try await body(proxy, client, $0) }
            }
        }
    }

    /// How long a silent server must stay silent in these tests.
    private static let silence = TimeAmount.milliseconds(200)

    @Test(arguments: [("SUBSCRIBE", "PUBLISH"), ("SSUBSCRIBE", "SPUBLISH")], [LossyProxy.Kind.tcp, .unix])
    func `exactly the selected push is dropped`(words: (String, String), kind: LossyProxy.Kind) async throws {
        try await self.running(at: kind) { proxy, client, connection in
            try await connection.run(words.0, "a")
            try await proxy.lose(.push(number: 3))
            for number in 1...5 { try await client.run(words.1, "a", "\(number)") }
            var heard: [String?] = []
            while heard.count < 4 { heard.append(try await connection.next().array?.last?.text) }
            #expect(heard == ["1", "2", "4", "5"])
            #expect(try await proxy.pushCount == 5)
            #expect(try await proxy.lostCount == 1)
        }
    }

    @Test func `replies still arrive while all pushes are dropped`() async throws {
        try await self.running { proxy, client, connection in
            try await connection.run("SUBSCRIBE", "a")
            try await proxy.lose(.all)
            for _ in 1...10 { try await client.run("PUBLISH", "a", "lost") }
            #expect(try await connection.run("PING").array?.first?.text == "pong")
            #expect(try await connection.run("SUBSCRIBE", "b").array?.first?.text == "subscribe")
            try await proxy.lose(.none)
            try await client.run("PUBLISH", "a", "heard")
            #expect(try await connection.next().array?.last?.text == "heard")
            #expect(try await proxy.lostCount == 10)
        }
    }

    @Test func `only the pushes of one channel are dropped`() async throws {
        try await self.running { proxy, client, connection in
            connection.send(["SUBSCRIBE", "a", "b"])
            for _ in 1...2 { _ = try await connection.next() }
            try await proxy.lose(.channel("a"))
            for channel in ["a", "b", "a", "b"] { try await client.run("PUBLISH", channel, "x") }
            for _ in 1...2 { #expect(try await connection.next().array?[1].text == "b") }
            #expect(try await proxy.lostCount == 2)
        }
    }

    @Test func `held-back bytes arrive in order when the proxy continues`() async throws {
        try await self.running { proxy, client, connection in
            try await connection.run("PING")
            try await proxy.hold()
            for number in 1...100 { connection.send(["INCRBY", "n", "\(number)"]) }
            await #expect(throws: NothingArrived.self) { try await connection.replies.next(within: Self.silence) }
            #expect(try await client.run("EXISTS", "n").integer == 0)
            let other = try await RawRedis.connected(to: proxy.endpoint)
            other.send(["PING"])
            await #expect(throws: NothingArrived.self) { try await other.replies.next(within: Self.silence) }
            try await proxy.goOn()
            var sums: [Int64] = []
            while sums.count < 100 { sums.append(try #require(try await connection.next().integer)) }
            let triangular = (1...100).map { (number: Int64) in number * (number + 1) / 2 }
            #expect(sums == triangular)
            #expect(try await other.next().text == "PONG")
            other.hangUp()
        }
    }

    @Test func `not even the end of a connection passes a black hole`() async throws {
        try await self.running { proxy, client, connection in
            try await connection.run("PING")
            try await proxy.hold()
            try await client.run("CLIENT", "KILL", "SKIPME", "yes", "TYPE", "normal")
            await #expect(throws: NothingArrived.self) { try await connection.replies.next(within: Self.silence) }
            try await proxy.goOn()
            #expect(try await connection.replies.next() == nil)
        }
    }

    @Test func `a delay applies in each direction, and order is preserved when it changes`() async throws {
        try await self.running { proxy, _, connection in
            try await connection.run("PING")
            try await proxy.delay(.milliseconds(100))
            let start = ContinuousClock.now
            #expect(try await connection.run("ECHO", "slow").text == "slow")
            #expect(ContinuousClock.now - start >= .milliseconds(200))
            connection.send(["ECHO", "first"])
            try await proxy.delay(.zero)
            connection.send(["ECHO", "second"])
            #expect(try await connection.next().text == "first")
            #expect(try await connection.next().text == "second")
        }
    }

    @Test func `cut connections end on both sides and can be re-established`() async throws {
        try await self.running { proxy, client, connection in
            try await connection.run("SUBSCRIBE", "a")
            try await proxy.cut()
            #expect(try await connection.replies.next() == nil)
            #expect(await eventually { (try? await client.run("PUBSUB", "CHANNELS").array?.isEmpty) == true })
            #expect(try await proxy.openCount == 0)
            try await proxy.refuse(true)
            let refused = try await RawRedis.connected(to: proxy.endpoint)
            #expect(try await refused.replies.next() == nil)
            try await proxy.refuse(false)
            #expect(try await proxy.endpoint.ask("PING").text == "PONG")
        }
    }

    @Test func `a server that exits ends its connections after its last bytes`() async throws {
        try await RestartableRedis.running { redis in
            try await LossyProxy.running(to: redis.endpoint) { proxy in
                try await RawRedis.talking(to: proxy.endpoint) { connection in
                    try await connection.run("PING")
                    await redis.crash()
                    #expect(try await connection.replies.next() == nil)
                    #expect(await eventually { (try? await proxy.openCount) == 0 })
                }
                let early = try await RawRedis.connected(to: proxy.endpoint)
                #expect(try await early.replies.next() == nil)
                try await redis.start()
                #expect(try await proxy.endpoint.ask("PING").text == "PONG")
            }
        }
    }

    @Test func `megabytes pass unchanged`() async throws {
        try await self.running { _, _, connection in
            var random = SeededGenerator(seed: 7)
            let text = String((0..<900_000).map { _ in "abcdef*$\r\n+-:".randomElement(using: &random)! })
            for _ in 1...4 {
                try await connection.run("SET", "large", text)
                #expect(try await connection.run("GET", "large").text == text)
            }
        }
    }

    @Test func `a subscriber does not notice the proxy until it is cut`() async throws {
        try await withRedis { client, server in
            try await LossyProxy.running(to: .unix(path: server.socketPath)) { proxy in
                let subscriber = try await Subscriber.started(at: proxy.address)
                defer { subscriber.stop() }
                try await subscriber.subscribe("a")
                try await proxy.cut()
                #expect(try await subscriber.states.next(2) == [false, true])
                #expect(try await subscriber.resubscribed.next() == "a")
                // Its command connection has been re-established too, or is about to be.
                let connections = try await proxy.connectionCount
                #expect((3...4).contains(connections))
            }
        }
    }
}

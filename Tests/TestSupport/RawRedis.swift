// One connection to one Redis, as redis-cli would have it: words go out, replies come in, whatever they are. It follows no
// redirection and does not come back, so that a test sees what a server says, and when it hangs up.

package import Redis

private import NIOCore
private import NIOPosix

/// A connection; replies and pushes come into one inbox in the order they came.
package struct RawRedis: Sendable {
    /// What came; `nil` once, when the connection has ended.
    package let replies: Inbox<RESPValue?>
    private let channel: any Channel

    /// - Throws: NIO's reason when nobody listens there.
    package static func connected(to endpoint: LoopbackEndpoint) async throws -> RawRedis {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let replies = try await eventLoop.submit { Inbox<RESPValue?>(eventLoop: eventLoop) }.get()
        let bootstrap = ClientBootstrap(group: eventLoop).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(Listener(replies))
            }
        }
        return RawRedis(replies: replies, channel: try await endpoint.connect(bootstrap).get())
    }

    /// A connection for as long as `body` runs.
    package static func talking<Result: Sendable>(
        to endpoint: LoopbackEndpoint, _ body: (RawRedis) async throws -> Result
    ) async throws -> Result {
        let redis = try await Self.connected(to: endpoint)
        defer { redis.hangUp() }
        return try await body(redis)
    }

    /// Sends a command and waits for nothing.
    package func send(_ words: [String]) {
        var bytes = self.channel.allocator.buffer(capacity: 256)
        RedisCommand(words.map { .text($0) }).write(into: &bytes)
        self.channel.writeAndFlush(bytes, promise: nil)
    }

    /// What comes next, a push perhaps.
    ///
    /// - Throws: `RedisError.connectionLost` when nothing more will, `NothingCame`.
    package func next() async throws -> RESPValue {
        guard let reply = try await self.replies.next() else { throw RedisError.connectionLost }
        return reply
    }

    /// The answer to a command; an error that Redis answers is one.
    @discardableResult
    package func run(_ words: [String]) async throws -> RESPValue {
        self.send(words)
        return try await self.next()
    }

    @discardableResult
    package func run(_ words: String...) async throws -> RESPValue { try await self.run(words) }

    /// The answer to a command that must not be refused.
    ///
    /// - Throws: `RedisError.refused` with the error that Redis answers.
    @discardableResult
    package func carryOut(_ words: [String]) async throws -> RESPValue {
        let reply = try await self.run(words)
        guard case .error(let line) = reply else { return reply }
        throw RedisError.refused(code: String(line.prefix { $0 != " " }), message: line)
    }

    package func hangUp() { self.channel.close(promise: nil) }

    private final class Listener: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let reader = RESPReader()
        private let replies: Inbox<RESPValue?>

        init(_ replies: Inbox<RESPValue?>) { self.replies = replies }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let isUnderstood = self.unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
                (try? self.reader.consume(bytes) { self.replies.put($0.value) }) != nil
            }
            if !isUnderstood { context.close(promise: nil) }
        }

        func channelInactive(context: ChannelHandlerContext) { self.replies.put(nil) }
    }
}

extension LoopbackEndpoint {
    /// The answer to one command, over a connection of its own; an error that Redis answers is one.
    package func ask(_ words: String...) async throws -> RESPValue {
        try await RawRedis.talking(to: self) { try await $0.run(words) }
    }

    /// The same for a command that must not be refused.
    ///
    /// - Throws: `RedisError.refused` with the error that Redis answers.
    @discardableResult
    package func carryOut(_ words: [String]) async throws -> RESPValue {
        try await RawRedis.talking(to: self) { try await $0.carryOut(words) }
    }

    @discardableResult
    package func carryOut(_ words: String...) async throws -> RESPValue { try await self.carryOut(words) }

    /// Sets a key, and waits until so many replicas have it (WAIT is about what its own connection has written).
    ///
    /// - Throws: `NothingCame` when fewer had it in time, `RedisError.refused`.
    package func write(_ key: String, _ value: String, replicas: Int) async throws {
        try await RawRedis.talking(to: self) { connection in
            try await connection.carryOut(["SET", key, value])
            let bound = "\(ReplicationState.waitMilliseconds)"
            let count = try await connection.carryOut(["WAIT", "\(replicas)", bound]).integer ?? 0
            guard count >= replicas else {
                throw NothingCame(description: "\(count) of \(replicas) replicas had \(key) within \(bound) ms")
            }
        }
    }
}

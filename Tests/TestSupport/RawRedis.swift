// One connection to one Redis, like redis-cli: commands are sent and replies returned unchanged. It follows no redirections
// and does not reconnect, so that a test sees what a server sends, and when it disconnects.

package import Redis

private import NIOCore
private import NIOPosix

/// A connection; replies and pushes go into one inbox in order of arrival.
package struct RawRedis: Sendable {
    /// The received replies; `nil` once, when the connection has ended.
    package let replies: Inbox<RESPValue?>
    private let channel: any Channel

    /// - Throws: NIO's error when nothing listens there.
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

    /// Opens a connection while `body` runs.
    package static func talking<Result: Sendable>(
        to endpoint: LoopbackEndpoint, _ body: (RawRedis) async throws -> Result
    ) async throws -> Result {
        let redis = try await Self.connected(to: endpoint)
        defer { redis.hangUp() }
        return try await body(redis)
    }

    /// Sends a command without waiting for the reply.
    package func send(_ words: [String]) {
        var bytes = self.channel.allocator.buffer(capacity: 256)
        RedisCommand(words.map { .text($0) }).write(into: &bytes)
        self.channel.writeAndFlush(bytes, promise: nil)
    }

    /// Returns what arrives next, which may be a push.
    ///
    /// - Throws: `RedisError.connectionLost` when the connection has ended, `NothingArrived`.
    package func next() async throws -> RESPValue {
        guard let reply = try await self.replies.next() else { throw RedisError.connectionLost }
        return reply
    }

    /// Returns the reply to a command, which may be an error reply.
    @discardableResult
    package func run(_ words: [String]) async throws -> RESPValue {
        self.send(words)
        return try await self.next()
    }

    @discardableResult
    package func run(_ words: String...) async throws -> RESPValue { try await self.run(words) }

    /// Returns the reply to a command that must succeed.
    ///
    /// - Throws: `RedisError.refused` for an error reply.
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
    /// Returns the reply to one command over a new connection, which may be an error reply.
    package func ask(_ words: String...) async throws -> RESPValue {
        try await RawRedis.talking(to: self) { try await $0.run(words) }
    }

    /// The same for a command that must succeed.
    ///
    /// - Throws: `RedisError.refused` for an error reply.
    @discardableResult
    package func carryOut(_ words: [String]) async throws -> RESPValue {
        try await RawRedis.talking(to: self) { try await $0.carryOut(words) }
    }

    @discardableResult
    package func carryOut(_ words: String...) async throws -> RESPValue { try await self.carryOut(words) }

    /// Sets a key and waits until this many replicas have it (WAIT concerns the writes of its own connection).
    ///
    /// - Throws: `NothingArrived` when fewer have it in time, `RedisError.refused`.
    package func write(_ key: String, _ value: String, replicas: Int) async throws {
        try await RawRedis.talking(to: self) { connection in
            try await connection.carryOut(["SET", key, value])
            let bound = "\(ReplicationState.waitMilliseconds)"
            let count = try await connection.carryOut(["WAIT", "\(replicas)", bound]).integer ?? 0
            guard count >= replicas else {
                throw NothingArrived(description: "\(count) of \(replicas) replicas had \(key) within \(bound) ms")
            }
        }
    }
}

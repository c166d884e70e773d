// What no real Redis does on command: it answers each command with what a test says, or not at all.

import NIOCore
import NIOPosix
import Redis
import TestSupport

/// Plays a Redis on a TCP port of its own.
struct ScriptedServer: Sendable {
    let address: RedisAddress
    /// Commands as they came, but for those that every connection begins with and is kept alive with.
    let commands: Inbox<[String]>
    private let connections: NIOLoopBound<Connections>

    /// The connections that are open, in the order they came.
    final class Connections { var channels: [any Channel] = [] }

    /// What comes back for a command.
    enum Answer: Sendable {
        case text(String)
        /// What a master says to PING, ROLE and INFO, and nothing to anything else.
        case ordinary
        case silence
        case close
    }

    static func running(
        _ answer: @escaping @Sendable ([String]) -> Answer, _ body: (ScriptedServer) async throws -> Void
    ) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let (commands, connections) = try await eventLoop.submit {
            (Inbox<[String]>(eventLoop: eventLoop), NIOLoopBound(Connections(), eventLoop: eventLoop))
        }.get()
        let listener = try await ServerBootstrap(group: eventLoop)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    connections.value.channels.append(channel)
                    try channel.pipeline.syncOperations.addHandler(Player(commands, answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { listener.close(promise: nil) }
        let endpoint = RedisAddress.Endpoint.tcp(host: "127.0.0.1", port: listener.localAddress?.port ?? 0)
        try await body(
            ScriptedServer(address: RedisAddress(endpoint: endpoint), commands: commands, connections: connections))
    }

    /// Writes to the newest connection.
    func write(_ text: String) async throws {
        try await self.connections.eventLoop.flatSubmit { () -> EventLoopFuture<Void> in
            let channel = self.connections.value.channels[self.connections.value.channels.count - 1]
            return channel.writeAndFlush(ByteBuffer(string: text))
        }.get()
    }

    /// How many connections there have been.
    var connectionCount: Int {
        get async throws { try await self.connections.eventLoop.submit { self.connections.value.channels.count }.get() }
    }

    private final class Player: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let reader = RESPReader()
        private let commands: Inbox<[String]>
        private let answer: @Sendable ([String]) -> Answer

        private static let master = [
            "PING": "+PONG\r\n", "ROLE": "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n", "INFO": "$11\r\nrole:master\r\n",
        ]

        init(_ commands: Inbox<[String]>, _ answer: @escaping @Sendable ([String]) -> Answer) {
            self.commands = commands
            self.answer = answer
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let replies = (try? self.reader.replies(to: self.unwrapInboundIn(data).readableBytesView)) ?? []
            for words in replies.map({ $0.array?.compactMap(\.text) ?? [] }) {
                let ordinary = Self.master[words.first ?? ""]
                if ordinary == nil { self.commands.put(words) }
                switch self.answer(words) {
                case .text(let text): context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
                case .ordinary: context.writeAndFlush(NIOAny(ByteBuffer(string: ordinary ?? "")), promise: nil)
                case .silence: break
                case .close: return context.close(promise: nil)
                }
            }
        }
    }
}

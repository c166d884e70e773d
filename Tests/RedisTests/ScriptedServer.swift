// A fake server for behavior that a real Redis does not show on demand: it answers each command as the test specifies,
// or not at all.

import NIOCore
import NIOPosix
import Redis
import TestSupport

/// Imitates a Redis on its own TCP port.
struct ScriptedServer: Sendable {
    let address: RedisAddress
    /// The received commands, except those that every connection sends at its start and as a health check.
    let commands: Inbox<[String]>
    private let connections: NIOLoopBound<Connections>

    /// The open connections, in the order in which they were accepted.
    final class Connections { var channels: [any Channel] = [] }

    /// The reply to a command.
    enum Answer: Sendable {
        case text(String)
        /// Replies to PING, ROLE and INFO like a master, and does not reply to anything else.
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
                    try channel.pipeline.syncOperations.addHandler(ScriptedHandler(commands, answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { listener.close(promise: nil) }
        let endpoint = RedisAddress.Endpoint.tcp(host: "127.0.0.1", port: listener.localAddress?.port ?? 0)
        try await body(
            ScriptedServer(address: RedisAddress(endpoint: endpoint), commands: commands, connections: connections))
    }

    /// Sends to the newest connection.
    func write(_ text: String) async throws {
        try await self.connections.eventLoop.flatSubmit { () -> EventLoopFuture<Void> in
            let channel = self.connections.value.channels[self.connections.value.channels.count - 1]
            return channel.writeAndFlush(ByteBuffer(string: text))
        }.get()
    }

    /// Sends to every connection that is still open.
    func writeToAll(_ text: String) async throws {
        try await self.connections.eventLoop.submit {
            for channel in self.connections.value.channels where channel.isActive {
                channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
            }
        }.get()
    }

    /// The number of connections so far.
    var connectionCount: Int {
        get async throws { try await self.connections.eventLoop.submit { self.connections.value.channels.count }.get() }
    }

    private final class ScriptedHandler: ChannelInboundHandler {
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

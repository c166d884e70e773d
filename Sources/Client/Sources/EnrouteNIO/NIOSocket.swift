// A WebSocket over a NIO channel: text frames as events, pongs for pings, and the close code.

#if NIO
    internal import Enroute
    internal import NIOCore
    internal import NIOWebSocket

    struct NIOSocket: TransportSocket {
        /// The maximum number of queued messages. Beyond it, the socket is closed, because the client no longer reads.
        static let mostWaiting = 4_096
        /// How long a close frame may take.
        static let closeWithin = TimeAmount.seconds(5)

        typealias Events = AsyncThrowingStream<SocketEvent, any Error>

        let channel: any Channel
        let events: Events

        static func stream() -> (Events, Events.Continuation) {
            Events.makeStream(bufferingPolicy: .bufferingOldest(Self.mostWaiting))
        }

        func receive() async throws -> SocketEvent {
            var events = self.events.makeAsyncIterator()
            guard let event = try await events.next() else { throw TransportError("The connection was lost.") }
            return event
        }

        func send(_ text: String) async throws {
            try await self.channel.writeAndFlush(WebSocketFrame.masked(.text, ByteBuffer(string: text))).get()
        }

        func close(code: UInt16) async {
            let frame = WebSocketFrame.masked(.connectionClose, ByteBuffer(integer: code))
            // A gateway that no longer reads never accepts the frame.
            let limit = self.channel.eventLoop.scheduleTask(in: Self.closeWithin) { [channel] in
                channel.close(promise: nil)
            }
            self.channel.writeAndFlush(frame).whenComplete { [channel] _ in
                limit.cancel()
                channel.close(promise: nil)
            }
        }
    }

    extension WebSocketFrame {
        static func masked(_ opcode: WebSocketOpcode, _ data: ByteBuffer) -> WebSocketFrame {
            WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
        }
    }

    /// Confined to the event loop of its channel.
    final class SocketHandler: ChannelInboundHandler {
        typealias InboundIn = WebSocketFrame
        typealias OutboundOut = WebSocketFrame

        private let continuation: NIOSocket.Events.Continuation

        init(_ continuation: NIOSocket.Events.Continuation) { self.continuation = continuation }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let frame = self.unwrapInboundIn(data)
            var payload = frame.unmaskedData
            switch frame.opcode {
            // Gateways never fragment messages.
            case .text where frame.fin:
                let event = SocketEvent.text(String(buffer: payload))
                if case .dropped = self.continuation.yield(event) { context.close(promise: nil) }
            case .ping:
                context.writeAndFlush(
                    self.wrapOutboundOut(.masked(.pong, ByteBuffer(buffer: payload))), promise: nil)
            case .pong: break
            case .connectionClose:
                let code = payload.readInteger(as: UInt16.self) ?? 1005
                self.continuation.yield(.closed(code: code, reason: String(buffer: payload)))
                self.continuation.finish()
                context.close(promise: nil)
            default: context.close(promise: nil)
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.continuation.finish(throwing: TransportError("The connection ended without a close frame."))
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            self.continuation.finish(throwing: error)
            context.close(promise: nil)
        }
    }
#endif

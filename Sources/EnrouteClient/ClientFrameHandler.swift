// Converts between WebSocket frames and messages: answers pings, masks outgoing frames and reports the close code.

internal import EnrouteWire
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOWebSocket

/// Text frames in, text frames out. Confined to the event loop of its channel.
final class ClientFrameHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = [UInt8]
    typealias OutboundIn = [UInt8]
    typealias OutboundOut = WebSocketFrame

    /// How the connection ended. Tasks that read receive it as an error; it is stored for those that only write.
    private let ending: NIOLockedValueBox<ClientError?>
    private var isClosing = false

    init(ending: NIOLockedValueBox<ClientError?>) { self.ending = ending }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = self.unwrapInboundIn(data)
        var payload = frame.unmaskedData
        switch frame.opcode {
        // Gateways never fragment messages.
        case .text where frame.fin: context.fireChannelRead(self.wrapInboundOut(Array(payload.readableBytesView)))
        case .ping: self.write(context, .pong, payload)
        case .pong: break
        case .connectionClose:
            let code = payload.readInteger(as: UInt16.self) ?? 1005
            let reason = String(buffer: payload)
            if !self.isClosing { self.write(context, .connectionClose, frame.unmaskedData) }
            self.isClosing = true
            let ending = ClientError.closed(code: code, reason: reason)
            self.ending.withLockedValue { $0 = ending }
            context.fireErrorCaught(ending)
            context.close(promise: nil)
        default:
            context.fireErrorCaught(ClientError.connectionLost)
            context.close(promise: nil)
        }
    }

    /// A lost connection is always reported in the same way, whether TLS or TCP noticed it.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let ending = self.ending.withLockedValue { ending in
            if ending == nil { ending = error as? ClientError ?? .connectionLost }
            return ending ?? .connectionLost
        }
        context.fireErrorCaught(ending)
        context.close(promise: nil)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let payload = context.channel.allocator.buffer(bytes: self.unwrapOutboundIn(data))
        context.write(
            self.wrapOutboundOut(WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: payload)),
            promise: promise)
    }

    /// Sends a close frame before closing (RFC 6455 section 7.1.2).
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if !self.isClosing, mode != .input {
            self.isClosing = true
            self.write(context, .connectionClose, ByteBuffer(integer: CloseCode.normal.rawValue))
        }
        context.close(mode: mode, promise: promise)
    }

    private func write(_ context: ChannelHandlerContext, _ opcode: WebSocketOpcode, _ payload: ByteBuffer) {
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: payload)
        context.writeAndFlush(self.wrapOutboundOut(frame), promise: nil)
    }
}

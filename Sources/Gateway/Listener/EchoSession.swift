// `/v1/_echo`, for external WebSocket conformance suites: the same socket and frame parser as a session, without sign-in and
// without Enroute's protocol. It exists only if the gateway was started with --echo-endpoint.

internal import EnrouteWire
internal import NIOCore
internal import SecureSocket
internal import WebSocket

/// Sends every message back. Confined to its event loop.
final class EchoSession: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The largest messages that conformance suites send.
    static let bounds = WebSocketReader.Bounds(
        messageBytes: 16 << 20, messageFragments: 1 << 20, allowsBinary: true)

    private let socket: SecureSocketHandler
    private var reader = WebSocketReader(EchoSession.bounds)

    init(socket: SecureSocketHandler) { self.socket = socket }

    func handlerAdded(context: ChannelHandlerContext) {
        // Backpressure: while the peer does not read the replies, nothing is read from it.
        let channel = NIOLoopBound(context.channel, eventLoop: context.eventLoop)
        self.socket.onDrained = { _ = try? channel.value.syncOptions?.setOption(.autoRead, value: true) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.socket.onDrained = nil
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.reader.add(self.unwrapInboundIn(data))
        while let event = self.reader.next() {
            switch event {
            case .text(let bytes):
                guard bytes.withUnsafeReadableBytes(\.isUTF8) else {
                    return self.close(context, Frame.close(CloseCode.invalidText.rawValue, "text must be UTF-8"))
                }
                self.send(Frame.text(bytes))
            case .binary(let bytes): self.send(Frame.binary(bytes))
            case .ping(let payload): self.send(Frame.pong(payload))
            case .pong: break
            case .close(let frame):
                self.socket.writeNow(answerTo: frame)
                return self.closeOnceSent(context)
            case .refused(let code, let reason): return self.close(context, Frame.close(code.rawValue, reason))
            }
        }
        if self.socket.isWaiting { _ = try? context.channel.syncOptions?.setOption(.autoRead, value: false) }
    }

    private func send(_ frame: [UInt8]) { frame.withUnsafeBytes { self.socket.writeNow($0) } }

    private func close(_ context: ChannelHandlerContext, _ frame: [UInt8]) {
        self.send(frame)
        self.closeOnceSent(context)
    }

    private func closeOnceSent(_ context: ChannelHandlerContext) {
        guard self.socket.isWaiting else { return context.close(promise: nil) }
        let channel = NIOLoopBound(context.channel, eventLoop: context.eventLoop)
        self.socket.onDrained = { channel.value.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

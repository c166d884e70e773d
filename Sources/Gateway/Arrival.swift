// A connection before it has asked for anything: counted, and given a little time for its handshake and its first
// request. What comes after, a session or plain HTTP, has deadlines of its own.

internal import EnrouteWire
internal import NIOCore
internal import SecureSocket
internal import Telemetry

/// The last handler until the first request is here. Confined to the channel's loop.
final class Arrival: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let loop: LoopState
    private let isSecure: Bool
    private var deadline: Deadline?

    init(loop: LoopState, isSecure: Bool) {
        self.loop = loop
        self.isSecure = isSecure
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let limits = self.loop.settings.limits
        if self.isSecure {
            self.allow(context, limits.handshakeSeconds, .handshakesTimedOut)
        } else {
            self.allow(context, limits.firstRequestSeconds, .requestsTimedOut)
        }
    }

    private func allow(_ context: ChannelHandlerContext, _ seconds: Int, _ metric: Metric) {
        self.deadline?.cancel()
        let (channel, counts) = (context.channel, self.loop.counts)
        self.deadline = self.loop.deadlines.after(.seconds(Int64(seconds))) {
            counts.add(metric)
            channel.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.deadline?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        self.deadline?.cancel()
        context.fireChannelInactive()
    }

    /// What came is no TLS, or no HTTP: there is nobody to wait for.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case SecureSocketEvent.handshakeCompleted:
            self.allow(context, self.loop.settings.limits.firstRequestSeconds, .requestsTimedOut)
        case is ChannelShouldQuiesceEvent: context.close(promise: nil)
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }
}

/// Ends an HTTP connection whose peer takes nothing of an answer. Confined to the channel's loop.
final class AnswerStall: ChannelInboundHandler {
    typealias InboundIn = Any

    private let loop: LoopState
    private let socket: SecureSocketHandler
    private var deadline: Deadline?
    /// Bytes that waited, here and in the kernel, when it was looked last.
    private var unsentBytes = 0

    init(loop: LoopState, socket: SecureSocketHandler) {
        self.loop = loop
        self.socket = socket
    }

    func handlerAdded(context: ChannelHandlerContext) { self.look(context.channel) }

    func channelInactive(context: ChannelHandlerContext) {
        self.deadline?.cancel()
        context.fireChannelInactive()
    }

    private func look(_ channel: any Channel) {
        self.deadline = self.loop.deadlines.after(.seconds(Int64(self.loop.settings.limits.stallSeconds))) {
            [weak self] in
            guard let self, channel.isActive else { return }
            let unsent = self.socket.isWaiting ? self.socket.unsentBytes : 0
            guard unsent == 0 || unsent != self.unsentBytes else {
                self.loop.counts.add(.writesStalled)
                return channel.close(promise: nil)
            }
            self.unsentBytes = unsent
            self.look(channel)
        }
    }
}

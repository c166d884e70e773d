// The NIOSSL twin: the module SecureSocket once more, on NIOSSL's handler and the channel's own way out instead of libssl
// and a direct `send`. A gateway built with ENROUTE_BUILD_TWIN=1 has it in the other's place, and nothing else differs, so
// the benchmarks can say what the direct write is worth.
//
// It is meant as a fair opponent, tuned as a gateway on NIOSSL would be:
// - one writeAndFlush for each message, without a promise; the plaintext goes through one buffer of the loop, which NIOSSL
//   has read by the time the call returns, so nothing is allocated for it;
// - what waits is learned from the channel's writability, an event that a quiet socket never fires, instead of from a
//   promise for each write. So up to `unseenBytes` may wait in the channel and count as taken;
// - only the inbound half of the pipeline passes through this handler: NIOSSL's is the first that a write meets.
//
// Different from the original: what waits is known in steps only (above), an end without close_notify is silent but costs
// an error inside NIOSSL, and on closing the peer's close_notify is waited for, `TLSContext.shutdownTimeout` at most.

internal import Glibc
package import NIOCore
internal import NIOSSL
internal import NIOTLS

/// TLS, or nothing, on an accepted socket. Puts NIOSSL's handler before itself. Confined to the channel's loop.
package final class SecureSocketHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// Bytes that may wait in the channel before `isWaiting` says so: more than one message, or each would fire the event
    /// twice, and few enough that positions are still conflated.
    static let unseenBytes = 4096

    private let loop: TLSLoop
    private let tls: NIOSSLServerHandler?
    private var context: ChannelHandlerContext?
    private var eventLoop: (any EventLoop)?
    private var isWriting = false
    private var hasFailed = false

    /// TLS version for logs, for example "TLSv1.3"; nil before the handshake is over, and on a plain socket.
    package private(set) var negotiatedVersion: String?
    /// Whether bytes can flow. A plain socket has no handshake: true from the start.
    package private(set) var isHandshakeComplete: Bool
    /// Whether more than `unseenBytes` are waiting for the kernel to take them.
    package private(set) var isWaiting = false
    /// Called on the loop each time the last waiting byte has been taken by the kernel; forgotten with the channel.
    package var onDrained: (() -> Void)?

    package init(loop: TLSLoop, tls: TLSContext?) {
        self.loop = loop
        self.tls = tls.map { NIOSSLServerHandler(context: $0.context) }
        self.isHandshakeComplete = tls == nil
    }

    /// Writes now, through NIOSSL and the channel. Unlike the original this may find the socket broken and close the
    /// channel; `onDrained` is never called from here.
    package func writeNow(_ bytes: UnsafeRawBufferPointer) {
        self.eventLoop?.preconditionInEventLoop()
        guard let context = self.context else { return }
        self.isWriting = true
        context.writeAndFlush(self.wrapOutboundOut(self.loop.plaintext(bytes)), promise: nil)
        self.isWriting = false
    }

    /// Bytes that wait for the kernel, of ciphertext; not asked on the hot path.
    package var waitingBytes: Int {
        (try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    /// Bytes that the peer has not taken: those that wait, and those in the kernel (ioctl_tcp(7), TIOCOUTQ).
    package var unsentBytes: Int {
        guard let channel = self.context?.channel, channel.isActive else { return self.waitingBytes }
        let inKernel = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { descriptor in
            var count: CInt = 0
            return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
        }
        return self.waitingBytes + (inKernel.flatMap { $0 } ?? 0)
    }

    /// Whether a close throws away what the kernel still holds.
    ///
    /// - Returns: `false` when the kernel refuses.
    package func setDiscardsUnsent(_ isOn: Bool) -> Bool {
        guard let channel = self.context?.channel, channel.isActive else { return true }
        let isSet = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            var atOnce = linger(l_onoff: isOn ? 1 : 0, l_linger: 0)
            return setsockopt($0, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size)) == 0
        }
        return isSet.flatMap { $0 } ?? true
    }

    /// Ends the connection at once, with what waits here and in the kernel.
    package func reset() -> Bool {
        let isDiscarded = self.setDiscardsUnsent(true)
        self.context?.close(mode: .all, promise: nil)
        return isDiscarded
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.eventLoop = context.eventLoop
        try? context.channel.syncOptions?.setOption(
            .writeBufferWaterMark, value: .init(low: 1, high: Self.unseenBytes))
        // Fails only when the channel is closed already, and then there is nobody to talk to.
        if let tls { try? context.pipeline.syncOperations.addHandler(tls, position: .before(self)) }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.onDrained = nil
    }

    /// NIOSSL keeps the 32 KB of which these bytes are a part. A reader that unmasks in place would copy them all, so it is
    /// given the bytes alone.
    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.tls != nil else { return context.fireChannelRead(data) }
        context.fireChannelRead(self.wrapInboundOut(ByteBuffer(buffer: self.unwrapInboundIn(data))))
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        let wasWaiting = self.isWaiting
        self.isWaiting = !context.channel.isWritable
        context.fireChannelWritabilityChanged()
        if wasWaiting && !self.isWaiting && !self.isWriting { self.onDrained?() }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? TLSUserEvent else { return context.fireUserInboundEventTriggered(event) }
        guard case .handshakeCompleted = event else { return }
        self.isHandshakeComplete = true
        self.negotiatedVersion = self.tls?.tlsVersion.map { $0 == .tlsv13 ? "TLSv1.3" : "TLSv1.2" }
        context.fireUserInboundEventTriggered(SecureSocketEvent.handshakeCompleted)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOSSLError.uncleanShutdown, is NIOSSLCloseTimedOutError: break
        case is NIOSSLError, is BoringSSLError:
            guard !self.hasFailed else { return }
            self.hasFailed = true
            let reason = "\(error)"
            context.fireErrorCaught(
                self.isHandshakeComplete
                    ? TLSError.protocolViolation(reason) : TLSError.handshakeFailed(reason) as any Error)
        default: context.fireErrorCaught(error)
        }
    }
}

/// Confined to a loop.
@available(*, unavailable)
extension SecureSocketHandler: Sendable {}

/// What the connections of one event loop share: a buffer for plaintext on its way to NIOSSL. Confined to its loop.
package final class TLSLoop {
    private var buffer = ByteBuffer()

    package init() { self.buffer.reserveCapacity(4096) }

    /// `bytes` as NIO wants them. The storage is used again as long as nobody kept the last one.
    func plaintext(_ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        self.buffer.clear()
        self.buffer.writeBytes(bytes)
        return self.buffer
    }
}

/// Confined to a loop.
@available(*, unavailable)
extension TLSLoop: Sendable {}

// The NIOSSL twin: the module SecureSocket reimplemented with NIOSSL's handler and the channel's own write path instead of
// libssl and a direct `send`. A gateway built with ENROUTE_BUILD_TWIN=1 uses it instead of the original, and nothing else
// differs, so that the benchmarks can measure the benefit of the direct write.
//
// It is meant as a fair comparison, tuned like a gateway on NIOSSL would be:
// - one writeAndFlush per message, without a promise; the plaintext is in one buffer of the loop, which NIOSSL has read when
//   the call returns, so nothing is allocated for it;
// - waiting bytes are detected by the channel's writability, an event that an idle socket never fires, instead of a promise
//   per write. So up to `unseenBytes` may wait in the channel and count as sent;
// - only inbound events pass through this handler: writes start at NIOSSL's handler.
//
// Differences from the original: the number of waiting bytes is known only in steps (see above), the end of a connection
// without close_notify is silent but costs an error inside NIOSSL, and closing waits up to `TLSContext.shutdownTimeout` for the
// peer's close_notify.

internal import Glibc
package import NIOCore
internal import NIOSSL
internal import NIOTLS

/// An accepted socket with or without TLS. Adds NIOSSL's handler before itself. Confined to the channel's loop.
package final class SecureSocketHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// Bytes that may wait in the channel before `isWaiting` is true: more than one message, or each would fire the event
    /// twice, and few enough that positions are still conflated.
    static let unseenBytes = 4096

    private let loop: TLSLoop
    private let tls: NIOSSLServerHandler?
    private var context: ChannelHandlerContext?
    private var eventLoop: (any EventLoop)?
    private var isWriting = false
    private var hasFailed = false

    /// The TLS version for logs, for example "TLSv1.3"; nil before the handshake completes, and on a plain socket.
    package private(set) var negotiatedVersion: String?
    /// Whether bytes can flow. A plain socket has no handshake, so it is true from the start.
    package private(set) var isHandshakeComplete: Bool
    /// Whether more than `unseenBytes` are waiting for the kernel.
    package private(set) var isWaiting = false
    /// Called on the loop each time the kernel has accepted the last waiting byte; cleared with the channel.
    package var onDrained: (() -> Void)?

    /// Not supported: each write leaves at once.
    package var gathersAnswers = false
    package func sendGathered() {}

    /// - Parameter inspectFirst: not supported.
    package init(loop: TLSLoop, tls: TLSContext?, inspectFirst: ((ByteBuffer) -> Void)? = nil) {
        self.loop = loop
        self.tls = tls.map { NIOSSLServerHandler(context: $0.context) }
        self.isHandshakeComplete = tls == nil
    }

    /// Writes through NIOSSL and the channel. Unlike the original, this may find the socket broken and close the channel;
    /// `onDrained` is never called from here.
    package func writeNow(_ bytes: UnsafeRawBufferPointer) {
        self.eventLoop?.preconditionInEventLoop()
        guard let context = self.context else { return }
        self.isWriting = true
        context.writeAndFlush(self.wrapOutboundOut(self.loop.plaintext(bytes)), promise: nil)
        self.isWriting = false
    }

    /// Bytes of ciphertext that are waiting for the kernel; not used on the hot path.
    package var waitingBytes: Int {
        (try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    /// Bytes that the peer has not received: those waiting here and those in the kernel (ioctl_tcp(7), TIOCOUTQ).
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

    /// Sets whether a close discards the bytes in the kernel.
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

    /// Closes the connection immediately and discards unsent bytes, here and in the kernel.
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
        // Fails only if the channel is already closed, and then there is no peer.
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

    /// NIOSSL retains the 32 KB buffer that contains these bytes. A reader that unmasks in place would copy all of it, so it
    /// gets only the bytes.
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

/// State shared by the connections of one event loop: a buffer for plaintext on its way to NIOSSL. Confined to its loop.
package final class TLSLoop {
    private var buffer = ByteBuffer()

    package init() { self.buffer.reserveCapacity(4096) }

    /// Returns `bytes` as a ByteBuffer. The storage is reused unless the previous one is still referenced.
    func plaintext(_ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        self.buffer.clear()
        self.buffer.writeBytes(bytes)
        return self.buffer
    }
}

/// Confined to a loop.
@available(*, unavailable)
extension TLSLoop: Sendable {}

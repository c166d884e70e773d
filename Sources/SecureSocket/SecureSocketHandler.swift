// The first handler of an accepted socket: ciphertext on one side, plaintext on the other, and a short way out.
//
// It joins the channel's events with `TLSConnection` (libssl, no socket) and `SocketDoor` (how bytes leave). Behind a
// balancer that ends TLS there is no `TLSConnection`, and all the rest is the same.
//
// Step 10 of 10 of the hot path. Before: Realtime/Relay/FollowedJob.swift
// Next: the follower's socket. `writeNow` encrypts into the loop's buffer and offers it to the kernel, with nothing
// allocated in between.
//
// A connection ends in four ways. The peer says close_notify: we answer it and close, or, with half-closure allowed, tell
// the pipeline that no more will come. The peer just goes: the channel tells that. We close: our close_notify follows what
// was written, and the peer's is not waited for (RFC 8446, 6.1). Or the rules are broken: libssl's alert is sent, the error
// fired once, the socket closed.

internal import HotPath
package import NIOCore

/// TLS, or nothing, on an accepted socket, with a direct write. Must be the first handler. Confined to the channel's loop.
package final class SecureSocketHandler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private let loop: TLSLoop
    private let door = SocketDoor()
    private var tls: TLSConnection?
    private var context: ChannelHandlerContext?
    /// Of plaintext that `tls` keeps.
    private var keptPromise: EventLoopPromise<Void>?
    /// Whether the peer's close_notify, or the end of the connection, was seen: nothing that it sends counts any more.
    private var isInputOver = false
    /// Whether our close_notify is written, or the connection broken: nothing is written any more.
    private var isOutputOver = false
    private var failure: TLSError?
    /// Whether somebody behind us asked for bytes and got none yet.
    private var isReadWanted = false

    /// TLS version for logs, for example "TLSv1.3"; nil before the handshake is over, and on a plain socket.
    package private(set) var negotiatedVersion: String?
    /// Whether bytes can flow. A plain socket has no handshake: true from the start.
    package private(set) var isHandshakeComplete: Bool

    package init(loop: TLSLoop, tls: TLSContext?) {
        self.loop = loop
        self.tls = tls.map { TLSConnection(context: $0, loop: loop) }
        self.isHandshakeComplete = tls == nil
    }

    /// Writes now: encrypts, and when nothing waits for this socket hands the bytes to the kernel at once. What it does not
    /// take waits in the channel, and every later byte behind it; what was written before is flushed first. Never closes,
    /// fires events or calls back: a failure of the socket surfaces later. Dropped once the output is closed.
    package func writeNow(_ bytes: UnsafeRawBufferPointer) {
        self.door.loop?.preconditionInEventLoop()
        guard !self.isOutputOver else { return }
        HotPath.pass(.secureSocketHandler)
        guard let tls = self.tls else {
            self.door.sendNow(bytes)
            return
        }
        switch tls.write(bytes) {
        case .encrypted: self.door.sendNow(self.loop.output)
        case .kept: break
        case .refused(let reason): self.failLater(reason)
        }
    }

    /// Whether bytes are waiting for the kernel to take them, or for the handshake.
    package var isWaiting: Bool { self.door.isWaiting || self.tls?.keepsPlaintext == true }

    /// Bytes that wait for the kernel. An upper bound: a piece that the channel holds counts until its last byte is taken.
    package var waitingBytes: Int { self.door.waitingBytes + (self.tls?.keptBytes ?? 0) }

    /// Bytes that the peer has not taken: those that wait, and those in the kernel's send buffer. Cost: a system call.
    package var unsentBytes: Int { self.door.unsentBytes + (self.tls?.keptBytes ?? 0) }

    /// Called on the loop each time the last waiting byte has been taken by the kernel; forgotten with the channel.
    package var onDrained: (() -> Void)? {
        get { self.door.onDrained }
        set { self.door.onDrained = newValue }
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.door.attach(context)
    }

    package func channelActive(context: ChannelHandlerContext) {
        self.door.open()
        context.fireChannelActive()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.end()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.end()
        self.door.detach()
        self.tls = nil
        self.context = nil
    }

    private func end() {
        self.isInputOver = true
        self.isOutputOver = true
        self.door.close()
        let promise = self.keptPromise
        self.keptPromise = nil
        promise?.fail(self.failure ?? ChannelError.ioOnClosedChannel as any Error)
    }

    // MARK: In

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let tls = self.tls else {
            context.fireChannelRead(data)
            return
        }
        guard !self.isInputOver else { return }
        let ciphertext = self.unwrapInboundIn(data)
        var plaintext = ByteBuffer()
        let hadKept = tls.keepsPlaintext
        let reading = tls.read(ciphertext, into: &plaintext)
        self.isInputOver = reading != .open
        let isFlooded = self.sendAnswer(of: tls, hadKept: hadKept)
        if tls.isHandshakeComplete && !self.isHandshakeComplete {
            self.isHandshakeComplete = true
            self.negotiatedVersion = tls.version
            context.fireUserInboundEventTriggered(SecureSocketEvent.handshakeCompleted)
        }
        // Whoever is called may close the channel, and nothing is read from one that is closed.
        guard context.channel.isActive else { return }
        let hasBytes = plaintext.readableBytes > 0
        if hasBytes {
            self.isReadWanted = false
            context.fireChannelRead(self.wrapInboundOut(plaintext))
        }
        switch reading {
        case .open where isFlooded: self.fail("the peer does not read the answers it asks for")
        case .open: break
        case .ended: self.peerEnded(context, hasBytes: hasBytes)
        case .failed(let reason): self.fail(reason)
        }
    }

    /// Sends what libssl wrote while it read, which includes plaintext that was kept until now. Whether that was too much.
    private func sendAnswer(of tls: TLSConnection, hadKept: Bool) -> Bool {
        let isReleased = hadKept && !tls.keepsPlaintext
        if isReleased, let promise = self.keptPromise {
            self.keptPromise = nil
            self.door.append(ByteBuffer(), promise: promise)
        }
        guard self.loop.output.count > 0 || isReleased else { return false }
        let isFlooded = self.door.answerNow(self.loop.output)
        if isReleased && !self.door.isWaiting { self.onDrained?() }
        return isFlooded
    }

    private func peerEnded(_ context: ChannelHandlerContext, hasBytes: Bool) {
        // The option can be asked for only while the channel is open; the pipeline may have closed it just now.
        guard context.channel.isActive else { return }
        let allowsHalfClosure = try? context.channel.syncOptions?.getOption(.allowRemoteHalfClosure)
        // With our half closed too, the channel waits for nothing but its own bytes, if there are any.
        if allowsHalfClosure == true && (!self.isOutputOver || self.door.isWaiting) {
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        } else {
            // The channel is silent once it is closed, so the bytes just read get their end from here.
            if hasBytes { context.fireChannelReadComplete() }
            self.close(context: context, mode: .all, promise: nil)
        }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // Whoever asked for bytes has no other reason to ask again, and got a part of a handshake or of a record.
        if self.isReadWanted && self.tls != nil && !self.isInputOver { context.read() }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard self.tls != nil, let event = event as? ChannelEvent, event == .inputClosed else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        if !self.isHandshakeComplete {
            // Nobody is left to finish the handshake with.
            context.close(mode: .all, promise: nil)
        } else if !self.isInputOver {
            self.isInputOver = true
            context.fireUserInboundEventTriggered(event)
        }
    }

    // MARK: Out

    package func read(context: ChannelHandlerContext) {
        self.isReadWanted = true
        context.read()
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !self.isOutputOver else {
            promise?.fail(self.failure ?? ChannelError.outputClosed as any Error)
            return
        }
        let plaintext = self.unwrapOutboundIn(data)
        guard let tls = self.tls else {
            self.door.append(plaintext, promise: promise)
            return
        }
        switch plaintext.withUnsafeReadableBytes({ tls.write($0) }) {
        case .encrypted: self.door.append(ByteBuffer(bytes: self.loop.output), promise: promise)
        case .kept: self.keptPromise.setOrCascade(to: promise)
        case .refused(let reason):
            promise?.fail(self.error(reason))
            self.failLater(reason)
        }
    }

    package func flush(context: ChannelHandlerContext) { self.door.flush() }

    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode != .input && !self.isOutputOver {
            self.isOutputOver = true
            if let tls = self.tls {
                tls.shutdown()
                self.door.append(ByteBuffer(bytes: self.loop.output), promise: nil)
            }
            self.door.flush()
        }
        context.close(mode: mode, promise: promise)
    }

    /// Whether a close, whoever closes, throws away what the kernel still holds, where it would be sent on for minutes.
    ///
    /// - Returns: `false` when the kernel refuses.
    package func setDiscardsUnsent(_ isOn: Bool) -> Bool { self.door.setDiscardsUnsent(isOn) }

    /// Ends the connection at once, with what waits here and in the kernel: the peer gets no byte more, and a reset.
    ///
    /// - Returns: `false` when the kernel keeps what it holds, and may send it on after the close.
    package func reset() -> Bool {
        guard let context = self.context, context.channel.isActive else { return true }
        self.isInputOver = true
        self.isOutputOver = true
        let isDiscarded = self.door.setDiscardsUnsent(true)
        context.close(mode: .all, promise: nil)
        return isDiscarded
    }

    private func error(_ reason: String) -> TLSError {
        self.isHandshakeComplete ? .protocolViolation(reason) : .handshakeFailed(reason)
    }

    private func fail(_ reason: String) {
        guard self.failure == nil, let context = self.context, context.channel.isActive else { return }
        let error = self.error(reason)
        self.failure = error
        self.isInputOver = true
        self.isOutputOver = true
        context.fireErrorCaught(error)
        context.close(mode: .all, promise: nil)
    }

    /// For `writeNow`, which calls nobody.
    private func failLater(_ reason: String) {
        self.isOutputOver = true
        self.door.loop?.assumeIsolated().execute { self.fail(reason) }
    }
}

/// Confined to a loop.
@available(*, unavailable)
extension SecureSocketHandler: Sendable {}

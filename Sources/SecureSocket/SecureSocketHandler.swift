// The first handler of an accepted socket: ciphertext on one side, plaintext on the other, and a direct write.
//
// It connects the channel's events with `TLSConnection` (libssl, no socket) and `SocketWriter` (sends bytes). Behind a load
// balancer that terminates TLS there is no `TLSConnection`; everything else is the same.
//
// Step 10 of 10 of the hot path. Before: Realtime/Relay/FollowedJob.swift
// Next: the follower's socket. `writeNow` encrypts into the loop's buffer and offers it to the kernel, without any allocation
// in between.
//
// A connection ends in one of four ways. The peer sends close_notify: we answer it and close or, if half-closure is allowed,
// signal the end of input to the pipeline. The peer disconnects: the channel reports it. We close: our close_notify follows the
// written bytes, and the peer's is not awaited (RFC 8446, 6.1). A protocol violation: libssl's alert is sent, the error is
// fired once, and the socket is closed.

internal import HotPath
package import NIOCore

/// An accepted socket with or without TLS, and with a direct write. Must be the first handler. Confined to the channel's loop.
package final class SecureSocketHandler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private let loop: TLSLoop
    private let writer = SocketWriter()
    private var tls: TLSConnection?
    private var context: ChannelHandlerContext?
    /// Completes when the plaintext buffered in `tls` has been written.
    private var bufferedPromise: EventLoopPromise<Void>?
    /// Whether the peer sent close_notify or the connection ended: further input is ignored.
    private var isInputOver = false
    /// Whether our close_notify has been written or the connection has failed: nothing can be written.
    private var isOutputOver = false
    private var failure: TLSError?
    /// Whether a handler behind this one called `read` and has not received any bytes yet.
    private var isReadWanted = false
    /// Receives the first bytes of the connection, before TLS reads them.
    private var inspectFirst: ((ByteBuffer) -> Void)?
    /// Whether everything that is sent while a read is handled leaves with one `send`: the session ticket, the answer to an
    /// upgrade request, and the first messages of the session. Switched off for an open session, so that its messages leave
    /// immediately.
    package var gathersAnswers = true

    /// The TLS version for logs, for example "TLSv1.3"; nil before the handshake completes, and on a plain socket.
    package private(set) var negotiatedVersion: String?
    /// Whether bytes can flow. A plain socket has no handshake, so it is true from the start.
    package private(set) var isHandshakeComplete: Bool

    /// - Parameter inspectFirst: called once, with the first bytes of the connection, before TLS reads them.
    package init(loop: TLSLoop, tls: TLSContext?, inspectFirst: ((ByteBuffer) -> Void)? = nil) {
        self.loop = loop
        self.inspectFirst = inspectFirst
        self.tls = tls.map { TLSConnection(context: $0, loop: loop) }
        self.isHandshakeComplete = tls == nil
    }

    /// Encrypts and, if nothing is queued for this socket, passes the bytes to the kernel immediately. Bytes that the kernel
    /// does not accept wait in the channel, and every later byte queues behind them; earlier writes are flushed first. Never
    /// closes, fires events or calls back: a socket error surfaces later. Dropped once the output is closed.
    package func writeNow(_ bytes: UnsafeRawBufferPointer) {
        self.writer.loop?.preconditionInEventLoop()
        guard !self.isOutputOver else { return }
        HotPath.pass(.secureSocketHandler)
        guard let tls = self.tls else {
            self.writer.sendNow(bytes)
            return
        }
        switch tls.write(bytes) {
        case .encrypted: self.writer.sendNow(self.loop.output)
        case .buffered: break
        case .refused(let reason): self.failLater(reason)
        }
    }

    /// Whether bytes are waiting for the kernel or for the handshake.
    package var isWaiting: Bool { self.writer.isWaiting || self.tls?.hasBufferedPlaintext == true }

    /// Bytes that are waiting for the kernel. An upper bound: a chunk in the channel counts until its last byte is accepted.
    package var waitingBytes: Int { self.writer.waitingBytes + (self.tls?.bufferedBytes ?? 0) }

    /// Bytes that the peer has not received: those waiting here and those in the kernel's send buffer. Costs a system call.
    package var unsentBytes: Int { self.writer.unsentBytes + (self.tls?.bufferedBytes ?? 0) }

    /// Sends what was gathered for the end of the current read; before a decision that depends on `isWaiting`.
    package func sendGathered() { self.writer.sendGathered() }

    /// Called on the loop each time the kernel has accepted the last waiting byte; cleared with the channel.
    package var onDrained: (() -> Void)? {
        get { self.writer.onDrained }
        set { self.writer.onDrained = newValue }
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.writer.attach(context)
    }

    package func channelActive(context: ChannelHandlerContext) {
        self.writer.open()
        context.fireChannelActive()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.end()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.end()
        self.writer.detach()
        self.tls = nil
        self.inspectFirst = nil
        self.context = nil
    }

    private func end() {
        self.isInputOver = true
        self.isOutputOver = true
        self.writer.close()
        let promise = self.bufferedPromise
        self.bufferedPromise = nil
        promise?.fail(self.failure ?? ChannelError.ioOnClosedChannel as any Error)
    }

    // MARK: Inbound

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let inspect = self.inspectFirst {
            self.inspectFirst = nil
            inspect(self.unwrapInboundIn(data))
        }
        guard self.gathersAnswers else { return self.received(data, context) }
        self.writer.gather()
        self.received(data, context)
        self.writer.sendGathered()
        // So far nothing has noticed that the kernel did not accept everything.
        if self.writer.isWaiting { context.fireUserInboundEventTriggered(SecureSocketEvent.unsent) }
    }

    private func received(_ data: NIOAny, _ context: ChannelHandlerContext) {
        guard let tls = self.tls else {
            context.fireChannelRead(data)
            return
        }
        guard !self.isInputOver else { return }
        let ciphertext = self.unwrapInboundIn(data)
        var plaintext = ByteBuffer()
        let hadBuffered = tls.hasBufferedPlaintext
        let reading = tls.read(ciphertext, into: &plaintext)
        self.isInputOver = reading != .open
        let isFlooded = self.sendAnswer(of: tls, hadBuffered: hadBuffered)
        if tls.isHandshakeComplete && !self.isHandshakeComplete {
            self.isHandshakeComplete = true
            self.negotiatedVersion = tls.version
            context.fireUserInboundEventTriggered(SecureSocketEvent.handshakeCompleted)
        }
        // A handler may close the channel when it is called. A closed channel must not be read.
        guard context.channel.isActive else { return }
        let hasBytes = plaintext.readableBytes > 0
        if hasBytes {
            self.isReadWanted = false
            context.fireChannelRead(self.wrapInboundOut(plaintext))
        }
        switch reading {
        case .open where isFlooded: self.fail("the peer does not read the responses it causes")
        case .open: break
        case .ended: self.peerEnded(context, hasBytes: hasBytes)
        case .failed(let reason): self.fail(reason)
        }
    }

    /// Sends what libssl wrote while reading, including plaintext that was buffered. Returns whether that exceeds the limit.
    private func sendAnswer(of tls: TLSConnection, hadBuffered: Bool) -> Bool {
        let isReleased = hadBuffered && !tls.hasBufferedPlaintext
        if isReleased, let promise = self.bufferedPromise {
            self.bufferedPromise = nil
            self.writer.append(ByteBuffer(), promise: promise)
        }
        guard self.loop.output.count > 0 || isReleased else { return false }
        let isFlooded = self.writer.answerNow(self.loop.output)
        if isReleased && !self.writer.isWaiting { self.onDrained?() }
        return isFlooded
    }

    private func peerEnded(_ context: ChannelHandlerContext, hasBytes: Bool) {
        // The option can be read only while the channel is open, and a handler may just have closed it.
        guard context.channel.isActive else { return }
        let allowsHalfClosure = try? context.channel.syncOptions?.getOption(.allowRemoteHalfClosure)
        // Both directions are closed now: the channel only waits for its own unsent bytes.
        if allowsHalfClosure == true && (!self.isOutputOver || self.writer.isWaiting) {
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        } else {
            // A closed channel fires no more events, so the end of the read is reported from here.
            if hasBytes { context.fireChannelReadComplete() }
            self.close(context: context, mode: .all, promise: nil)
        }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // Only a part of a handshake or of a record was received, so the reader got nothing and would not read again.
        if self.isReadWanted && self.tls != nil && !self.isInputOver { context.read() }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard self.tls != nil, let event = event as? ChannelEvent, event == .inputClosed else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        if !self.isHandshakeComplete {
            // The peer that should finish the handshake has disconnected.
            context.close(mode: .all, promise: nil)
        } else if !self.isInputOver {
            self.isInputOver = true
            context.fireUserInboundEventTriggered(event)
        }
    }

    // MARK: Outbound

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
            self.writer.append(plaintext, promise: promise)
            return
        }
        switch plaintext.withUnsafeReadableBytes({ tls.write($0) }) {
        case .encrypted: self.writer.append(ByteBuffer(bytes: self.loop.output), promise: promise)
        case .buffered: self.bufferedPromise.setOrCascade(to: promise)
        case .refused(let reason):
            promise?.fail(self.error(reason))
            self.failLater(reason)
        }
    }

    package func flush(context: ChannelHandlerContext) { self.writer.flush() }

    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode != .input && !self.isOutputOver {
            self.isOutputOver = true
            if let tls = self.tls {
                tls.shutdown()
                self.writer.append(ByteBuffer(bytes: self.loop.output), promise: nil)
            }
            self.writer.sendGathered()
            self.writer.flush()
        }
        context.close(mode: mode, promise: promise)
    }

    /// Sets whether closing the socket, from either side, discards the bytes in the kernel, which would otherwise be sent for
    /// minutes.
    ///
    /// - Returns: `false` when the kernel refuses.
    package func setDiscardsUnsent(_ isOn: Bool) -> Bool { self.writer.setDiscardsUnsent(isOn) }

    /// Closes the connection immediately and discards unsent bytes, here and in the kernel: the peer receives a reset.
    ///
    /// - Returns: `false` when the kernel keeps its bytes, and may send them after the close.
    package func reset() -> Bool {
        guard let context = self.context, context.channel.isActive else { return true }
        self.isInputOver = true
        self.isOutputOver = true
        let isDiscarded = self.writer.setDiscardsUnsent(true)
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
        // The alert for the peer.
        self.writer.sendGathered()
        context.fireErrorCaught(error)
        context.close(mode: .all, promise: nil)
    }

    /// Fails the connection later, for `writeNow`, which must not call back.
    private func failLater(_ reason: String) {
        self.isOutputOver = true
        self.writer.loop?.assumeIsolated().execute { self.fail(reason) }
    }
}

/// Confined to a loop.
@available(*, unavailable)
extension SecureSocketHandler: Sendable {}

// The first handler of an accepted socket: ciphertext on one side, plaintext on the other, and a direct write.
//
// It connects the channel's events with `TLSConnection` (libssl, no socket) and `SocketWriter` (sends bytes). Behind a load
// balancer that terminates TLS there is no `TLSConnection`; everything else is the same.
//
// Step 10 of 10 of the hot path. Before: Realtime/Relay/FollowedJob.swift
// Next: the follower's socket. `writeNow` encrypts into the loop's buffer and offers it to the kernel, without any allocation
// in between.
//
// SecureSocketEnd says how a connection ends.

internal import HotPath
package import NIOCore

/// An accepted socket with or without TLS, and with a direct write. Must be the first handler. Confined to the channel's loop.
package final class SecureSocketHandler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    let loop: TLSLoop
    let writer = SocketWriter()
    private(set) var tls: TLSConnection?
    private(set) var context: ChannelHandlerContext?
    /// Completes when the plaintext buffered in `tls` has been written.
    var bufferedPromise: EventLoopPromise<Void>?
    /// Whether the peer sent close_notify or the connection ended: further input is ignored.
    var isInputOver = false
    /// Whether our close_notify has been written or the connection has failed: nothing can be written.
    var isOutputOver = false
    var failure: TLSError?
    /// Whether a handler behind this one has called `read` and has not received any bytes yet.
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

    /// Sends what was gathered for the end of the current read. Call it before a decision that depends on `isWaiting`.
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
        // No other handler knows yet that the kernel did not accept everything.
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
}

/// Confined to a loop.
@available(*, unavailable)
extension SecureSocketHandler: Sendable {}

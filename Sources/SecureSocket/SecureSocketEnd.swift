// A connection ends in one of four ways. The peer sends close_notify: we answer it and close or, if half-closure is allowed,
// signal the end of input to the pipeline. The peer disconnects: the channel reports it. We close: our close_notify follows the
// written bytes, and the peer's is not awaited (RFC 8446, 6.1). A protocol violation: libssl's alert is sent, the error is
// fired once, and the socket is closed.

package import NIOCore

extension SecureSocketHandler {
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

    func error(_ reason: String) -> TLSError {
        self.isHandshakeComplete ? .protocolViolation(reason) : .handshakeFailed(reason)
    }

    /// Closes the connection because of a protocol violation.
    func fail(_ reason: String) {
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
    func failLater(_ reason: String) {
        self.isOutputOver = true
        self.writer.loop?.assumeIsolated().execute { self.fail(reason) }
    }

    /// The peer sent close_notify.
    func peerEnded(_ context: ChannelHandlerContext, hasBytes: Bool) {
        // The option can be read only while the channel is open, and a handler may just have closed it.
        guard context.channel.isActive else { return }
        let allowsHalfClosure = try? context.channel.syncOptions?.getOption(.allowRemoteHalfClosure)
        // If our side is closed too, the channel stays open only for its unsent bytes.
        if allowsHalfClosure == true && (!self.isOutputOver || self.writer.isWaiting) {
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        } else {
            // A closed channel fires no more events, so the end of the read is reported from here.
            if hasBytes { context.fireChannelReadComplete() }
            self.close(context: context, mode: .all, promise: nil)
        }
    }

    /// The connection has ended: nothing can be read or written, and the buffered plaintext is lost.
    func end() {
        self.isInputOver = true
        self.isOutputOver = true
        self.writer.close()
        let promise = self.bufferedPromise
        self.bufferedPromise = nil
        promise?.fail(self.failure ?? ChannelError.ioOnClosedChannel as any Error)
    }
}

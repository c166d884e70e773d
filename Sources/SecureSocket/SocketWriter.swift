// The only path for outgoing bytes: directly to the kernel when nothing is queued, otherwise through the channel.
//
// Writing through the channel costs a walk through the pipeline, an existential box, a queue of pending writes and a promise,
// for bytes that the kernel nearly always accepts immediately. So they are offered to the kernel first, with `send`. Bytes that
// it does not accept go to the channel, which waits until the socket is writable again; while the channel holds any of our
// bytes, every later one goes to the channel too. So bytes never overtake each other:
//
//     queue      written but not flushed, or just rejected by the kernel   ── in order ──▶
//     channel    passed on; the channel waits for the kernel               ── in order ──▶  kernel
//     send       only when both are empty
//
// `sendNow` is called while iterating over many sockets, so it touches only the kernel and the queue. Passing bytes to the
// channel is left to a task on the loop, because the channel may find the socket broken, close itself and fire events. For the
// same reason `sendNow` does not handle an error of `send`: the bytes count as rejected, the channel gets the same error when
// it tries them, and closes in its usual way.
//
// The channel owns the descriptor. After the channel has closed it, the number may belong to another socket, on another loop,
// and a byte sent to it would reach the wrong person. `BaseSocketChannel.close0` closes the descriptor and then clears
// `isActive`, both on the loop and without a callout in between, so on the loop `channel.isActive` is reliable: it is checked
// before every `send`. `channelInactive` and `handlerRemoved` then make this object forget the number.

internal import Glibc
internal import NIOCore

/// Confined to the loop of its channel.
final class SocketWriter {
    private enum State { case connecting, open, ended }

    /// The maximum size of libssl's answers (KeyUpdate, alerts) that the peer has caused and not read.
    static let unreadAnswersLimitBytes = 64 * 1024

    /// The maximum number of bytes that are gathered for one `send`.
    static let gatheredLimitBytes = 16 * 1024

    /// Do not block, and report a disconnected peer as an error rather than by a signal.
    private static let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)

    /// Called each time the kernel has accepted the last waiting byte; never from within `sendNow`.
    var onDrained: (() -> Void)?

    private var state = State.connecting
    private var context: ChannelHandlerContext?
    /// Stored in addition to the context, whose `channel` goes through the pipeline each time.
    private var channel: (any Channel)?
    private(set) var loop: (any EventLoop)?
    /// `nil` if the channel is not a socket (`EmbeddedChannel`) or has been closed.
    private var descriptor: CInt?

    private var queue = ByteBuffer()
    /// Completes when the kernel has accepted everything in `queue`.
    private var promise: EventLoopPromise<Void>?
    /// Whether `queue` waits to be passed to the channel: flushed, but rejected by the kernel.
    private var isHeld = false
    /// Whether `queue` gathers small messages for one `send`.
    private var isGathering = false
    private var bytesInChannel = 0
    /// How many of the waiting bytes are answers that the peer caused and does not read.
    private var unreadAnswerBytes = 0

    /// Whether bytes were flushed that the kernel has not accepted.
    var isWaiting: Bool { self.isHeld || self.bytesInChannel > 0 }

    /// A chunk that was passed to the channel counts as a whole until its last byte is accepted.
    var waitingBytes: Int { self.bytesInChannel + (self.isHeld || self.isGathering ? self.queue.readableBytes : 0) }

    /// Bytes that the peer has not received: those waiting here and those in the kernel (ioctl_tcp(7), TIOCOUTQ).
    var unsentBytes: Int {
        guard let descriptor = self.descriptor, self.channel?.isActive == true else { return self.waitingBytes }
        var inKernel: CInt = 0
        return self.waitingBytes + (ioctl(descriptor, UInt(TIOCOUTQ), &inKernel) == 0 ? Int(inKernel) : 0)
    }

    /// Sets whether closing the descriptor discards the bytes in the kernel instead of sending them (socket(7), SO_LINGER).
    ///
    /// - Returns: `false` when the kernel refuses: its bytes will still be sent after a close. A connection that is not a
    ///   socket, or that has ended, has nothing to discard.
    func setDiscardsUnsent(_ isOn: Bool) -> Bool {
        guard let descriptor = self.descriptor, self.channel?.isActive == true else { return true }
        var atOnce = linger(l_onoff: isOn ? 1 : 0, l_linger: 0)
        return setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size)) == 0
    }

    /// Called in `handlerAdded`.
    func attach(_ context: ChannelHandlerContext) {
        self.context = context
        self.channel = context.channel
        self.loop = context.eventLoop
        if context.channel.isActive { self.open() }
    }

    /// Called in `channelActive`: the connection is established and can be written to.
    func open() {
        guard self.state == .connecting, let context = self.context else { return }
        self.state = .open
        self.descriptor = try? context.channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { $0 }
        if self.isHeld { self.flush() }
    }

    /// Forgets the descriptor and all waiting bytes. Called in `channelInactive` and `handlerRemoved`.
    func close() {
        self.state = .ended
        self.isGathering = false
        self.descriptor = nil
        self.queue = ByteBuffer()
        self.isHeld = false
        let promise = self.promise.take()
        promise?.fail(ChannelError.ioOnClosedChannel)
    }

    /// Breaks the reference cycle between the channel, the pipeline and this object. Called in `handlerRemoved`.
    func detach() {
        self.close()
        self.context = nil
        self.channel = nil
        self.onDrained = nil
    }

    /// Adds to the queue; a `flush` or `sendNow` sends it.
    func append(_ bytes: ByteBuffer, promise: EventLoopPromise<Void>?) {
        guard self.state != .ended else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        if self.queue.readableBytes == 0 {
            self.queue = bytes
        } else {
            self.queue.writeImmutableBuffer(bytes)
        }
        self.promise.setOrCascade(to: promise)
    }

    /// Sends `bytes` after everything appended before. Does not call back.
    func sendNow(_ bytes: UnsafeRawBufferPointer) {
        guard self.state != .ended else { return }
        if self.isGathering, !self.isWaiting,
            self.queue.readableBytes + bytes.count <= Self.gatheredLimitBytes
        {
            self.queue.writeBytes(bytes)
            return
        }
        guard self.queue.readableBytes == 0 && self.promise == nil else {
            self.queue.writeBytes(bytes)
            self.sendQueueLater()
            return
        }
        let accepted = self.bytesInChannel == 0 ? self.offer(bytes) : 0
        guard accepted < bytes.count else { return }
        self.queue.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[accepted...]))
        self.queueForChannel()
    }

    /// Sends an answer of libssl, like `sendNow`. Returns whether the peer leaves too many answers unread, and must be
    /// disconnected.
    func answerNow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        self.sendNow(bytes)
        self.unreadAnswerBytes = self.isWaiting ? self.unreadAnswerBytes + bytes.count : 0
        return self.unreadAnswerBytes > Self.unreadAnswersLimitBytes
    }

    /// Starts to gather: bytes that could be sent now wait for `sendGathered`, so that several messages cost one system call
    /// and one packet. A write with a promise is not delayed.
    func gather() { self.isGathering = self.state == .open }

    /// Sends what was gathered, like `flush`.
    func sendGathered() {
        guard self.isGathering else { return }
        self.isGathering = false
        self.flush()
    }

    /// Sends everything appended. May complete promises, and close the channel if the socket is broken.
    func flush() {
        guard self.queue.readableBytes > 0 || self.promise != nil, self.state != .ended else { return }
        if self.isGathering, self.promise == nil, !self.isWaiting { return }
        guard self.state == .open else {
            self.isHeld = true
            return
        }
        if self.offerQueue() {
            let promise = self.promise.take()
            promise?.succeed(())
        } else {
            self.handOver()
        }
    }

    private func sendQueueLater() {
        if self.state == .open, self.offerQueue() {
            // Promises call back, so they are completed later, on the loop.
            guard let promise = self.promise.take() else { return }
            self.loop?.execute { promise.succeed(()) }
        } else {
            self.queueForChannel()
        }
    }

    /// Returns whether the kernel has accepted the whole queue.
    private func offerQueue() -> Bool {
        guard self.bytesInChannel == 0 && !self.isHeld else { return false }
        let accepted = self.queue.withUnsafeReadableBytes { self.offer($0) }
        guard accepted == self.queue.readableBytes else {
            self.queue.moveReaderIndex(forwardBy: accepted)
            return false
        }
        // Released rather than cleared: most connections write through the pipeline only at the beginning.
        self.queue = ByteBuffer()
        return true
    }

    /// Returns how many bytes the kernel accepts now.
    private func offer(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !bytes.isEmpty, let descriptor = self.descriptor, let channel = self.channel, channel.isActive else {
            return 0
        }
        while true {
            let accepted = send(descriptor, bytes.baseAddress, bytes.count, Self.flags)
            guard accepted < 0 else { return accepted }
            // The channel will get any other error too; see above.
            guard errno == EINTR else { return 0 }
        }
    }

    private func queueForChannel() {
        guard !self.isHeld else { return }
        self.isHeld = true
        guard self.state == .open, let loop = self.loop else { return }
        loop.assumeIsolated().execute {
            if self.isHeld { self.handOver() }
        }
    }

    private func handOver() {
        guard self.state == .open, let context = self.context else { return }
        let bytes = self.queue
        let count = bytes.readableBytes
        let promise = self.promise.take()
        self.queue = ByteBuffer()
        self.isHeld = false
        self.bytesInChannel += count
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { result in
            self.bytesInChannel -= count
            promise?.completeWith(result)
            guard case .success = result, count > 0, !self.isWaiting else { return }
            self.unreadAnswerBytes = 0
            self.onDrained?()
        }
        context.writeAndFlush(NIOAny(bytes), promise: written)
    }
}

extension Optional {
    /// Returns the value and leaves `nil` behind, because the code that is called with the value may come back here.
    fileprivate mutating func take() -> Wrapped? {
        defer { self = nil }
        return self
    }
}

// The one door out of a connection: straight to the kernel when nothing waits, through the channel when something does.
//
// A channel's own way out costs a walk through the pipeline, an existential box, a queue of pending writes and a promise
// for bytes that the kernel nearly always takes at once. So they are offered to the kernel first, with `send`. What it
// does not take is handed to the channel, which waits until the socket can be written to again; and as long as the channel
// holds a byte of ours, every later one goes to the channel too. So bytes never overtake each other:
//
//     queue      written and not flushed, or refused by the kernel a moment ago   ── in order ──▶
//     channel    handed over, the channel waits for the kernel                    ── in order ──▶  kernel
//     send       only when both are empty
//
// `sendNow` is called in the middle of a walk over many sockets, so it touches nothing but the kernel and the queue:
// handing over (which may find the socket broken, close the channel and fire events) is left to a task on the loop. For
// the same reason an error of `send` is not acted upon: the bytes count as refused, the channel meets the same error when
// it tries them, and ends as a channel ends.
//
// The descriptor belongs to the channel. After the channel has closed it, the number may name somebody else's socket, on
// another loop; a byte sent to it would reach the wrong person. `BaseSocketChannel.close0` closes the descriptor and then
// clears `isActive`, both on the loop and with no call to anybody in between, so on the loop `channel.isActive` is the
// truth: it is asked before every `send`. `channelInactive` and `handlerRemoved` then make this object forget the number.

internal import Glibc
internal import NIOCore

/// Confined to the loop of its channel.
final class SocketDoor {
    private enum State { case early, open, ended }

    /// Answers of libssl (KeyUpdate, alerts) that a peer may leave unread.
    static let unreadAnswersLimitBytes = 64 * 1024

    /// Never blocks, and a peer that is gone is an error rather than a signal.
    private static let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)

    /// Called each time the last waiting byte has been taken by the kernel; never from within `sendNow`.
    var onDrained: (() -> Void)?

    private var state = State.early
    private var context: ChannelHandlerContext?
    /// Kept besides the context: asking that for it goes through the pipeline each time.
    private var channel: (any Channel)?
    private(set) var loop: (any EventLoop)?
    /// nil: not a socket (`EmbeddedChannel`), or none any more.
    private var descriptor: CInt?

    private var queue = ByteBuffer()
    /// Completes when the kernel has taken all that is in `queue`.
    private var promise: EventLoopPromise<Void>?
    /// Whether `queue` is on its way to the channel: flushed, refused by the kernel, to be handed over.
    private var isHeld = false
    private var bytesInChannel = 0
    /// Of the waiting bytes, those that answer the peer: it caused them, and does not take them.
    private var unreadAnswerBytes = 0

    /// Whether bytes were flushed that the kernel has not taken.
    var isWaiting: Bool { self.isHeld || self.bytesInChannel > 0 }

    /// A piece that was handed to the channel counts as a whole until its last byte is taken.
    var waitingBytes: Int { self.bytesInChannel + (self.isHeld ? self.queue.readableBytes : 0) }

    /// Bytes that the peer has not taken: those that wait here, and those in the kernel (ioctl_tcp(7), TIOCOUTQ).
    var unsentBytes: Int {
        guard let descriptor = self.descriptor, self.channel?.isActive == true else { return self.waitingBytes }
        var inKernel: CInt = 0
        return self.waitingBytes + (ioctl(descriptor, UInt(TIOCOUTQ), &inKernel) == 0 ? Int(inKernel) : 0)
    }

    /// Whether what the kernel holds is thrown away when the descriptor is closed, not sent (socket(7), SO_LINGER).
    ///
    /// - Returns: `false` when the kernel refuses: what it holds will be sent on, whoever closes. A connection that is no
    ///   socket, or is over, has nothing to throw away.
    func setDiscardsUnsent(_ isOn: Bool) -> Bool {
        guard let descriptor = self.descriptor, self.channel?.isActive == true else { return true }
        var atOnce = linger(l_onoff: isOn ? 1 : 0, l_linger: 0)
        return setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size)) == 0
    }

    /// `handlerAdded`
    func attach(_ context: ChannelHandlerContext) {
        self.context = context
        self.channel = context.channel
        self.loop = context.eventLoop
        if context.channel.isActive { self.open() }
    }

    /// `channelActive`: from now on there is a connection to write to.
    func open() {
        guard self.state == .early, let context = self.context else { return }
        self.state = .open
        self.descriptor = try? context.channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { $0 }
        if self.isHeld { self.flush() }
    }

    /// `channelInactive`, `handlerRemoved`: forgets the descriptor and everything that waits.
    func close() {
        self.state = .ended
        self.descriptor = nil
        self.queue = ByteBuffer()
        self.isHeld = false
        let promise = self.promise.take()
        promise?.fail(ChannelError.ioOnClosedChannel)
    }

    /// `handlerRemoved`: the channel, the pipeline and this object hold each other no longer.
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

    /// Sends `bytes` after everything that was appended before. Calls nobody.
    func sendNow(_ bytes: UnsafeRawBufferPointer) {
        guard self.state != .ended else { return }
        guard self.queue.readableBytes == 0 && self.promise == nil else {
            self.queue.writeBytes(bytes)
            self.sendQueueLater()
            return
        }
        let taken = self.bytesInChannel == 0 ? self.offer(bytes) : 0
        guard taken < bytes.count else { return }
        self.queue.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[taken...]))
        self.hold()
    }

    /// Sends what libssl has to answer, like `sendNow`. Whether the peer leaves too much of it unread, and is to be cut off.
    func answerNow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        self.sendNow(bytes)
        self.unreadAnswerBytes = self.isWaiting ? self.unreadAnswerBytes + bytes.count : 0
        return self.unreadAnswerBytes > Self.unreadAnswersLimitBytes
    }

    /// Sends everything that was appended. May complete promises, and close the channel if the socket is broken.
    func flush() {
        guard self.queue.readableBytes > 0 || self.promise != nil, self.state != .ended else { return }
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
            // Promises call back, so they wait for the loop.
            guard let promise = self.promise.take() else { return }
            self.loop?.execute { promise.succeed(()) }
        } else {
            self.hold()
        }
    }

    /// Whether the kernel has taken the whole queue.
    private func offerQueue() -> Bool {
        guard self.bytesInChannel == 0 && !self.isHeld else { return false }
        let taken = self.queue.withUnsafeReadableBytes { self.offer($0) }
        guard taken == self.queue.readableBytes else {
            self.queue.moveReaderIndex(forwardBy: taken)
            return false
        }
        // Released rather than cleared: most connections write through the pipeline while they begin, and never again.
        self.queue = ByteBuffer()
        return true
    }

    /// How many bytes the kernel takes, now.
    private func offer(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !bytes.isEmpty, let descriptor = self.descriptor, let channel = self.channel, channel.isActive else {
            return 0
        }
        while true {
            let taken = send(descriptor, bytes.baseAddress, bytes.count, Self.flags)
            guard taken < 0 else { return taken }
            // Any other error: the channel will meet it too; see above.
            guard errno == EINTR else { return 0 }
        }
    }

    private func hold() {
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
    /// The value, of which nothing stays behind: what is called with it may come back here.
    fileprivate mutating func take() -> Wrapped? {
        defer { self = nil }
        return self
    }
}

// One WebSocket: its life from the upgrade to the close, and messages out. What comes in, what a rider does and what a
// follower gets stand in files of their own.

package import Access
package import EnrouteWire
internal import Fanout
package import Jobs
internal import LiveState
package import Logging
package import NIOCore
package import SecureSocket
internal import Telemetry
package import TrafficControl
internal import WebSocket

/// A signed-in (or not yet signed-in) connection. Confined to its loop.
package final class Session: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// How messages are put on the wire.
    package enum Framing {
        case webSocket
        /// Server-sent events, as the chunks of an answer to a request (EventStream).
        case events
    }

    package let loop: LoopState
    package let framing: Framing
    /// Of events: whether each is a chunk, as HTTP/1.1 has it.
    package var isChunked = true
    /// Grows with every session of the loop: the newest has the greatest.
    package let number: UInt64
    /// Tells it from every other session of every gateway.
    let id: String
    let socket: SecureSocketHandler
    let address: ClientAddress?
    let logger: Logger
    var limits: Limits { self.loop.settings.limits }
    var life = SessionLife()
    var reader: WebSocketReader
    var outbox: Outbox<JobID>
    package var rate: MessageRate
    var keepalive: Keepalive
    package var context: ChannelHandlerContext?
    /// What came in, and was not acted upon yet.
    package var input = InputState()
    /// What is to be verified, or was before the session began.
    private var signInMethod: SignInMethod
    /// Tick of the loop in which a message last came or went.
    var lastActive: UInt64
    var timers = Timers()
    /// Set while something was taken away from this peer that the kernel may still hold for it (LoopRevocations).
    var flushDeadline: FlushDeadline?
    /// Of a tracking link, when it came by one.
    package var viewerLease: ViewerLease?
    private(set) lazy var rider = RiderSession(session: self, loop: self.loop)
    package private(set) lazy var follower = FollowerSession(session: self, loop: self.loop)
    private(set) lazy var watcher = WatcherSession(session: self, loop: self.loop)

    /// - Parameters:
    ///   - address: whom it counts for; `nil` where addresses are not limited.
    ///   - admitted: who signed in with the upgrade request; `nil` when the ticket or the first message has to.
    package init(
        loop: LoopState, socket: SecureSocketHandler, address: ClientAddress?, framing: Framing = .webSocket,
        id: String = Session.newID, admitted: AuthenticatedClient? = nil, ticket: String? = nil, token: String? = nil,
        logger: Logger
    ) {
        let (limits, now) = (loop.settings.limits, NIODeadline.now())
        self.loop = loop
        self.framing = framing
        self.id = id
        self.number = loop.nextNumber()
        self.socket = socket
        self.address = address
        self.logger = logger
        self.outbox = Outbox(mostBytes: limits.queueBytes)
        self.reader = WebSocketReader(
            .init(messageBytes: limits.messageBytes, messageFragments: limits.messageFragments, awaitsClose: true))
        self.rate = MessageRate(limits, address: address.flatMap { loop.addressBuckets.join($0) })
        self.keepalive = Keepalive(pingSeconds: limits.pingSeconds, pongSeconds: limits.pongSeconds, now: now)
        self.lastActive = loop.ticks
        self.signInMethod =
            if let admitted {
                .admitted(admitted)
            } else if let ticket {
                .ticket(ticket)
            } else if let token { .token(token) } else { .message }
    }

    /// By what somebody comes in.
    private enum SignInMethod {
        case admitted(AuthenticatedClient)
        case ticket(String)
        /// Came with the upgrade request, signed by a key that the issuer has to be asked for.
        case token(String)
        /// The first message signs in.
        case message
    }

    package static var newID: String { String(UInt64.random(in: .min ... .max), radix: 36) }

    /// What ends the session, or a step of its life, when its time has come.
    struct Timers {
        /// Signing in, then silence, then the answer to our close frame: one after the other.
        var step: Deadline?
        /// The end of its token.
        var expiry: Deadline?
        /// Set while the socket has something to take.
        var stall: Deadline?
        /// It was told to come back elsewhere.
        var leaving: Deadline?
        /// Set where sessions have a greatest age.
        var age: Deadline?

        func cancel() {
            for deadline in [self.step, self.expiry, self.stall, self.leaving, self.age] { deadline?.cancel() }
        }
    }

    // MARK: life

    package func handlerAdded(context: ChannelHandlerContext) {
        let signInMethod = self.signInMethod
        self.signInMethod = .message
        // Whoever was looked up while the connection ended comes too late to hear of the end: nothing has begun.
        guard context.channel.isActive else {
            if case .admitted(let admitted) = signInMethod { self.releaseUnusedLease(of: admitted) }
            return self.connectionClosed()
        }
        self.context = context
        self.loop.add(self)
        self.socket.onDrained = { [weak self] in self?.drained() }
        if case .admitted(let admitted) = signInMethod { return self.signedIn(admitted) }
        self.startSignInTimer()
        switch signInMethod {
        case .ticket(let ticket): self.signIn(self.loop.signIn(ticket: ticket, from: self.address))
        case .token(let token): self.signIn(self.loop.signIn(.token(token), from: self.address))
        case .admitted, .message: break
        }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.connectionClosed()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) { self.connectionClosed() }

    /// Gives back, once, all that the session has, whichever way it hears first that the connection is gone.
    private func connectionClosed() {
        guard let identity = self.life.disconnect() else { return }
        if case .signedIn(let admitted) = identity { self.releaseResources(of: admitted) }
        if let address { self.loop.addressBuckets.leave(address) }
        if self.context != nil { self.socket.onDrained = nil }
        self.context = nil
        self.timers.cancel()
        // In the next tick: the relay may be walking its followers now, and one of them may be this session's.
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        self.loop.eventLoop.execute {
            bound.value.follower.unfollowAll()
            bound.value.watcher.unwatchAll()
            bound.value.loop.remove(bound.value)
        }
    }

    package func releaseResources(of admitted: AuthenticatedClient) {
        self.loop.quotas.releaseSession(admitted.owner, self.address)
        self.loop.personBuckets.leave(admitted.grant.person)
        self.viewerLease?.release()
        self.viewerLease = nil
    }

    func keepAlive(until time: NIODeadline) {
        self.timers.step = self.loop.deadlines.at(time) { [weak self] in self?.keepAlive() }
    }

    private func keepAlive() {
        switch self.keepalive.step(.now()) {
        case .wait(let time): self.keepAlive(until: time)
        case .ping(let time):
            self.send(Frame.ping, .kept)
            // Nothing answers an event: that it is taken is all there is to know, and a stall says when it is not.
            if self.framing == .events { self.keepalive.received(.now()) }
            self.keepAlive(until: time)
        case .gone:
            self.loop.counts.add(.pongsTimedOut)
            self.close(.noPong, "no pong received")
        }
    }

    /// What it may see and do; `nil` before it is signed in, and after its end.
    package var grant: Grant? { self.life.admitted?.grant }

    var isOpen: Bool { self.life.isOpen }

    // MARK: out

    package func send(_ message: ServerMessage) { self.send(Frame.text(message.encoded), .kept) }

    /// - Parameter ref: what the client called the message that is refused.
    package func refuse(
        _ replyTo: String, _ job: JobID?, _ code: ErrorCode, _ message: String, _ ref: MessageRef?,
        retryIn: Int64? = nil
    ) {
        let retryIn = code == .unavailable ? .random(in: 500...3000) : retryIn
        self.send(
            .error(
                Refusal(
                    replyTo: replyTo, job: job, code: code, message: message, retryInMilliseconds: retryIn, ref: ref)))
    }

    /// What a failure means to the client. One that nobody expects is logged, with the session that the client knows it by,
    /// and counted.
    package func refusal(for error: any Error) -> Refused {
        let refused = Refused(error)
        guard refused.code == .internal else { return refused }
        self.loop.counts.add(.messagesFailed)
        self.logger.error(
            "handling a message failed",
            metadata: [LogKey.session: "\(self.id)", LogKey.reason: "\(refused.cause ?? "unknown")"])
        return refused
    }

    package func refuse(_ replyTo: String, _ job: JobID?, _ refused: Refused, _ ref: MessageRef?) {
        self.send(
            .error(
                Refusal(
                    replyTo: replyTo, job: job, code: refused.code, message: refused.message,
                    retryInMilliseconds: refused.code == .unavailable ? .random(in: 500...3000) : nil,
                    tasks: refused.tasks, ref: ref)))
    }

    func send(_ frame: [UInt8], _ kind: Outbox<JobID>.Kind) { self.send(frame, kind, at: .now()) }

    /// Sends now, or when the socket has taken what waits. Never ends the session at once: its caller may be walking
    /// the sessions.
    ///
    /// - Parameter now: read once for all that one message goes to, when it came.
    func send(_ frame: [UInt8], _ kind: Outbox<JobID>.Kind, at now: NIODeadline) {
        guard now < self.life.sendsUntil else { return }
        self.lastActive = self.loop.ticks
        if !self.socket.isWaiting, self.outbox.isEmpty {
            self.write(frame)
            if self.socket.isWaiting { self.startStallTimer() }
            return
        }
        switch self.outbox.add(frame, kind) {
        case .waits: self.loop.counts.add(.messagesQueued)
        case .replaced:
            self.loop.counts.add(.messagesQueued)
            self.loop.counts.add(.positionsConflatedOut)
        case .overflows:
            let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
            self.loop.eventLoop.execute { bound.value.overflowed() }
        }
    }

    package func write(_ frame: [UInt8]) {
        let bytes = self.framing == .webSocket ? frame : EventStream.chunk(of: frame, isChunked: self.isChunked)
        bytes.withUnsafeBytes { self.socket.writeNow($0) }
    }

    private func overflowed() {
        guard self.isOpen else { return }
        self.loop.counts.add(.outboxOverflows)
        self.close(.slowConsumer, "send queue full")
    }

    func widenOutbox(to bytes: Int) { self.outbox.widen(to: bytes) }

    func dropQueuedPosition(of job: JobID) { self.outbox.drop(job) }

    /// The socket took what waited for it: on with the rest.
    private func drained() {
        self.timers.stall?.cancel()
        self.timers.stall = nil
        let now = NIODeadline.now()
        while !self.socket.isWaiting, now < self.life.sendsUntil,
            let frame = self.outbox.take({ self.follower.showsPositions(of: $0) })
        {
            self.write(frame)
        }
        if self.socket.isWaiting { self.startStallTimer() }
    }

    func startStallTimer() {
        guard self.timers.stall == nil else { return }
        self.timers.stall = self.loop.deadlines.after(.seconds(Int64(self.limits.stallSeconds))) { [weak self] in
            guard let self, let context = self.context else { return }
            self.loop.counts.add(.writesStalled)
            self.logger.debug("closing stalled connection")
            context.close(promise: nil)
        }
    }
}

// One WebSocket: frames in, messages out, and its whole life from the upgrade to the close. What a rider does and what a
// follower gets stand in files of their own; here is what both share.

internal import Access
internal import EnrouteWire
internal import Fanout
internal import LiveState
internal import Logging
internal import NIOCore
internal import SecureSocket
internal import Telemetry

/// A signed-in (or not yet signed-in) connection. Confined to its loop.
final class Session: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum State {
        case signingIn
        case signedIn(Admitted)
        /// Our close frame is out, or the peer's was answered.
        case closing
        case closed
    }

    /// How messages are put on the wire.
    enum Framing {
        case webSocket
        /// Server-sent events, as the chunks of an answer to a request (EventStream).
        case events
    }

    let loop: LoopState
    let framing: Framing
    /// Of events: whether each is a chunk, as HTTP/1.1 has it.
    var isChunked = true
    /// Grows with every session of the loop: the newest has the greatest.
    let number: UInt64
    /// Tells it from every other session of every gateway.
    let id: String
    let socket: SecureSocketHandler
    let address: ClientAddress?
    let logger: Logger
    var limits: Limits { self.loop.settings.limits }
    var state = State.signingIn
    private var reader: WebSocketReader
    var outbox: Outbox<JobID>
    var rate: MessageRate
    var keepalive: Keepalive
    var context: ChannelHandlerContext?
    private var badMessages = 0
    private let ticket: String?
    /// Came with the upgrade request, signed by a key that the issuer has to be asked for.
    private let token: String?
    /// Tick of the loop in which a message last came or went.
    private(set) var lastActive: UInt64
    /// Signing in, then silence, then the answer to our close frame: one after the other.
    var life: Deadline?
    var expiry: Deadline?
    /// Nothing is sent from then on.
    var endsAt = NIODeadline.distantFuture
    /// Set while the socket has something to take.
    private var stall: Deadline?
    var leaving: Deadline?
    /// Set where sessions have a greatest age.
    var age: Deadline?
    /// Of a tracking link, when it came by one.
    var place: GuestPlace?
    private(set) lazy var rider = RiderSession(session: self, loop: self.loop)
    private(set) lazy var follower = FollowerSession(session: self, loop: self.loop)
    private(set) lazy var watcher = WatcherSession(session: self, loop: self.loop)

    /// - Parameters:
    ///   - address: whom it counts for; `nil` where addresses are not limited.
    ///   - admitted: who signed in with the upgrade request; `nil` when the ticket or the first message has to.
    init(
        loop: LoopState, socket: SecureSocketHandler, address: ClientAddress?, framing: Framing = .webSocket,
        id: String = Session.newID, admitted: Admitted? = nil, ticket: String? = nil, token: String? = nil,
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
            .init(messageBytes: limits.messageBytes, messageFragments: limits.messageFragments))
        self.rate = MessageRate(limits, address: address.flatMap { loop.addressBuckets.join($0) })
        self.keepalive = Keepalive(pingSeconds: limits.pingSeconds, pongSeconds: limits.pongSeconds, now: now)
        self.lastActive = loop.ticks
        self.ticket = ticket
        self.token = token
        if let admitted { self.state = .signedIn(admitted) }
    }

    static var newID: String { String(UInt64.random(in: .min ... .max), radix: 36) }

    // MARK: life

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.loop.add(self)
        self.socket.onDrained = { [weak self] in self?.drained() }
        if case .signedIn(let admitted) = self.state {
            self.state = .signingIn
            return self.signedIn(admitted)
        }
        self.watchSignIn()
        if let ticket { self.signIn(self.loop.signIn(ticket: ticket, from: self.address)) }
        if let token { self.signIn(self.loop.signIn(.token(token), from: self.address)) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .signedIn(let admitted) = self.state { self.giveBack(admitted) }
        if let address { self.loop.addressBuckets.leave(address) }
        self.state = .closed
        self.context = nil
        self.socket.onDrained = nil
        for deadline in [self.life, self.expiry, self.stall, self.leaving, self.age] { deadline?.cancel() }
        // In the next tick: the relay may be walking its followers now, and one of them may be this session's.
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        self.loop.eventLoop.execute {
            bound.value.follower.leaveAll()
            bound.value.watcher.leaveAll()
            bound.value.loop.remove(bound.value)
        }
        context.fireChannelInactive()
    }

    func giveBack(_ admitted: Admitted) {
        self.loop.quotas.end(admitted.owner, self.address)
        self.loop.personBuckets.leave(admitted.grant.person)
        self.place?.leave()
        self.place = nil
    }

    func watch(until time: NIODeadline) {
        self.life = self.loop.deadlines.at(time) { [weak self] in self?.watch() }
    }

    private func watch() {
        switch self.keepalive.step(.now()) {
        case .wait(let time): self.watch(until: time)
        case .ping(let time):
            self.send(Frame.ping, .kept)
            // Nothing answers an event: that it is taken is all there is to know, and a stall says when it is not.
            if self.framing == .events { self.keepalive.heard(.now()) }
            self.watch(until: time)
        case .gone:
            self.loop.counts.add(.pongsTimedOut)
            self.close(.noPong, "no pong")
        }
    }

    /// What it may see and do; `nil` before it is signed in, and after its end.
    var grant: Grant? { if case .signedIn(let admitted) = self.state { admitted.grant } else { nil } }

    var isOpen: Bool {
        switch self.state {
        case .signingIn, .signedIn: true
        case .closing, .closed: false
        }
    }

    // MARK: in

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // One more request, before this one's answer is whole: nobody reads it.
        guard self.framing == .webSocket else { return }
        self.loop.recent = .now()
        self.keepalive.heard(self.loop.recent)
        self.reader.add(self.unwrapInboundIn(data))
        while let event = self.reader.next() {
            switch event {
            case .text(let bytes): if self.mayGoOn() { self.received(bytes) }
            case .ping(let payload):
                if self.mayGoOn() { self.send(Frame.pong(payload), .kept) }
            case .pong: break
            case .binary: self.close(.unsupportedData, "messages are text")
            case .close(let frame): return self.peerCloses(frame)
            case .refused(let code, let reason): return self.close(code, reason)
            }
            if case .closed = self.state { return }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // Who reads events has nothing more to say, but its end.
        if self.framing == .events, case ChannelEvent.inputClosed? = event as? ChannelEvent {
            return context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.logger.debug("socket failed", metadata: [LogKey.reason: "\(error)"])
        context.close(promise: nil)
    }

    /// Whether one more message may be acted upon.
    private func mayGoOn() -> Bool {
        switch self.state {
        case .closing, .closed: return false
        case .signingIn, .signedIn: break
        }
        self.loop.counts.add(.messagesReceived)
        self.lastActive = self.loop.ticks
        switch self.rate.take(at: NIODeadline.now().uptimeNanoseconds) {
        case .allowed: return true
        case .refused(let retryIn):
            self.loop.counts.add(.messagesRefusedByRate)
            self.refuse("", nil, .rateLimited, "More messages than may be sent; this one is lost.", retryIn: retryIn)
        case .hopeless:
            self.loop.counts.add(.messagesRefusedByRate)
            self.close(.rateLimited, "more messages than may be sent, again and again")
        }
        return false
    }

    private func received(_ bytes: ByteBuffer) {
        do throws(BadMessage) {
            let message = try bytes.withUnsafeReadableBytes { bytes throws(BadMessage) in
                guard bytes.isUTF8 else { throw BadMessage("") }
                return try ClientMessage(bytes)
            }
            self.handle(message)
        } catch {
            guard !error.reason.isEmpty else { return self.close(.invalidText, "text must be UTF-8") }
            self.loop.counts.add(.messagesNotUnderstood)
            self.badMessages += 1
            guard self.badMessages <= self.limits.badMessages else {
                return self.close(.tooManyBadRequests, "too many messages that make no sense")
            }
            self.send(.error(Refusal(re: "", code: .badRequest, message: error.reason)))
        }
    }

    private func handle(_ message: ClientMessage) {
        guard case .signedIn(let admitted) = self.state else {
            guard case .auth(let credential) = message else {
                return self.close(.invalidToken, "the first message must be auth")
            }
            return self.signIn(self.loop.signIn(credential, from: self.address, as: self.id))
        }
        let grant = admitted.grant
        switch message {
        case .location(let report): self.rider.report(report, grant)
        case .subscribe(let job, let since): self.follower.subscribe(job, since: since, grant)
        case .unsubscribe(let job): self.follower.unsubscribe(job)
        case .travel(let job, let active): self.rider.travel(job, active: active, grant)
        case .watch(let zone, let since): self.watcher.watch(zone, since: since, grant)
        case .unwatch(let zone): self.watcher.unwatch(zone)
        case .availability(let status, let device): self.rider.declare(status, device, grant)
        case .presence(let place, let device): self.rider.presence.heard(at: place, device, grant)
        case .dark(let job, let reason): self.rider.guidance.reported(reason, for: job, grant)
        case .ping: self.send(.pong(serverTime: .now))
        case .auth: self.send(.error(Refusal(re: "auth", code: .badRequest, message: "This connection is signed in.")))
        case .refresh(let token): self.refresh(token, admitted)
        }
    }

    // MARK: out

    func send(_ message: ServerMessage) { self.send(Frame.text(message.encoded), .kept) }

    func refuse(_ re: String, _ job: JobID?, _ code: ErrorCode, _ message: String, retryIn: Int64? = nil) {
        let retryIn = code == .unavailable ? .random(in: 500...3000) : retryIn
        self.send(.error(Refusal(re: re, job: job, code: code, message: message, retryInMilliseconds: retryIn)))
    }

    /// What a failure means to the client. One that nobody expects is logged, with the session that the client knows it by,
    /// and counted.
    func refused(_ error: any Error) -> Refused {
        let refused = Refused(error)
        guard refused.code == .internal else { return refused }
        self.loop.counts.add(.messagesFailed)
        self.logger.error(
            "a message failed on our side",
            metadata: [LogKey.session: "\(self.id)", LogKey.reason: "\(refused.cause ?? "unknown")"])
        return refused
    }

    func refuse(_ re: String, _ job: JobID?, _ refused: Refused) {
        self.send(
            .error(
                Refusal(
                    re: re, job: job, code: refused.code, message: refused.message,
                    retryInMilliseconds: refused.code == .unavailable ? .random(in: 500...3000) : nil,
                    tasks: refused.tasks)))
    }

    /// Sends now, or when the socket has taken what waits. Never ends the session at once: its caller may be walking
    /// the sessions.
    func send(_ frame: [UInt8], _ kind: Outbox<JobID>.Kind) {
        switch self.state {
        case .closing, .closed: return
        case .signingIn, .signedIn: break
        }
        guard self.loop.recent < self.endsAt else { return }
        self.lastActive = self.loop.ticks
        if !self.socket.isWaiting, self.outbox.isEmpty {
            self.write(frame)
            if self.socket.isWaiting { self.watchStall() }
            return
        }
        switch self.outbox.add(frame, kind) {
        case .waits: self.loop.counts.add(.messagesWaited)
        case .replaced:
            self.loop.counts.add(.messagesWaited)
            self.loop.counts.add(.positionsConflatedOut)
        case .overflows:
            let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
            self.loop.eventLoop.execute { bound.value.overflowed() }
        }
    }

    func write(_ frame: [UInt8]) {
        let bytes = self.framing == .webSocket ? frame : EventStream.chunk(of: frame, isChunked: self.isChunked)
        bytes.withUnsafeBytes { self.socket.writeNow($0) }
    }

    private func overflowed() {
        guard self.isOpen else { return }
        self.loop.counts.add(.queuesOverflowed)
        self.close(.slowConsumer, "too much waits for this connection")
    }

    func widenQueue(to bytes: Int) { self.outbox.widen(to: bytes) }

    func dropWaitingPosition(of job: JobID) { self.outbox.drop(job) }

    /// The socket took what waited for it: on with the rest.
    private func drained() {
        self.stall?.cancel()
        self.stall = nil
        self.loop.recent = .now()
        while !self.socket.isWaiting, self.loop.recent < self.endsAt,
            let frame = self.outbox.take({ self.follower.showsPositions(of: $0) })
        {
            self.write(frame)
        }
        if self.socket.isWaiting { self.watchStall() }
    }

    func watchStall() {
        guard self.stall == nil else { return }
        self.stall = self.loop.deadlines.after(.seconds(Int64(self.limits.stallSeconds))) { [weak self] in
            guard let self, let context = self.context else { return }
            self.loop.counts.add(.writesStalled)
            self.logger.debug("closing: the peer takes nothing")
            context.close(promise: nil)
        }
    }
}

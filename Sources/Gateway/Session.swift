// One WebSocket: frames in, messages out, and its whole life from the upgrade to the close. What a rider does and what a
// follower gets stand in files of their own; here is what both share.

internal import Access
internal import EnrouteWire
internal import Fanout
internal import LiveState
internal import Logging
internal import NIOCore
internal import NIOWebSocket
internal import SecureSocket
internal import Telemetry

/// A signed-in (or not yet signed-in) connection. Confined to its loop.
final class Session: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = ByteBuffer

    private enum State {
        case signingIn(deadline: NIODeadline)
        case signedIn(Grant)
        /// Our close frame is out; the peer has until then to answer it.
        case closing(deadline: NIODeadline)
        case closed
    }

    private let loop: LoopState
    private let socket: SecureSocketHandler
    private let logger: Logger
    private let limits: Limits
    private var state: State
    private var outbox: Outbox<JobID>
    private var assembly: MessageAssembly
    private var context: ChannelHandlerContext?
    private var lastHeard = NIODeadline.now()
    /// A ping is out, to be answered until then.
    private var pongDeadline: NIODeadline?
    private var badMessages = 0
    private(set) lazy var rider = RiderSession(session: self, loop: self.loop)
    private(set) lazy var follower = FollowerSession(session: self, loop: self.loop)

    /// How long a peer has to answer our close frame (RFC 6455 section 7.1.1).
    static let closeTimeout: TimeAmount = .seconds(1)

    /// - Parameter grant: of who signed in with the upgrade request; `nil` when the first message has to.
    init(loop: LoopState, socket: SecureSocketHandler, grant: Grant?, logger: Logger) {
        self.loop = loop
        self.socket = socket
        self.logger = logger
        self.limits = loop.settings.limits
        self.outbox = Outbox(mostBytes: self.limits.queueBytes)
        self.assembly = MessageAssembly(
            mostBytes: self.limits.messageBytes, mostFragments: self.limits.messageFragments)
        self.state = .signingIn(deadline: .now() + .seconds(Int64(self.limits.signInSeconds)))
        if let grant { self.state = .signedIn(grant) }
    }

    // MARK: life

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.loop.add(self)
        self.socket.onDrained = { [weak self] in self?.drained() }
        if case .signedIn(let grant) = self.state { self.welcome(grant) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.state = .closed
        self.context = nil
        self.socket.onDrained = nil
        // In the next tick: the relay may be walking its followers now, and one of them may be this session's.
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        self.loop.eventLoop.execute {
            bound.value.follower.leaveAll()
            bound.value.loop.remove(bound.value)
        }
        context.fireChannelInactive()
    }

    func tick(_ now: NIODeadline) {
        switch self.state {
        case .signingIn(let deadline):
            if now > deadline { self.close(.signInTimeout, "sign in within \(self.limits.signInSeconds) s") }
        case .signedIn(let grant):
            if let expiry = grant.expiresAt, Int64.now / 1000 > expiry + TokenVerifier.skew {
                return self.close(.tokenExpired, "the token has expired")
            }
            self.rider.tick(now, grant)
            if let pongDeadline {
                if now > pongDeadline { self.close(.noPong, "no pong") }
            } else if now - self.lastHeard > .seconds(Int64(self.limits.pingSeconds)) {
                self.pongDeadline = now + .seconds(Int64(self.limits.pongSeconds))
                self.send(Frame.ping, .kept)
            }
        case .closing(let deadline): if now > deadline { self.context?.close(promise: nil) }
        case .closed: break
        }
    }

    // MARK: in

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = self.unwrapInboundIn(data)
        self.lastHeard = .now()
        self.pongDeadline = nil
        guard frame.maskKey != nil else { return self.close(.protocolError, "frames from a client must be masked") }
        guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return self.close(.protocolError, "no extension was agreed")
        }
        switch frame.opcode {
        case .connectionClose: self.peerCloses(frame.unmaskedData)
        case .ping: self.send(Frame.pong(Array(frame.unmaskedData.readableBytesView)), .kept)
        case .pong: break
        case .binary: self.close(.unsupportedData, "messages are text")
        default:
            switch self.assembly.add(frame.unmaskedData, opcode: frame.opcode, isFinal: frame.fin) {
            case .more: break
            case .message(let bytes): self.received(bytes)
            case .refused(let code, let reason): self.close(code, reason)
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength:
            self.close(.messageTooBig, "messages hold at most \(self.limits.messageBytes) bytes")
        case is NIOWebSocketError: self.close(.protocolError, "a frame is malformed")
        default:
            self.logger.debug("socket failed", metadata: [LogKey.reason: "\(error)"])
            context.close(promise: nil)
        }
    }

    private func received(_ bytes: ByteBuffer) {
        switch self.state {
        case .closing, .closed: return
        case .signingIn, .signedIn: break
        }
        do throws(BadMessage) {
            let message = try bytes.withUnsafeReadableBytes { bytes throws(BadMessage) in
                guard bytes.isUTF8 else { throw BadMessage("") }
                return try ClientMessage(bytes)
            }
            self.handle(message)
        } catch {
            guard !error.reason.isEmpty else { return self.close(.invalidText, "text must be UTF-8") }
            self.badMessages += 1
            guard self.badMessages <= self.limits.badMessages else {
                return self.close(.tooManyBadRequests, "too many messages that make no sense")
            }
            self.send(.error(Refusal(re: "", code: .badRequest, message: error.reason)))
        }
    }

    private func handle(_ message: ClientMessage) {
        guard case .signedIn(let grant) = self.state else {
            guard case .auth(let credential) = message else {
                return self.close(.invalidToken, "the first message must be auth")
            }
            return self.signIn(credential)
        }
        switch message {
        case .location(let report): self.rider.report(report, grant)
        case .subscribe(let job, let since): self.follower.subscribe(job, since: since, grant)
        case .unsubscribe(let job): self.follower.unsubscribe(job)
        case .travel(let job, let active): self.rider.travel(job, active: active, grant)
        case .ping: self.send(.pong(serverTime: .now))
        case .auth: self.send(.error(Refusal(re: "auth", code: .badRequest, message: "This connection is signed in.")))
        }
    }

    private func signIn(_ credential: Credential) {
        switch credential {
        case .token(let token):
            do throws(TokenRefusal) {
                self.signedIn(try self.loop.settings.tokens.verify(token, now: .now / 1000))
            } catch {
                if error == .expired { return self.close(.tokenExpired, "the token has expired") }
                self.close(.invalidToken, "the token is not accepted")
            }
        case .link(let secret):
            let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
            let (eventLoop, ledger) = (self.loop.eventLoop, self.loop.jobs.ledger)
            self.loop.links.job(of: secret).flatMap { job in
                guard let job else { return eventLoop.makeSucceededFuture(nil) }
                return ledger.recover(job).map { recovery in
                    recovery.map { Grant(person: $0.record.customer, role: .customer, job: job) }
                }
            }.whenComplete { bound.value.signedIn(byLink: $0) }
        }
    }

    private func signedIn(byLink result: Result<Grant?, any Error>) {
        guard case .signingIn = self.state else { return }
        switch result {
        case .success(let grant?): self.signedIn(grant)
        case .success(nil): self.close(.invalidToken, "the link is not valid any more")
        case .failure: self.close(.insufficientState, "the service is not available at the moment")
        }
    }

    private func signedIn(_ grant: Grant) {
        self.state = .signedIn(grant)
        self.welcome(grant)
    }

    private func welcome(_ grant: Grant) {
        let session = String(UInt64.random(in: .min ... .max), radix: 36)
        self.logger.debug("signed in", metadata: [LogKey.session: "\(session)", LogKey.role: "\(grant.role)"])
        self.send(
            .welcome(
                Welcome(
                    session: session, serverTime: .now, pingIntervalSeconds: self.limits.pingSeconds,
                    limits: self.limits)))
    }

    // MARK: out

    func send(_ message: ServerMessage) { self.send(Frame.text(message.encoded), .kept) }

    func refuse(_ re: String, _ job: JobID?, _ code: ErrorCode, _ message: String) {
        let retryIn: Int64? = code == .unavailable ? .random(in: 500...3000) : nil
        self.send(.error(Refusal(re: re, job: job, code: code, message: message, retryInMilliseconds: retryIn)))
    }

    /// Sends now, or when the socket has taken what waits. Never ends the session at once: its caller may be walking
    /// the sessions.
    func send(_ frame: [UInt8], _ kind: Outbox<JobID>.Kind) {
        switch self.state {
        case .closing, .closed: return
        case .signingIn, .signedIn: break
        }
        if !self.socket.isWaiting, self.outbox.isEmpty {
            return frame.withUnsafeBytes { self.socket.writeNow($0) }
        }
        if self.outbox.add(frame, kind) == .overflows {
            let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
            self.loop.eventLoop.execute { bound.value.close(.slowConsumer, "too much waits for this connection") }
        }
    }

    func dropWaitingPosition(of job: JobID) { self.outbox.drop(job) }

    private func drained() {
        while !self.socket.isWaiting, let frame = self.outbox.take() {
            frame.withUnsafeBytes { self.socket.writeNow($0) }
        }
    }

    // MARK: the end

    /// Tells the client to come back elsewhere, and closes.
    func goAway(retryInMilliseconds: Int64) {
        self.send(.goaway(retryInMilliseconds: retryInMilliseconds))
        self.close(.goingAway, "going away")
    }

    private func close(_ code: CloseCode, _ reason: String) {
        switch self.state {
        case .closing, .closed: return
        case .signingIn, .signedIn: break
        }
        self.logger.debug("closing", metadata: [LogKey.code: "\(code.rawValue)", LogKey.reason: "\(reason)"])
        self.outbox.removeAll()
        Frame.close(code.rawValue, reason).withUnsafeBytes { self.socket.writeNow($0) }
        self.state = .closing(deadline: .now() + Self.closeTimeout)
    }

    /// Answers the peer's close frame with its own code, and closes (RFC 6455 section 5.5.1).
    private func peerCloses(_ payload: ByteBuffer) {
        if case .closing = self.state {
            self.context?.close(promise: nil)
            return
        }
        switch CloseFrame(payload) {
        case .empty: Frame.close(CloseCode.normal.rawValue, "").withUnsafeBytes { self.socket.writeNow($0) }
        case .valid(let code): Frame.close(code, "").withUnsafeBytes { self.socket.writeNow($0) }
        case .malformed:
            Frame.close(CloseCode.protocolError.rawValue, "").withUnsafeBytes { self.socket.writeNow($0) }
        }
        self.state = .closing(deadline: .now())
        self.context?.close(promise: nil)
    }
}

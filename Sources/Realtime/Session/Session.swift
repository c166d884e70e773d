// One WebSocket connection or event stream, from the upgrade to the close. Its incoming and outgoing messages, the rider's part
// and the follower's part are in separate files.

package import Access
internal import EnrouteWire
internal import Fanout
package import Logging
package import NIOCore
package import SecureSocket
internal import Telemetry
package import TrafficControl
internal import WebSocket

/// A connection that is signed in or about to sign in. Confined to its loop.
package final class Session: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// How messages are encoded on the wire.
    package enum Framing {
        case webSocket
        /// Server-sent events, as chunks of an HTTP response (EventStream).
        case events
    }

    package let loop: LoopState
    package let framing: Framing
    /// For event streams: whether each event is a chunk, as in HTTP/1.1.
    package var isChunked = true
    /// Increases with every session of the loop, so the newest session has the greatest number.
    package let number: UInt64
    /// Unique among the sessions of all gateways.
    let id: String
    let socket: SecureSocketHandler
    let address: ClientAddress?
    let logger: Logger
    var limits: Limits { self.loop.settings.limits }
    var life = SessionLife()
    var reader: WebSocketReader
    private(set) var outbox: Outbox<JobID>
    package var rate: MessageRate
    var keepalive: Keepalive
    package var context: ChannelHandlerContext?
    /// What has been received so far.
    package var input = InputState()
    /// The credential to verify, or the client verified before the session started.
    private var signInMethod: SignInMethod
    /// The loop's tick in which a message was last sent or received.
    var lastActive: UInt64
    /// When the connection became a session.
    let openedAt: NIODeadline
    /// Set once the client has signed in.
    var role: SessionRole?
    var summary = SessionSummary()
    var timers = Timers()
    /// Set while the kernel may still hold data that this client must no longer receive (LoopRevocations).
    var flushDeadline: FlushDeadline?
    /// The lease of a tracking link's viewer.
    package var viewerLease: ViewerLease?
    private(set) lazy var rider = RiderSession(session: self, loop: self.loop)
    package private(set) lazy var follower = FollowerSession(session: self, loop: self.loop)
    private(set) lazy var watcher = WatcherSession(session: self, loop: self.loop)

    /// - Parameters:
    ///   - address: the address whose limits the session counts toward; `nil` if addresses are not limited.
    ///   - admitted: the client that signed in with the upgrade request; `nil` if it signs in with a ticket, a token or its
    ///     first message.
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
        self.outbox = Outbox(maxBytes: limits.queueBytes)
        self.reader = WebSocketReader(
            .init(messageBytes: limits.messageBytes, messageFragments: limits.messageFragments, awaitsClose: true))
        self.rate = MessageRate(limits, address: address.flatMap { loop.addressBuckets.acquire($0) })
        self.keepalive = Keepalive(pingSeconds: limits.pingSeconds, pongSeconds: limits.pongSeconds, now: now)
        self.lastActive = loop.ticks
        self.openedAt = now
        self.signInMethod =
            if let admitted {
                .admitted(admitted)
            } else if let ticket {
                .ticket(ticket)
            } else if let token { .token(token) } else { .message }
    }

    /// How the client signs in.
    private enum SignInMethod {
        case admitted(AuthenticatedClient)
        case ticket(String)
        /// A token from the upgrade request, signed with a key that has to be fetched from the issuer.
        case token(String)
        /// The first message signs in.
        case message
    }

    package static var newID: String { String(UInt64.random(in: .min ... .max), radix: 36) }

    /// The deadlines that end the session or one phase of it.
    struct Timers {
        /// The current phase: signing in, then idle time, then waiting for the answer to our close frame.
        var step: Deadline?
        /// The expiry of the token.
        var expiry: Deadline?
        /// Set while the socket has unsent data.
        var stall: Deadline?
        /// The client has been asked to reconnect elsewhere.
        var leaving: Deadline?
        /// Set if sessions have a maximum age.
        var age: Deadline?

        func cancel() {
            for deadline in [self.step, self.expiry, self.stall, self.leaving, self.age] { deadline?.cancel() }
        }
    }

    // MARK: lifecycle

    package func handlerAdded(context: ChannelHandlerContext) {
        let signInMethod = self.signInMethod
        self.signInMethod = .message
        // If the connection closed while the client was being verified, no further event will arrive, so resources are released
        // here.
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

    /// Releases all resources of the session, once, whichever event reports first that the connection is closed.
    private func connectionClosed() {
        guard let identity = self.life.disconnect() else { return }
        self.summary.ended(by: .client, SessionSummary.abnormal, "connection closed")
        self.loop.logSummary(of: self)
        if case .signedIn(let admitted) = identity { self.releaseResources(of: admitted) }
        if let address { self.loop.addressBuckets.release(address) }
        if self.context != nil { self.socket.onDrained = nil }
        self.context = nil
        self.timers.cancel()
        self.changeOutbox { $0.removeAll() }
        // On the next tick, because the relay may be iterating over its followers now, and one of them may belong to this
        // session.
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        self.loop.eventLoop.execute {
            bound.value.follower.unfollowAll()
            bound.value.watcher.unwatchAll()
            bound.value.loop.remove(bound.value)
        }
    }

    package func releaseResources(of admitted: AuthenticatedClient) {
        self.loop.quotas.releaseSession(admitted.owner, self.address)
        self.loop.ownerBuckets.release(SessionOwner(admitted.grant))
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
            self.send(Frame.ping, .ordered)
            // Clients do not answer events. A successful write is the only sign that they receive them; a stalled write closes
            // the connection.
            if self.framing == .events { self.keepalive.received(.now()) }
            self.keepAlive(until: time)
        case .timedOut:
            self.loop.counts.add(.pongsTimedOut)
            self.close(.noPong, "no pong received")
        }
    }

    /// The session's permissions; `nil` before it has signed in and after it has ended.
    package var grant: Grant? { self.life.admitted?.grant }

    var isOpen: Bool { self.life.isOpen }

    /// Changes the outbox. Every change goes through here, so that the loop knows the bytes in all outboxes.
    @discardableResult
    func changeOutbox<Result>(_ body: (inout Outbox<JobID>) -> Result) -> Result {
        let before = self.outbox.bytes
        defer { self.loop.outboxBytes += self.outbox.bytes - before }
        return body(&self.outbox)
    }
}

// Keeps a connection to one node. The address is looked up before each attempt, because a Sentinel may name another one;
// `ConnectionStateMachine` decides when to connect and when to give up. The owner of the link uses the connection.

internal import Logging
internal import NIOCore
internal import NIOSSL
internal import Resilience
internal import Telemetry

/// A connection that reconnects automatically. Confined to its event loop.
final class RedisLink {
    typealias Locate = () -> EventLoopFuture<RedisAddress>

    let eventLoop: any EventLoop
    let timing: RedisTiming
    private let locate: Locate
    private let peer: RedisSignIn.Peer
    private let logger: Logger
    private let witness: (any RedisObserver)?
    private let replyTimes: DurationRecorder?
    private var core: ConnectionStateMachine
    private var ticker: LinkTicker?
    private var tls: NIOSSLContext?
    private(set) var handler: RedisChannelHandler?
    /// The current address, or the last one tried.
    private(set) var address: RedisAddress?
    /// The master that was announced while the current attempt was under way.
    private var announced: RedisAddress.Node?
    private var downSince = NIODeadline.now()
    /// Callers that wait for the link to connect, or for the attempt to fail.
    private var connectWaiters: [EventLoopPromise<Void>] = []

    /// The connection is established and authenticated.
    var onUp: ((RedisChannelHandler) -> Void)?
    /// The connection ended; another attempt follows.
    var onDown: ((RedisError) -> Void)?
    /// The node replied that it is not a master.
    var onDemoted: (() -> Void)?
    /// Called every tick while connected.
    var onTick: ((NIODeadline) -> Void)?

    init(
        eventLoop: any EventLoop, timing: RedisTiming, logger: Logger, witness: (any RedisObserver)? = nil,
        peer: RedisSignIn.Peer = .master, replyTimes: DurationRecorder? = nil, locate: @escaping Locate
    ) {
        self.eventLoop = eventLoop
        self.timing = timing
        self.logger = logger
        self.witness = witness
        self.peer = peer
        self.replyTimes = replyTimes
        self.locate = locate
        self.core = ConnectionStateMachine(timing: timing.connecting, seed: .random(in: .min ... .max))
    }

    // MARK: Life cycle

    /// Makes the first attempt. If it fails, the future fails with the reason and nothing is retried until the next call.
    /// If the link is connected or connecting, the result is that of `whenConnected`.
    func start() -> EventLoopFuture<Void> {
        self.eventLoop.preconditionInEventLoop()
        guard self.core.handle(.start, now: Self.now) == .connect else { return self.whenConnected() }
        let first = self.connect()
        first.whenFailure { [bound = NIOLoopBound(self, eventLoop: self.eventLoop)] _ in
            _ = bound.value.core.handle(.abandon, now: Self.now)
        }
        first.whenSuccess { [bound = NIOLoopBound(self, eventLoop: self.eventLoop)] in bound.value.startTimer() }
        return first
    }

    /// Connects, with retries.
    func connectWithRetries() {
        self.eventLoop.preconditionInEventLoop()
        guard self.core.handle(.start, now: Self.now) == .connect else { return }
        self.startTimer()
        _ = self.connect()
    }

    func stop() {
        self.ticker?.remove(self)
        self.ticker = nil
        if self.core.handle(.stop, now: Self.now) == .close { self.handler?.close(.disconnected) }
        self.handler = nil
        self.failWaiting(.disconnected)
    }

    /// Closes the connection, because the master is elsewhere.
    ///
    /// - Parameter master: its address, if known. A connection that leads there stays. An attempt to connect to another
    ///   address fails.
    func leave(for master: RedisAddress.Node?) {
        guard let handler else {
            self.announced = master ?? self.announced
            return
        }
        if !self.leads(to: master) { handler.close(.connectionLost) }
    }

    private func leads(to master: RedisAddress.Node?) -> Bool {
        master.map { self.address?.endpoint == .tcp(host: $0.host, port: $0.port) } ?? false
    }

    /// Succeeds when connected. Fails when the attempt under way, or the next one, fails; immediately when no attempt
    /// follows.
    func whenConnected() -> EventLoopFuture<Void> {
        if self.handler != nil { return self.eventLoop.makeSucceededVoidFuture() }
        if self.core.isInactive { return self.eventLoop.makeFailedFuture(RedisError.disconnected) }
        let promise = self.eventLoop.makePromise(of: Void.self)
        self.connectWaiters.append(promise)
        return promise.futureResult
    }

    /// Since when the link is down or unresponsive; `nil` while it works.
    var unresponsiveSince: NIODeadline? {
        guard let handler else { return self.downSince }
        let now = NIODeadline.now()
        guard let waiting = self.oldestUnanswered(of: handler, now), now - waiting > self.timing.suspicion else {
            return nil
        }
        return handler.lastReceived
    }

    private static var now: UInt64 { NIODeadline.now().uptimeNanoseconds }

    /// Sends a command if connected; otherwise fails with `RedisError.disconnected`.
    func send(_ command: RedisCommand) -> EventLoopFuture<RESPValue> {
        self.handler?.send(command) ?? self.eventLoop.makeFailedFuture(RedisError.disconnected)
    }

    // MARK: Timer

    private func startTimer() {
        self.ticker = LinkTicker.of(self.eventLoop)
        self.ticker?.add(self)
    }

    /// Called by the ticker.
    func tick(_ now: NIODeadline) {
        if self.core.tick(now: now.uptimeNanoseconds) == .connect { _ = self.connect() }
        guard let handler else { return }
        let check = self.core.healthCheck(
            lastReceived: handler.lastReceived.uptimeNanoseconds,
            oldestUnanswered: self.oldestUnanswered(of: handler, now)?.uptimeNanoseconds, now: now.uptimeNanoseconds)
        switch check {
        case .none: break
        case .ping: handler.ping()
        case .giveUp: return handler.close(.timedOut)
        }
        self.onTick?(now)
    }

    /// Since when the oldest unanswered command has been waiting. Time before the event loop was last blocked does not count, because
    /// the reply may have arrived unread.
    private func oldestUnanswered(of handler: RedisChannelHandler, _ now: NIODeadline) -> NIODeadline? {
        handler.oldestUnanswered.map { self.ticker?.waitingSince($0, now: now) ?? $0 }
    }

    // MARK: Connecting

    private func connect() -> EventLoopFuture<Void> {
        self.announced = nil
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let attempt = self.locate().flatMap { bound.value.connect(to: $0) }
        attempt.whenFailure { bound.value.didFail($0 as? RedisError ?? .disconnected) }
        return attempt
    }

    private func didFail(_ error: RedisError) {
        _ = self.core.handle(.didDisconnect, now: Self.now)
        self.failWaiting(error)
        guard !self.core.isStopped else { return }
        RedisConnectionEvent.attemptFailed(error, at: self.place).report(to: self.witness, self.logger)
    }

    /// The address, for error messages. Empty if Sentinels named no master; the error then contains the Sentinels.
    private var place: String { self.address.map { "\($0)" } ?? "" }

    private func connect(to address: RedisAddress) -> EventLoopFuture<Void> {
        self.address = address
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let context: NIOSSLContext?
        do throws(RedisError) {
            context = try self.tlsContext(address)
        } catch {
            return self.eventLoop.makeFailedFuture(error)
        }
        let handler = NIOLoopBound(
            RedisChannelHandler(eventLoop: self.eventLoop, usesTLS: context != nil), eventLoop: self.eventLoop)
        let signIn = RedisSignIn(address: address, peer: self.peer)
        let (eventLoop, patience) = (self.eventLoop, self.timing.answer)
        return address.connect(handler, context, timeout: self.timing.connect, on: self.eventLoop).flatMap { channel in
            let signedIn = signIn.run(on: handler.value, eventLoop)
            // A server that accepts the connection and then does not reply counts as unreachable.
            let limit = eventLoop.scheduleTask(in: patience) { handler.value.close(.timedOut) }
            signedIn.whenComplete { _ in limit.cancel() }
            signedIn.whenFailure { _ in channel.close(promise: nil) }
            return signedIn.flatMapThrowing { try bound.value.didConnect(handler.value) }
        }
    }

    private func tlsContext(_ address: RedisAddress) throws(RedisError) -> NIOSSLContext? {
        if self.tls == nil, let tls = address.tls { self.tls = try tls.context() }
        return self.tls
    }

    private func didConnect(_ handler: RedisChannelHandler) throws(RedisError) {
        if let announced, !self.leads(to: announced) {
            handler.close(.disconnected)
            throw .notMaster(address: self.place, role: "former master")
        }
        handler.onClosed = { [weak self] reason in self?.didDisconnect(reason) }
        guard self.core.handle(.didConnect, now: Self.now) == .none else { return handler.close(.disconnected) }
        handler.onDemoted = { [weak self] in self?.onDemoted?() }
        handler.replyTimes = self.replyTimes
        self.handler = handler
        self.onUp?(handler)
        let waiting = self.connectWaiters
        self.connectWaiters = []
        waiting.forEach { $0.succeed() }
    }

    private func didDisconnect(_ reason: RedisError) {
        self.downSince = self.handler?.lastReceived ?? .now()
        self.handler = nil
        guard self.core.handle(.didDisconnect, now: Self.now) == .lost else { return }
        RedisConnectionEvent.connectionEnded(reason, at: self.place).report(to: self.witness, self.logger)
        self.onDown?(reason)
    }

    private func failWaiting(_ error: RedisError) {
        let waiting = self.connectWaiters
        self.connectWaiters = []
        waiting.forEach { $0.fail(error) }
    }
}

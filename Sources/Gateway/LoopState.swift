// What one event loop owns: nothing here is shared with another loop, so nothing needs a lock.

internal import Access
internal import EnrouteWire
internal import LiveState
internal import Logging
internal import NIOCore
internal import Redis
internal import SecureSocket

/// Connections to Redis, follow table and sessions of one event loop. Confined to it.
final class LoopState {
    let eventLoop: any EventLoop
    let settings: GatewaySettings
    let logger: Logger
    let sockets = TLSLoop()
    let relay: LoopRelay
    let publisher: LocationPublisher
    let jobs: JobControl
    let links: TrackingLinks
    private let live: RedisClient
    private let ledger: RedisClient
    private var sessions: [ObjectIdentifier: Session] = [:]
    private var timer: RepeatedTask?
    private var whenEmpty: EventLoopPromise<Void>?

    /// One timer serves every session of the loop.
    static let tick: TimeAmount = .milliseconds(250)

    init(eventLoop: any EventLoop, settings: GatewaySettings, logger: Logger) {
        self.eventLoop = eventLoop
        self.settings = settings
        self.logger = logger
        let (timing, state) = (settings.redisTiming, settings.liveState)
        self.live = RedisClient(address: settings.live, eventLoop: eventLoop, timing: timing, logger: logger)
        self.ledger = RedisClient(address: settings.ledger, eventLoop: eventLoop, timing: timing, logger: logger)
        self.publisher = LocationPublisher(live: self.live, settings: state)
        self.links = TrackingLinks(live: self.live, settings: state)
        self.jobs = JobControl(
            ledger: JobLedger(ledger: self.ledger, settings: state), feed: JobFeed(live: self.live, settings: state))
        self.relay = LoopRelay(
            eventLoop: eventLoop, keyspace: state.keyspace, jobs: self.jobs,
            feeds: SubscriberConnection(address: settings.live, eventLoop: eventLoop, timing: timing, logger: logger),
            events: SubscriberConnection(
                address: settings.ledger, eventLoop: eventLoop, timing: timing, logger: logger),
            logger: logger)
    }

    func start() -> EventLoopFuture<Void> {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.timer = self.eventLoop.scheduleRepeatedTask(initialDelay: Self.tick, delay: Self.tick) { _ in
            bound.value.tick()
        }
        return EventLoopFuture.andAllSucceed(
            [self.live.start(), self.ledger.start(), self.relay.start()], on: self.eventLoop)
    }

    func stop() {
        self.timer?.cancel()
        self.relay.stop()
        self.live.stop()
        self.ledger.stop()
    }

    /// Both instances answer.
    func ping() -> EventLoopFuture<Void> {
        EventLoopFuture.andAllSucceed(
            [self.live, self.ledger].map { $0.send(["PING"]).map { _ in } }, on: self.eventLoop)
    }

    // MARK: sessions

    func add(_ session: Session) { self.sessions[ObjectIdentifier(session)] = session }

    func remove(_ session: Session) {
        self.sessions[ObjectIdentifier(session)] = nil
        if self.sessions.isEmpty { self.whenEmpty?.succeed() }
    }

    private func tick() {
        let now = NIODeadline.now()
        for session in self.sessions.values { session.tick(now) }
    }

    /// Tells every session to come back elsewhere; succeeds when all are gone.
    func drain(retryInMilliseconds: Int64) -> EventLoopFuture<Void> {
        guard !self.sessions.isEmpty else { return self.eventLoop.makeSucceededVoidFuture() }
        let promise = self.whenEmpty ?? self.eventLoop.makePromise(of: Void.self)
        self.whenEmpty = promise
        for session in self.sessions.values {
            session.goAway(retryInMilliseconds: .random(in: 0...max(1, retryInMilliseconds)))
        }
        return promise.futureResult
    }
}

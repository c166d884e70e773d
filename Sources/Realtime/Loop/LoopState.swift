// Everything that one event loop owns. Loops do not share this state, so nothing in it needs a lock.

package import Access
package import EnrouteWire
package import ETA
internal import HTTPValues
package import Jobs
package import LiveState
package import Logging
package import NIOCore
internal import Redis
internal import Resilience
package import SecureSocket
internal import Telemetry
package import TrafficControl

/// The Redis connections, followers and sessions of one event loop. Confined to it.
package final class LoopState {
    package let eventLoop: any EventLoop
    package let settings: RealtimeSettings
    package let logger: Logger
    package let sockets = TLSLoop()
    package let relay: LoopRelay
    package let zoneJobs: ZoneJobsRelay
    package let zonePlaces: ZonePlacesRelay
    package let publisher: LocationPublisher
    package let notes: ValidationSummaryStore
    /// The trips of riders who report by REST.
    package private(set) lazy var restTrips = TripValidators(loop: self, most: Self.maxRESTTrips)
    package private(set) lazy var restReporters = RESTReporters(loop: self, most: Self.maxRESTTrips)
    package let jobs: JobService
    package let links: TrackingLinks
    package let tickets: Tickets
    package let signInCodes: SignInCodes
    package let riders: RiderService
    package let pool: ZonePool
    let places: PlaceBatches
    let stopSequences: StopSequenceStore
    /// `nil` if addresses are not geocoded.
    package let geocoder: Geocoder?
    /// Shared by all loops.
    package let revocations: Revocations
    private let revocationReader: RevocationReader
    /// The rider of a job is about two minutes away, in so many seconds. Called again while it is near.
    package var onNear: ((_ job: JobID, _ rider: PersonID, _ seconds: Double) -> Void)?
    package let push: PushSubscriptions
    package let precedingStops: PrecedingStops
    /// Only set on one loop of each gateway.
    private let sweep: RiderSweep?
    let trail: AuditTrail
    let live: RedisClient
    let ledger: RedisClient
    private let writes: RedisClient
    private let faultMonitors: RedisFaultMonitors
    private var outage = Outage()
    package private(set) var redisAvailability = RedisAvailability(now: WallClock.nowMilliseconds)
    /// Shared by all loops.
    package let quotas: Quotas
    package let load: SharedLoad
    package let deadlines = Deadlines(now: .now())
    let ownerBuckets: SharedBuckets<SessionOwner>
    let addressBuckets: SharedBuckets<ClientAddress>
    package let counts: LoopCounts
    /// Ticks since the loop started: a clock that costs nothing to read.
    private(set) var ticks: UInt64 = 0
    private let pulse: SharedLoad.Pulse
    package private(set) var sessions: [UInt64: Session] = [:]
    private var riderSessions: [UInt64: RiderSession] = [:]
    /// Connections without a session: plain HTTP connections, and others before their upgrade.
    private var requestChannels: [ObjectIdentifier: any Channel] = [:]
    private var lastNumber: UInt64 = 0
    private var sessionRoles: [SessionRole: Int] = [:]
    /// Bytes in the outboxes of all sessions.
    var outboxBytes = 0
    var summaryLimit: SessionSummaryLimit
    var notices = RefusalNotices()
    private var timer: LoopTimer?
    private var whenEmpty: EventLoopPromise<Void>?

    /// Subscriber connections of a gateway to each of the two Redis instances. They are spread over the loops, and each loop
    /// has at least one.
    static let subscriberConnections = 4
    /// The maximum number of REST trips and REST reporters a loop remembers, about 1 KiB each.
    static let maxRESTTrips = 10_000
    /// The maximum number of jobs that a gateway resyncs at the same time.
    static let maxResyncs = 500

    /// - Parameter index: the index of this loop among the gateway's `loops`, from 0.
    package init(
        eventLoop: any EventLoop, index: Int, loops: Int, settings: RealtimeSettings, quotas: Quotas, load: SharedLoad,
        revocations: Revocations, routing: ArrivalRouting, faultMonitors: RedisFaultMonitors, logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.revocations = revocations
        self.faultMonitors = faultMonitors
        self.counts = LoopCounts()
        self.summaryLimit = SessionSummaryLimit(loops: loops)
        self.revocationReader = RevocationReader(
            eventLoop: eventLoop, settings: settings, witness: faultMonitors.ledger,
            replyTimes: self.counts.durations.ledgerCommand, logger: logger)
        self.settings = settings
        self.quotas = quotas
        self.load = load
        self.pulse = load.pulses[index]
        self.logger = logger
        let limits = settings.limits
        self.ownerBuckets = SharedBuckets(
            perSecond: limits.messagesPerPersonPerSecond, burst: limits.messagesPerPersonBurst)
        self.addressBuckets = SharedBuckets(
            perSecond: limits.messagesPerAddressPerSecond, burst: limits.messagesPerAddressBurst)
        let (timing, state) = (settings.redisTiming, settings.liveState)
        func client(
            _ address: RedisAddress, _ logger: Logger, _ monitor: RedisFaultMonitor, _ replyTimes: DurationRecorder
        ) -> RedisClient {
            RedisClient(
                address: address, eventLoop: eventLoop, timing: timing, logger: logger, witness: monitor,
                replyTimes: replyTimes)
        }
        let durations = self.counts.durations
        let (ofLive, ofLedger) = (logger.of(.redisLive), logger.of(.redisLedger))
        self.live = client(settings.live, ofLive, faultMonitors.live, durations.liveCommand)
        self.ledger = client(settings.ledger, ofLedger, faultMonitors.ledger, durations.ledgerCommand)
        self.writes = client(settings.ledger, ofLedger, faultMonitors.ledger, durations.ledgerCommand)
        self.zoneJobs = ZoneJobsRelay(eventLoop: eventLoop, index: index, loops: loops, counts: self.counts)
        self.zonePlaces = ZonePlacesRelay(eventLoop: eventLoop, index: index, loops: loops, counts: self.counts)
        self.publisher = LocationPublisher(live: self.live, settings: state)
        self.notes = ValidationSummaryStore(live: self.live, settings: state)
        self.links = TrackingLinks(ledger: self.ledger, writes: self.writes, settings: state)
        self.tickets = Tickets(live: self.live, settings: state)
        self.signInCodes = SignInCodes(live: self.live, settings: state)
        self.push = PushSubscriptions(live: self.live, settings: state)
        self.trail = AuditTrail(
            eventLoop: eventLoop, streams: AuditStreams(ledger: self.ledger, settings: state), gateway: settings.name,
            counts: self.counts, logger: logger)
        let trail = NIOLoopBound(self.trail, eventLoop: eventLoop)
        let counts = NIOLoopBound(self.counts, eventLoop: eventLoop)
        let riders = Riders(ledger: self.ledger, writes: self.writes, settings: state)
        self.jobs = JobService(
            ledger: JobLedger(ledger: self.ledger, writes: self.writes, settings: state),
            feed: JobFeed(live: self.live, settings: state), riders: riders, revocations: revocations,
            notes: self.notes, freshness: settings.freshness, early: settings.arrivals.early, settings: state,
            logger: logger, count: { counts.value.add($0) },
            onErased: { job, keys, reason in
                trail.value.record(.erased(job, keys: keys, because: reason))
            })
        self.riders = RiderService(
            riders: riders, places: GeoIndex(live: self.live, settings: state), jobs: self.jobs,
            onOfflineRefused: { counts.value.add(.offlineRefused) })
        self.places = PlaceBatches(index: self.riders.places)
        self.pool = ZonePool(ledger: self.ledger, live: self.live, settings: state)
        self.geocoder = routing.geocoder?(ETAStore(live: self.live, settings: state))
        self.stopSequences = StopSequenceStore(live: self.live, settings: state)
        self.precedingStops = PrecedingStops(stopSequences: self.stopSequences, ledger: self.jobs.ledger)
        let spread = max(1, Self.subscriberConnections / loops)
        var bounds = ResyncScheduler<Int>.Bounds()
        bounds.maxInFlight = max(1, Self.maxResyncs / loops)
        let events = Subscriptions(client: self.ledger, connections: spread, timing: timing, logger: ofLedger)
        let zones = ZoneRelay(
            eventLoop: eventLoop, keyspace: state.keyspace,
            pool: self.pool, channels: events, counts: self.counts, logger: logger)
        self.sweep =
            index > 0
            ? nil
            : RiderSweep(
                eventLoop: eventLoop, riders: riders, jobs: self.jobs, pace: settings.sweepPace, counts: self.counts,
                logger: logger)
        self.relay = LoopRelay(
            eventLoop: eventLoop, keyspace: state.keyspace, jobs: self.jobs,
            feeds: Subscriptions(client: self.live, connections: spread, timing: timing, logger: ofLive),
            events: events, zones: zones, counts: self.counts, followed: load.followedJobs, bounds: bounds,
            limits: TimeLimits(deadlines: self.deadlines, jobs: self.jobs, eventLoop: eventLoop),
            arrivals: ArrivalTimes(
                eventLoop: eventLoop, store: ETAStore(live: self.live, settings: state),
                before: self.precedingStops,
                settings: settings.arrivals,
                freshness: settings.freshness, routing: routing, logger: logger,
                events: EventStreams(ledger: self.ledger, settings: state)),
            freshness: FreshnessTracker(deadlines: self.deadlines, freshness: settings.freshness),
            isRevocationStateStale: { [reader = self.revocationReader] in reader.isRevocationStateStale },
            logger: logger)
        self.revocationReader.onRevoked = { [unowned self] in self.apply($0, isFirst: $1) }
        self.revocationReader.onUpToDate = { [unowned self] in self.relay.showSuppressedPositions() }
        self.live.onReturned { [unowned self] in
            for rider in self.riderSessions.values { rider.republish() }
            self.restReporters.republish()
        }
    }

    package func start() -> EventLoopFuture<Void> {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let timer = LoopTimer(eventLoop: self.eventLoop, interval: Deadlines.tick) { now in bound.value.tick(now) }
        timer.start()
        self.timer = timer
        return EventLoopFuture.andAllSucceed(
            [self.live.start(), self.ledger.start(), self.writes.start()], on: self.eventLoop
        ).flatMap {
            bound.value.relay.start()
        }.flatMap { bound.value.revocationReader.start() }.map { bound.value.sweep?.start() }
    }

    package func stop() {
        self.timer?.cancel()
        self.reportSuppressedSummaries(at: .now(), isLast: true)
        self.relay.stop()
        self.revocationReader.stop()
        self.sweep?.stop()
        self.whenEmpty?.succeed()
        self.trail.stop()
        self.live.stop()
        self.ledger.stop()
        self.writes.stop()
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.eventLoop.scheduleTask(in: Self.pendingRequestLimit) { withExtendedLifetime(bound) {} }
    }

    /// After a loop stops, the callbacks of pending requests may still reference it without owning it. The loop is therefore
    /// kept alive for this time, or until the event loop shuts down. It is longer than Redis (3 s), a routing provider (5 s)
    /// and the close of a TLS connection (5 s) can take.
    static let pendingRequestLimit = TimeAmount.seconds(30)

    package var requests: IdempotencyRecords {
        IdempotencyRecords(writes: self.writes, settings: self.settings.liveState)
    }

    /// For writing revocations. Uses the connection for writes that wait for a replica, because a revocation is only reported
    /// once it is durable.
    package var revocationLog: RevocationLog { RevocationLog(ledger: self.writes, settings: self.settings.liveState) }

    /// The round-trip time to each instance, and what its clock says; `nil` if the instance does not answer.
    package func clockReadings() -> EventLoopFuture<(live: ClockReading?, ledger: ClockReading?)> {
        ClockReading.attempt(at: self.live).and(ClockReading.attempt(at: self.ledger)).map { (live: $0, ledger: $1) }
    }

    package var streams: AuditStreams { AuditStreams(ledger: self.ledger, settings: self.settings.liveState) }
    /// For events that follow from positions. Those of the ledger are written by its scripts.
    var eventStreams: EventStreams { EventStreams(ledger: self.ledger, settings: self.settings.liveState) }
    package var webhooks: WebhookStore { WebhookStore(ledger: self.ledger, settings: self.settings.liveState) }
    package var registry: GatewayRegistry { GatewayRegistry(live: self.live, settings: self.settings.liveState) }

    // MARK: sessions

    func nextNumber() -> UInt64 {
        self.lastNumber += 1
        return self.lastNumber
    }

    package func add(_ session: Session) {
        self.sessions[session.number] = session
        if let retryIn = self.drainMilliseconds { session.goAway(retryInMilliseconds: .random(in: 0...retryIn)) }
    }

    /// Registers a session whose rider has reported locations, switched travel mode or set an availability. When the session
    /// ends, the loop publishes its final state.
    package func add(_ rider: RiderSession, of session: Session) { self.riderSessions[session.number] = rider }

    package func remove(_ session: Session) {
        if self.sessions.removeValue(forKey: session.number) != nil, let role = session.role {
            self.sessionRoles[role, default: 0] -= 1
        }
        self.riderSessions.removeValue(forKey: session.number)?.sessionEnded()
        self.succeedWhenEmpty()
    }

    package func add(requestChannel channel: any Channel) {
        self.requestChannels[ObjectIdentifier(channel)] = channel
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        channel.closeFuture.whenComplete { _ in bound.value.remove(requestChannel: channel) }
    }

    /// A session's client has signed in.
    func signedIn(_ session: Session, as role: SessionRole) {
        session.role = role
        self.sessionRoles[role, default: 0] += 1
    }

    package func remove(requestChannel channel: any Channel) {
        guard self.requestChannels.removeValue(forKey: ObjectIdentifier(channel)) != nil else { return }
        self.succeedWhenEmpty()
    }

    private func succeedWhenEmpty() {
        if self.sessions.isEmpty, self.requestChannels.isEmpty { self.whenEmpty?.succeed() }
    }

    /// The current values for a metrics scrape.
    package var census: LoopCensus {
        LoopCensus(
            counts: self.counts.values, durations: self.counts.durations.values, sessions: self.sessions.count,
            sessionRoles: self.sessionRoles, outboxBytes: self.outboxBytes)
    }

    private func tick(_ now: NIODeadline) {
        self.ticks += 1
        self.pulse.beat(now: now.uptimeNanoseconds, tick: UInt64(Deadlines.tick.nanoseconds))
        self.deadlines.advance(to: now)
        self.relay.tick()
        self.zoneJobs.tick()
        self.zonePlaces.tick()
        self.places.tick()
        self.revocationReader.tick()
        self.trail.tick()
        self.updateOutage(now)
        self.reportSuppressedSummaries(at: now)
    }

    /// Notifies every client when its view may be stale (`degraded`), and when it is current again (`restored`).
    private func updateOutage(_ now: NIODeadline) {
        let channels = self.relay.unresponsiveSince
        let live = [self.live.unresponsiveSince, channels.live, self.faultMonitors.live.refusingSince].compactMap { $0 }
            .min()
        let ledger = [
            self.ledger.unresponsiveSince, self.writes.unresponsiveSince, channels.ledger,
            self.revocationReader.unresponsiveSince, self.faultMonitors.ledger.refusingSince,
        ].compactMap { $0 }.min()
        self.redisAvailability.observe(live: live, ledger: ledger, now: now, time: WallClock.nowMilliseconds)
        let notice = self.outage.observe(
            unresponsiveSince: [live, ledger].compactMap { $0 }.min()?.uptimeNanoseconds,
            isSettled: self.relay.isSettled && !self.revocationReader.isRevocationStateStale,
            isRevocationStateStale: self.revocationReader.shouldReportStale,
            now: now.uptimeNanoseconds)
        guard let notice else { return }
        if notice == .degraded {
            self.counts.add(.redisOutages)
            self.faultMonitors.outages.started(self.unresponsiveRoles)
        } else {
            self.faultMonitors.outages.ended()
        }
        for session in self.sessions.values { session.send(notice == .degraded ? .degraded : .restored) }
    }

    /// Which Redis roles do not answer, their addresses, and why.
    private var unresponsiveRoles: Logger.Metadata {
        let unresponsive = self.redisAvailability.unresponsive.map(\.dependency)
        // Redis answers, but too slowly for revocations, which are on the ledger.
        let silent = unresponsive.isEmpty ? [.redisLedger] : unresponsive
        let places = silent.map { "\($0 == .redisLive ? self.settings.live : self.settings.ledger)" }
        return [
            LogKey.role: "\(silent.map(\.redisRole).joined(separator: ","))",
            LogKey.redis: "\(places.joined(separator: " and "))",
            LogKey.reason: "\(self.faultMonitors.reasons(of: silent))",
        ]
    }

    /// Revocations may be missing, so positions must not be shown.
    package var isRevocationStateStale: Bool { self.revocationReader.isRevocationStateStale }

    /// Clients have been notified that their view may be stale.
    package var isDegraded: Bool { self.outage.isDegraded }

    /// Set once the gateway is stopping: the time in ms within which its sessions close.
    private var drainMilliseconds: Int64?

    /// Asks every session to reconnect elsewhere, each after a random time within `milliseconds`, and closes it then. Requests
    /// in progress are completed and no further ones are accepted. Succeeds when all connections are closed.
    package func drain(milliseconds: Int64) -> EventLoopFuture<Void> {
        self.drainMilliseconds = max(1, milliseconds)
        guard !self.sessions.isEmpty || !self.requestChannels.isEmpty else { return self.trail.flushed() }
        let promise = self.whenEmpty ?? self.eventLoop.makePromise(of: Void.self)
        self.whenEmpty = promise
        for session in self.sessions.values {
            session.goAway(retryInMilliseconds: .random(in: 0...max(1, milliseconds)))
        }
        for channel in self.requestChannels.values {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        // The sessions that close now are also recorded in the audit trail.
        let bound = NIOLoopBound(self.trail, eventLoop: self.eventLoop)
        return promise.futureResult.flatMap { bound.value.flushed() }
    }

    /// Closes the sessions that are still open at the end of the drain time.
    package func closeSessions() {
        for session in self.sessions.values { session.close(.goingAway, "going away") }
    }

    /// The number of connections, with and without a session.
    package var openConnections: Int { self.sessions.count + self.requestChannels.count }

    /// Closes idle sessions to free memory, the newest first.
    ///
    /// - Parameter percent: the share of the loop's sessions to close; at least one session is closed.
    package func shed(percent: Int) {
        let most = max(1, self.sessions.count * percent / 100)
        let idleTicks = UInt64(self.settings.overload.idleSeconds) * 10
        let newest = self.sessions.values.filter { $0.isOpen && self.ticks - $0.lastActive >= idleTicks }.sorted {
            $0.number > $1.number
        }.prefix(most)
        for session in newest {
            self.counts.add(.sessionsShed)
            session.shed(retryInMilliseconds: .random(in: Self.shedRetryMilliseconds))
        }
    }

    /// When clients of shed sessions may reconnect.
    static let shedRetryMilliseconds: ClosedRange<Int64> = 5_000...30_000
}

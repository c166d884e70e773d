// Everything that one event loop owns. Loops do not share this state, so none of it needs a lock.

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
    let revocationReader: RevocationReader
    /// Called with the seconds until the arrival when the rider of a job is about two minutes away, and again while it
    /// is near.
    package var onNear: ((_ job: JobID, _ rider: PersonID, _ seconds: Double) -> Void)?
    package let push: PushSubscriptions
    package let precedingStops: PrecedingStops
    /// Set on one loop of each gateway only.
    private let sweep: RiderSweep?
    let trail: AuditTrail
    let live: RedisClient
    let ledger: RedisClient
    let writes: RedisClient
    let faultMonitors: RedisFaultMonitors
    var outage = Outage()
    package internal(set) var redisAvailability = RedisAvailability(now: WallClock.nowMilliseconds)
    /// Shared by all loops.
    package let quotas: Quotas
    package let load: SharedLoad
    package let deadlines: Deadlines
    let ownerBuckets: SharedBuckets<SessionOwner>
    let addressBuckets: SharedBuckets<ClientAddress>
    package let counts: LoopCounts
    /// Ticks since the loop started. They serve as a clock that costs nothing to read.
    private(set) var ticks: UInt64 = 0
    private let pulse: SharedLoad.Pulse
    package internal(set) var sessions: [UInt64: Session] = [:]
    var riderSessions: [UInt64: RiderSession] = [:]
    /// Connections without a session: plain HTTP connections, and others before their upgrade.
    var requestChannels: [ObjectIdentifier: any Channel] = [:]
    var lastNumber: UInt64 = 0
    var sessionRoles: [SessionRole: Int] = [:]
    /// Bytes in the outboxes of all sessions.
    var outboxBytes = 0
    var summaryLimit: SessionSummaryLimit
    var notices = RefusalNotices()
    /// Set once the gateway is stopping: the time in ms within which its sessions close.
    var drainMilliseconds: Int64?
    private var timer: LoopTimer?
    var whenEmpty: EventLoopPromise<Void>?

    /// The maximum number of REST trips and REST reporters a loop remembers, about 1 KiB each.
    static let maxRESTTrips = 10_000

    /// - Parameter index: the index of this loop among the gateway's `loops`, from 0.
    package init(
        eventLoop: any EventLoop, index: Int, loops: Int, settings: RealtimeSettings, quotas: Quotas, load: SharedLoad,
        revocations: Revocations, routing: ArrivalRouting, faultMonitors: RedisFaultMonitors, logger: Logger
    ) {
        let parts = LoopParts(
            eventLoop: eventLoop, index: index, loops: loops, settings: settings, load: load, revocations: revocations,
            routing: routing, faultMonitors: faultMonitors, logger: logger)
        (self.eventLoop, self.settings, self.logger) = (eventLoop, settings, logger)
        (self.quotas, self.load, self.pulse) = (quotas, load, load.pulses[index])
        (self.revocations, self.faultMonitors) = (revocations, faultMonitors)
        (self.counts, self.deadlines, self.trail) = (parts.counts, parts.deadlines, parts.trail)
        (self.live, self.ledger, self.writes) = (parts.live, parts.ledger, parts.writes)
        self.revocationReader = parts.revocationReader
        self.summaryLimit = SessionSummaryLimit(loops: loops)
        let limits = settings.limits
        self.ownerBuckets = SharedBuckets(
            perSecond: limits.messagesPerPersonPerSecond, burst: limits.messagesPerPersonBurst)
        self.addressBuckets = SharedBuckets(
            perSecond: limits.messagesPerAddressPerSecond, burst: limits.messagesPerAddressBurst)

        let state = settings.liveState
        self.publisher = LocationPublisher(live: self.live, settings: state)
        self.notes = ValidationSummaryStore(live: self.live, settings: state)
        self.links = TrackingLinks(ledger: self.ledger, writes: self.writes, settings: state)
        self.tickets = Tickets(live: self.live, settings: state)
        self.signInCodes = SignInCodes(live: self.live, settings: state)
        self.push = PushSubscriptions(live: self.live, settings: state)
        self.pool = ZonePool(ledger: self.ledger, live: self.live, settings: state)
        self.geocoder = routing.geocoder?(ETAStore(live: self.live, settings: state))
        self.stopSequences = StopSequenceStore(live: self.live, settings: state)

        self.jobs = parts.jobService(notes: self.notes)
        self.riders = parts.riderService(jobs: self.jobs)
        self.places = PlaceBatches(index: self.riders.places)
        self.precedingStops = PrecedingStops(stopSequences: self.stopSequences, ledger: self.jobs.ledger)
        self.sweep = parts.riderSweep(jobs: self.jobs)
        self.relay = parts.relay(jobs: self.jobs, pool: self.pool, before: self.precedingStops)
        self.zoneJobs = ZoneJobsRelay(eventLoop: eventLoop, index: index, loops: loops, counts: self.counts)
        self.zonePlaces = ZonePlacesRelay(eventLoop: eventLoop, index: index, loops: loops, counts: self.counts)
        self.reactToRevocationsAndRedis()
    }

    private func reactToRevocationsAndRedis() {
        self.revocationReader.onRevoked = { [unowned self] in self.apply($0, isFirst: $1) }
        self.revocationReader.onUpToDate = { [unowned self] in self.relay.showSuppressedPositions() }
        self.live.onReturned { [unowned self] in
            for rider in self.riderSessions.values { rider.republish() }
            self.restReporters.republish()
        }
    }

    /// Connects to both Redis instances. Fails when one of them is unavailable, and may be called again then.
    package func start() -> EventLoopFuture<Void> {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        if self.timer == nil {
            self.timer = LoopTimer(eventLoop: self.eventLoop, interval: Deadlines.tick) { bound.value.tick($0) }
            self.timer?.start()
        }
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

    /// After a loop stops, the callbacks of pending requests may still reference it without owning it. The loop is
    /// therefore kept alive for this time, or until the event loop shuts down. Redis (3 s), a routing provider (5 s)
    /// and the closing of a TLS connection (5 s) take less.
    static let pendingRequestLimit = TimeAmount.seconds(30)

    package var requests: IdempotencyRecords {
        IdempotencyRecords(writes: self.writes, settings: self.settings.liveState)
    }

    /// For writing revocations. Uses the connection for writes that wait for replicas, because a revocation is only
    /// reported once it is durable.
    package var revocationLog: RevocationLog { RevocationLog(ledger: self.writes, settings: self.settings.liveState) }

    /// The round-trip time to each instance, and the difference to its clock; `nil` if the instance does not respond.
    package func clockReadings() -> EventLoopFuture<(live: ClockReading?, ledger: ClockReading?)> {
        ClockReading.attempt(at: self.live).and(ClockReading.attempt(at: self.ledger)).map { (live: $0, ledger: $1) }
    }

    /// The replicas of each instance; `nil` if their number is unknown.
    package var replicas: (live: Int?, ledger: Int?) { (self.live.onlineReplicas, self.writes.onlineReplicas) }

    package var streams: AuditStreams { AuditStreams(ledger: self.ledger, settings: self.settings.liveState) }
    /// For events that follow from positions. The ledger's scripts write all other events.
    var eventStreams: EventStreams { EventStreams(ledger: self.ledger, settings: self.settings.liveState) }
    package var webhooks: WebhookStore { WebhookStore(ledger: self.ledger, settings: self.settings.liveState) }
    package var registry: GatewayRegistry { GatewayRegistry(live: self.live, settings: self.settings.liveState) }

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
}

// Creates the parts of an event loop that need more than a connection to Redis. `LoopState` owns them.

internal import Access
internal import ETA
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import Logging
internal import NIOCore
internal import Redis
internal import Resilience
internal import Telemetry
internal import TrafficControl

/// The values that the parts of an event loop share, and the steps that create the parts.
struct LoopParts {
    let eventLoop: any EventLoop
    let index: Int
    let loops: Int
    let settings: RealtimeSettings
    let load: SharedLoad
    let revocations: Revocations
    let routing: ArrivalRouting
    let logger: Logger
    let counts = LoopCounts()
    let deadlines = Deadlines(now: .now())
    let live: RedisClient
    let ledger: RedisClient
    let writes: RedisClient
    let revocationReader: RevocationReader
    let trail: AuditTrail
    private let riders: Riders

    /// Subscriber connections of a gateway to each of the two Redis instances, spread over the loops. Each loop has at
    /// least one.
    private static let subscriberConnections = 4

    /// The subscriber connections of one loop to each of the two Redis instances.
    ///
    /// - Parameter loops: the number of loops of the gateway.
    static func subscriberConnections(ofLoop loops: Int) -> Int { max(1, Self.subscriberConnections / loops) }

    /// The maximum number of jobs that a gateway resyncs at the same time.
    private static let maxResyncs = 500

    /// - Parameter index: the index of this loop among the gateway's `loops`, from 0.
    init(
        eventLoop: any EventLoop, index: Int, loops: Int, settings: RealtimeSettings, load: SharedLoad,
        revocations: Revocations, routing: ArrivalRouting, faultMonitors: RedisFaultMonitors, logger: Logger
    ) {
        (self.eventLoop, self.index, self.loops) = (eventLoop, index, loops)
        (self.settings, self.load, self.revocations) = (settings, load, revocations)
        (self.routing, self.logger) = (routing, logger)
        let durations = self.counts.durations
        func client(
            _ address: RedisAddress, _ dependency: Dependency, _ monitor: RedisFaultMonitor,
            _ replyTimes: DurationRecorder
        ) -> RedisClient {
            RedisClient(
                address: address, eventLoop: eventLoop, timing: settings.redisTiming, logger: logger.of(dependency),
                witness: monitor, replyTimes: replyTimes)
        }
        self.live = client(settings.live, .redisLive, faultMonitors.live, durations.liveCommand)
        self.ledger = client(settings.ledger, .redisLedger, faultMonitors.ledger, durations.ledgerCommand)
        self.writes = client(settings.ledger, .redisLedger, faultMonitors.ledger, durations.ledgerCommand)
        self.revocationReader = RevocationReader(
            eventLoop: eventLoop, settings: settings, witness: faultMonitors.ledger,
            replyTimes: durations.ledgerCommand, logger: logger)
        self.trail = AuditTrail(
            eventLoop: eventLoop, streams: AuditStreams(ledger: self.ledger, settings: settings.liveState),
            gateway: settings.name, counts: self.counts, logger: logger)
        self.riders = Riders(ledger: self.ledger, writes: self.writes, settings: settings.liveState)
    }

    private var state: LiveStateSettings { self.settings.liveState }

    // MARK: operations

    func jobService(notes: ValidationSummaryStore) -> JobService {
        let trail = NIOLoopBound(self.trail, eventLoop: self.eventLoop)
        let counts = NIOLoopBound(self.counts, eventLoop: self.eventLoop)
        return JobService(
            ledger: JobLedger(ledger: self.ledger, writes: self.writes, settings: self.state),
            feed: JobFeed(live: self.live, settings: self.state), riders: self.riders, revocations: self.revocations,
            notes: notes, freshness: self.settings.freshness, early: self.settings.arrivals.early, settings: self.state,
            logger: self.logger, count: { counts.value.add($0) },
            onErased: { job, keys, reason in
                trail.value.record(.erased(job, keys: keys, because: reason))
            })
    }

    func riderService(jobs: JobService) -> RiderService {
        let counts = NIOLoopBound(self.counts, eventLoop: self.eventLoop)
        return RiderService(
            riders: self.riders, places: GeoIndex(live: self.live, settings: self.state), jobs: jobs,
            onOfflineRefused: { counts.value.add(.offlineRefused) })
    }

    /// - Returns: `nil` except on one loop of each gateway.
    func riderSweep(jobs: JobService) -> RiderSweep? {
        guard self.index == 0 else { return nil }
        return RiderSweep(
            eventLoop: self.eventLoop, riders: self.riders, jobs: jobs, pace: self.settings.sweepPace,
            counts: self.counts, logger: self.logger)
    }

    // MARK: relay

    func relay(jobs: JobService, pool: ZonePool, before precedingStops: PrecedingStops) -> LoopRelay {
        var bounds = ResyncScheduler<Int>.Bounds()
        bounds.maxInFlight = max(1, Self.maxResyncs / self.loops)
        let events = self.subscriptions(self.ledger, .redisLedger)
        return LoopRelay(
            eventLoop: self.eventLoop, keyspace: self.state.keyspace, jobs: jobs,
            feeds: self.subscriptions(self.live, .redisLive), events: events,
            zones: ZoneRelay(
                eventLoop: self.eventLoop, keyspace: self.state.keyspace, pool: pool, channels: events,
                counts: self.counts, logger: self.logger),
            counts: self.counts, followed: self.load.followedJobs, bounds: bounds,
            limits: TimeLimits(deadlines: self.deadlines, jobs: jobs, eventLoop: self.eventLoop),
            arrivals: self.arrivalTimes(before: precedingStops),
            freshness: FreshnessTracker(deadlines: self.deadlines, freshness: self.settings.freshness),
            isRevocationStateStale: { [reader = self.revocationReader] in reader.isRevocationStateStale },
            logger: self.logger)
    }

    private func subscriptions(_ client: RedisClient, _ dependency: Dependency) -> Subscriptions {
        Subscriptions(
            client: client, connections: Self.subscriberConnections(ofLoop: self.loops),
            timing: self.settings.redisTiming, logger: self.logger.of(dependency))
    }

    private func arrivalTimes(before precedingStops: PrecedingStops) -> ArrivalTimes {
        ArrivalTimes(
            eventLoop: self.eventLoop, store: ETAStore(live: self.live, settings: self.state), before: precedingStops,
            settings: self.settings.arrivals, freshness: self.settings.freshness, routing: self.routing,
            logger: self.logger, events: EventStreams(ledger: self.ledger, settings: self.state))
    }
}

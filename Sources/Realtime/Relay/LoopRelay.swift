// Relays messages from Redis to the followers on one loop. Each message becomes one frame, which is offered to every follower
// of its job. The loop subscribes to a job's channels for its first follower and unsubscribes after its last one. Positions are
// relayed here, other messages in NoticeRelay and StatusRelay.
//
// Step 8 of 10 of the hot path. Before: Redis/RedisChannelHandler.swift
// Next: Realtime/Relay/FollowedJob.swift

package import EnrouteWire
internal import ETA
internal import Fanout
internal import HotPath
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import Logging
internal import NIOCore
internal import Redis
internal import Resilience
internal import Telemetry
internal import TrafficControl
internal import WebSocket

/// Relays the messages of all jobs followed on one event loop. Confined to it.
package final class LoopRelay {
    let eventLoop: any EventLoop
    let keyspace: Keyspace
    let jobs: JobService
    private let feeds: Subscriptions
    let events: Subscriptions
    let counts: LoopCounts
    /// Shared by all loops.
    private let followed: FollowedJobs
    let logger: Logger
    /// Jobs that lost their channels at the same time are resynced within this time, not all at once.
    private static let resyncSpread = UInt64.milliseconds(250)

    private(set) var table = FollowTable<JobID, FollowedJob>()
    private let jobResync: JobResync
    /// The rider pools of zones, whose channels are on the ledger too.
    let zones: ZoneRelay
    let limits: TimeLimits
    let arrivals: ArrivalTimes
    let freshness: FreshnessTracker

    var suppressed = SuppressedPositions()

    /// Whether the revocation state is stale. While it is, no positions are shown.
    let isRevocationStateStale: () -> Bool

    init(
        eventLoop: any EventLoop, keyspace: Keyspace, jobs: JobService, feeds: Subscriptions,
        events: Subscriptions, zones: ZoneRelay, counts: LoopCounts, followed: FollowedJobs,
        bounds: ResyncScheduler<Int>.Bounds, limits: TimeLimits, arrivals: ArrivalTimes, freshness: FreshnessTracker,
        isRevocationStateStale: @escaping () -> Bool,
        logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.keyspace = keyspace
        self.jobs = jobs
        self.feeds = feeds
        self.events = events
        self.zones = zones
        self.counts = counts
        self.followed = followed
        self.logger = logger
        self.limits = limits
        self.arrivals = arrivals
        self.freshness = freshness
        self.isRevocationStateStale = isRevocationStateStale
        self.jobResync = JobResync(
            eventLoop: eventLoop, jobs: jobs, counts: counts, bounds: bounds, limits: limits, logger: logger)
        self.jobResync.followers = { [unowned self] in self.table.followers(of: $0) }
        self.jobResync.visiblePart = { [unowned self] in self.visiblePart($0, of: $1) }
        self.jobResync.onPosition = { [unowned self] id, frame, job in
            self.offerPosition(id, frame, of: job, to: self.table.followers(of: job), age: Self.age(of: id))
        }
        arrivals.onEstimate = { [unowned self] in self.offerEstimate($0, of: $1) }
        arrivals.onEarlyEstimate = { [unowned self] in self.offerEarlyEstimate($0, of: $1) }
        freshness.onStale = { [unowned self] in self.sendTrackingState(.stale, $0) }
        feeds.onMessage = { [unowned self] channel, payload in self.relayFeed(channel, payload) }
        events.onMessage = { [unowned self] channel, payload in self.relayEvent(channel, payload) }
        for connection in [feeds, events] {
            connection.onResubscribed = { [unowned self] channel in
                let job = Array(channel.utf8).withUnsafeBytes { self.keyspace.job(ofChannel: $0) }
                guard let job else { return self.zones.resubscribed(channel) }
                self.jobResync.schedule(job, within: Self.resyncSpread)
            }
        }
    }

    func start() -> EventLoopFuture<Void> {
        EventLoopFuture.andAllSucceed([self.feeds.start(), self.events.start()], on: self.eventLoop)
    }

    func stop() {
        self.feeds.stop()
        self.events.stop()
    }

    // MARK: followers

    /// Succeeds when no further message of the job can be missed.
    func follow(_ followed: FollowedJob) -> EventLoopFuture<Void> {
        if self.table.follow(followed.job, by: followed) == .subscribe { self.followed.follow(followed.job) }
        let bound = NIOLoopBound((self, followed.job), eventLoop: self.eventLoop)
        return EventLoopFuture.andAllSucceed(
            [
                self.feeds.subscribe(self.keyspace.feed(of: followed.job)),
                self.events.subscribe(self.keyspace.events(of: followed.job)),
            ], on: self.eventLoop
        ).map { bound.value.0.channelsSubscribed(bound.value.1) }
    }

    /// Both channels are subscribed, so the job takes part in resyncs from this point. Starting earlier would make a follower
    /// live while one of its channels is still missing.
    private func channelsSubscribed(_ job: JobID) {
        if !self.table.followers(of: job).isEmpty { self.jobResync.follow(job) }
    }

    func unfollow(_ followed: FollowedJob) {
        guard self.table.unfollow(followed.job, by: followed) == .unsubscribe else { return }
        self.followed.unfollow(followed.job)
        self.jobResync.unfollow(followed.job)
        self.limits.forget(followed.job)
        self.suppressed.drop(followed.job)
        self.arrivals.unfollow(followed.job)
        self.freshness.forget(followed.job)
        self.feeds.unsubscribe(self.keyspace.feed(of: followed.job))
        self.events.unsubscribe(self.keyspace.events(of: followed.job))
    }

    /// The number of followers on this loop for at most `most` jobs. Costs O(most).
    package func followers(most: Int) -> [JobID: Int] {
        Dictionary(
            uniqueKeysWithValues: self.table.topics.prefix(most).map { ($0, self.table.followers(of: $0).count) })
    }

    // MARK: relaying messages

    private func relayFeed(_ channel: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) {
        guard let job = self.keyspace.job(ofChannel: channel) else { return }
        let followers = self.table.followers(of: job)
        guard !followers.isEmpty else { return }
        if let location = PublishedLocation.read(payload, of: job) {
            HotPath.pass(.loopRelay)
            self.counts.add(.messagesRelayed, followers.count)
            self.freshness.positionReceived(job)
            return self.offerPosition(
                location.id, Frame.text(payload), of: job, to: followers, receivedAt: location.receivedAt)
        }
        guard let message = ServerMessage(ours: payload),
            self.relayNotice(message, Frame.text(payload), of: job, to: followers)
        else { return self.feeds.refuse(channel) }
        self.counts.add(.messagesRelayed, followers.count)
    }

    /// How long ago a position was published, by the clock of Redis: its id is a Redis time in µs.
    private static func age(of id: UInt64) -> TimeAmount {
        .milliseconds(max(0, WallClock.nowMilliseconds - Int64(clamping: id / 1000)))
    }

    /// Offers a position to the followers, or buffers it while the revocation state is stale.
    ///
    /// - Parameters:
    ///   - age: how long ago the position was published, if it was read rather than received.
    ///   - receivedAt: when a gateway received it, ms since the epoch; 0 if it was read, so its delivery is not measured.
    private func offerPosition(
        _ id: UInt64, _ frame: [UInt8], of job: JobID, to followers: ContiguousArray<FollowedJob>,
        age: TimeAmount = .zero, receivedAt: Int64 = 0
    ) {
        self.arrivals.received(position: frame, of: job)
        guard !self.isRevocationStateStale() else {
            self.counts.add(.positionsSuppressed)
            return self.suppressed.store(id, frame, of: job, receivedAt: receivedAt)
        }
        var (isNews, isTold, written) = (false, true, 0)
        let now = NIODeadline.now()
        for follower in followers {
            switch follower.offerPosition(id, frame, at: now, receivedAt: receivedAt) {
            case .notSent: continue
            case .queued: break
            case .written: written += 1
            }
            isNews = true
            if follower.lastSentState != .live { isTold = false }
        }
        self.counts.durations.delivered(receivedAt: receivedAt, count: written)
        if isNews, age > .zero { self.freshness.positionReceived(job, age: age) }
        if !isTold { self.sendTrackingState(self.freshness.state(of: job) ?? .live, job) }
    }

    /// The part of a view that may be shown now. While the revocation state is stale, its position is buffered instead.
    func visiblePart(_ view: JobView, of job: JobID) -> JobView {
        let view = self.arrivals.viewRead(view, of: job)
        guard self.isRevocationStateStale() else {
            guard let id = view.positionID, view.isTracking else { return view }
            self.freshness.positionReceived(job, age: Self.age(of: id))
            var shown = view
            shown.snapshot.tracking = self.freshness.state(of: job) ?? view.snapshot.tracking
            return shown
        }
        if let id = view.positionID, let position = view.snapshot.position {
            self.offerPosition(
                id, position.withUnsafeBytes { Frame.text($0) }, of: job, to: self.table.followers(of: job))
        }
        return view.withoutPosition
    }

    // MARK: revocation

    func revoke(_ job: JobID) {
        self.suppressed.drop(job)
        for follower in self.table.followers(of: job) { follower.revoke() }
    }

    // MARK: resync

    /// Reads a job again for all its followers on this loop and sends them a `reset`.
    func resync(_ job: JobID) {
        self.suppressed.drop(job)
        self.jobResync.schedule(job, within: 0)
    }

    /// Called on every tick of the loop.
    func tick() {
        self.jobResync.startDue()
        self.arrivals.tick()
        self.zones.tick()
    }

    /// See `JobResync.isOutage`.
    func setOutage(_ isOutage: Bool) {
        self.jobResync.isOutage = isOutage
        self.zones.setOutage(isOutage)
    }

    /// All channels are subscribed, and no resync is pending.
    var isSettled: Bool {
        self.feeds.isSettled && self.events.isSettled && self.jobResync.isSettled && self.zones.isSettled
    }

    /// When the first subscriber connection of each role was lost or stopped answering.
    var unresponsiveSince: (live: NIODeadline?, ledger: NIODeadline?) {
        (self.feeds.unresponsiveSince, self.events.unresponsiveSince)
    }
}

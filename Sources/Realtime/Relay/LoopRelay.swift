// From Redis to the followers on one loop: a message becomes one frame, and every follower of its job is offered it.
// A job is subscribed when its first follower comes and left when its last one goes.
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

/// Relays the messages of the jobs that are followed on one event loop. Confined to it.
package final class LoopRelay {
    private let eventLoop: any EventLoop
    private let keyspace: Keyspace
    private let jobs: JobService
    private let feeds: Subscriptions
    private let events: Subscriptions
    private let counts: LoopCounts
    private let logger: Logger
    /// Jobs whose channels were lost together are read again within this time, not all at once.
    private static let resyncSpread = UInt64.milliseconds(250)

    private var table = FollowTable<JobID, FollowedJob>()
    private let jobResync: JobResync
    /// The pools of zones, whose channels are at the ledger too.
    let zones: ZoneRelay
    let limits: TimeLimits
    private let arrivals: ArrivalTimes
    private let freshness: FreshnessTracker

    private var withheld = SuppressedPositions()

    /// Whether it may be unknown who may see what: no position is shown then.
    private let isRevocationStateStale: () -> Bool

    init(
        eventLoop: any EventLoop, keyspace: Keyspace, jobs: JobService, feeds: Subscriptions,
        events: Subscriptions, zones: ZoneRelay, counts: LoopCounts, bounds: ResyncScheduler<JobID>.Bounds,
        limits: TimeLimits, arrivals: ArrivalTimes, freshness: FreshnessTracker,
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
        self.logger = logger
        self.limits = limits
        self.arrivals = arrivals
        self.freshness = freshness
        self.isRevocationStateStale = isRevocationStateStale
        self.jobResync = JobResync(
            eventLoop: eventLoop, jobs: jobs, counts: counts, bounds: bounds, limits: limits, logger: logger)
        self.jobResync.followers = { [unowned self] in self.table.followers(of: $0) }
        self.jobResync.showable = { [unowned self] in self.showable($0, of: $1) }
        self.jobResync.onPosition = { [unowned self] id, frame, job in
            self.offerPosition(id, frame, of: job, to: self.table.followers(of: job), age: Self.age(of: id))
        }
        arrivals.onNews = { [unowned self] in self.offerEstimate($0, of: $1) }
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

    // MARK: who follows

    /// Succeeds when no message of the job can be missed any more.
    func follow(_ followed: FollowedJob) -> EventLoopFuture<Void> {
        _ = self.table.follow(followed.job, by: followed)
        let bound = NIOLoopBound((self, followed.job), eventLoop: self.eventLoop)
        return EventLoopFuture.andAllSucceed(
            [
                self.feeds.subscribe(self.keyspace.feed(of: followed.job)),
                self.events.subscribe(self.keyspace.events(of: followed.job)),
            ], on: self.eventLoop
        ).map { bound.value.0.channelsSubscribed(bound.value.1) }
    }

    /// Both channels are: from now on the job is looked at, and not before, since a repair would make a follower live while
    /// one of its channels is still missing.
    private func channelsSubscribed(_ job: JobID) {
        if !self.table.followers(of: job).isEmpty { self.jobResync.follow(job) }
    }

    func unfollow(_ followed: FollowedJob) {
        guard self.table.unfollow(followed.job, by: followed) == .unsubscribe else { return }
        self.jobResync.unfollow(followed.job)
        self.limits.forget(followed.job)
        self.withheld.drop(followed.job)
        self.arrivals.leave(followed.job)
        self.freshness.forget(followed.job)
        self.feeds.unsubscribe(self.keyspace.feed(of: followed.job))
        self.events.unsubscribe(self.keyspace.events(of: followed.job))
    }

    /// Jobs that somebody on this loop follows.
    var followedJobs: Int { self.table.topics.count }

    /// How many follow each job on this loop, of at most `most` jobs. Cost: O(most).
    package func followers(most: Int) -> [JobID: Int] {
        Dictionary(
            uniqueKeysWithValues: self.table.topics.prefix(most).map { ($0, self.table.followers(of: $0).count) })
    }

    // MARK: what is said

    private func relayFeed(_ channel: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) {
        guard let job = self.keyspace.job(ofChannel: channel) else { return }
        let followers = self.table.followers(of: job)
        guard !followers.isEmpty else { return }
        if let id = PublishedLocation.read(payload, of: job) {
            HotPath.pass(.loopRelay)
            self.counts.add(.messagesRelayed, followers.count)
            self.freshness.positionReceived(job)
            return self.offerPosition(id, Frame.text(payload), of: job, to: followers)
        }
        guard let message = ServerMessage(ours: payload),
            self.relayNotice(message, Frame.text(payload), of: job, to: followers)
        else { return self.feeds.refuse(channel) }
        self.counts.add(.messagesRelayed, followers.count)
    }

    /// Shows what is only said here: an arrival that is called into question for want of positions, or is not any more.
    private func offerEstimate(_ estimate: ArrivalEstimate, of job: JobID) {
        if self.isRevocationStateStale() {
            self.logger.trace(
                "arrival time suppressed; revocation state is stale",
                metadata: [LogKey.job: "\(job)", LogKey.reason: "\(estimate.state.rawValue)"])
        }
        self.offerETA(
            Frame.text(ServerMessage.eta(job: job, estimate).encoded), of: job, to: self.table.followers(of: job))
    }

    /// While it may be unknown who may see what, nothing is shown; `release` makes it good.
    private func offerETA(_ frame: [UInt8], of job: JobID, to followers: ContiguousArray<FollowedJob>) {
        guard !self.isRevocationStateStale() else { return self.withheld.keepArrival(of: job) }
        for follower in followers { follower.offerETA(frame) }
    }

    /// What is not a position: rare.
    ///
    /// - Returns: whether it is a word of this job's feed.
    private func relayNotice(
        _ message: ServerMessage, _ frame: [UInt8], of job: JobID, to followers: ContiguousArray<FollowedJob>
    ) -> Bool {
        switch message {
        case .tracking(job, let state, let reason):
            if state.endsPositions {
                self.withheld.drop(job)
                self.freshness.forget(job)
                self.arrivals.ended(job, because: reason)
            }
            for follower in followers { follower.offerTracking(state, frame) }
        case .eta(job, let estimate):
            self.arrivals.heard(estimate, of: job)
            self.offerETA(frame, of: job, to: followers)
        case .proximity(job, _):
            for follower in followers { follower.sendNotice(frame, isForAll: false) }
        case .unavailable(job, let text, _):
            let words = Frame.text(ServerMessage.unavailable(job: job, text, nil).encoded)
            for follower in followers {
                follower.sendNotice(follower.seesOperationalDetails ? frame : words, isForAll: true)
            }
        default: return false
        }
        return true
    }

    /// How long ago a position was published, by the clock of Redis, whose time its id is, in µs.
    private static func age(of id: UInt64) -> TimeAmount { .milliseconds(max(0, .now - Int64(clamping: id / 1000))) }

    /// Tells the followers of a job that its positions are live or old: those who were told otherwise.
    private func sendTrackingState(_ state: TrackingState, _ job: JobID) {
        let frame = Frame.text(ServerMessage.tracking(job: job, state, nil).encoded)
        for follower in self.table.followers(of: job) { follower.sendTrackingState(state, frame) }
    }

    /// Shows a position, or keeps it until it is known again who may see it.
    ///
    /// - Parameter age: of a position that was read, not heard.
    private func offerPosition(
        _ id: UInt64, _ frame: [UInt8], of job: JobID, to followers: ContiguousArray<FollowedJob>,
        age: TimeAmount = .zero
    ) {
        self.arrivals.heard(position: frame, of: job)
        guard !self.isRevocationStateStale() else {
            self.counts.add(.positionsSuppressed)
            return self.withheld.keep(id, frame, of: job)
        }
        var (isNews, isTold) = (false, true)
        let now = NIODeadline.now()
        for follower in followers where follower.offerPosition(id, frame, at: now) {
            isNews = true
            if follower.lastSentState != .live { isTold = false }
        }
        if isNews, age > .zero { self.freshness.positionReceived(job, age: age) }
        if !isTold { self.sendTrackingState(self.freshness.state(of: job) ?? .live, job) }
    }

    /// What of a view may be shown now: its position is kept as well while it may be unknown who may see it.
    func showable(_ view: JobView, of job: JobID) -> JobView {
        let view = self.arrivals.saw(view, of: job)
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

    private func relayEvent(_ channel: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) {
        guard let job = self.keyspace.job(ofChannel: channel) else {
            return self.zones.relay(channel, payload)
        }
        // Who may see the job may have changed: until it is read again nothing of it is shown.
        guard !payload.elementsEqual(Self.assigned) else { return self.resync(job) }
        guard case .status(job, let event)? = ServerMessage(ours: payload) else { return self.events.refuse(channel) }
        let status = FollowerSyncState<StatusID>.Status(
            id: event.id, previous: event.previous, epoch: event.epoch, frame: Frame.text(payload))
        var isGap = false
        if let reason = event.status.endOfTravel { self.arrivals.ended(job, because: reason) }
        let followers = self.table.followers(of: job)
        self.counts.add(.messagesRelayed, followers.count)
        for follower in followers {
            if follower.offerStatus(event, status) == .gap { isGap = true }
        }
        if isGap { self.resync(job) }
    }

    /// As assign_job publishes it.
    private static let assigned = Array(#"{"type":"assigned"}"#.utf8)

    // MARK: what is revoked

    /// What was withheld is shown to those who still follow.
    func showSuppressedPositions() {
        guard !self.withheld.isEmpty else { return }
        var arrivals = self.withheld.takeArrivals()
        let now = NIODeadline.now()
        for (job, position) in self.withheld.takeAll() {
            for follower in self.table.followers(of: job) {
                follower.offerPosition(position.id, position.frame, at: now)
            }
            arrivals.insert(job)
        }
        for job in arrivals { if let told = self.arrivals.told(of: job) { self.offerEstimate(told, of: job) } }
    }

    func revoke(_ job: JobID) {
        self.withheld.drop(job)
        for follower in self.table.followers(of: job) { follower.revoke() }
    }

    // MARK: when something may be missing

    /// Reads a job again for all its followers here, who are sent a `reset`.
    func resync(_ job: JobID) {
        self.withheld.drop(job)
        self.jobResync.schedule(job, within: 0)
    }

    /// Every tick of the loop.
    func tick() {
        self.jobResync.startDue()
        self.arrivals.tick()
        self.zones.tick()
    }

    /// Everything is subscribed, and nothing waits to be read again.
    var isSettled: Bool {
        self.feeds.isSettled && self.events.isSettled && self.jobResync.isSettled && self.zones.isSettled
    }

    /// Since when some subscriber connection at that role is gone or does not answer.
    var unresponsiveSince: (live: NIODeadline?, ledger: NIODeadline?) {
        (self.feeds.unresponsiveSince, self.events.unresponsiveSince)
    }
}

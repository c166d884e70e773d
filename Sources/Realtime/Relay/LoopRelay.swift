// Relays messages from Redis to the followers on one loop. Each message becomes one frame, which is offered to every follower
// of its job. The loop subscribes to a job with its first follower and unsubscribes with its last one.
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
    private let eventLoop: any EventLoop
    private let keyspace: Keyspace
    private let jobs: JobService
    private let feeds: Subscriptions
    private let events: Subscriptions
    private let counts: LoopCounts
    /// Shared by all loops.
    private let followed: FollowedJobs
    private let logger: Logger
    /// Jobs that lost their channels together are resynced within this time, not all together.
    private static let resyncSpread = UInt64.milliseconds(250)

    private var table = FollowTable<JobID, FollowedJob>()
    private let jobResync: JobResync
    /// The rider pools of zones, whose channels are on the ledger too.
    let zones: ZoneRelay
    let limits: TimeLimits
    private let arrivals: ArrivalTimes
    private let freshness: FreshnessTracker

    private var suppressed = SuppressedPositions()

    /// Whether the revocation state is stale. No positions are shown then.
    private let isRevocationStateStale: () -> Bool

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
        arrivals.onEarlyEstimate = { [unowned self] estimate, job in
            let frame = Frame.text(ServerMessage.eta(job: job, estimate).encoded)
            for follower in self.table.followers(of: job) { follower.offerEarlyETA(frame) }
        }
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

    /// Sends an arrival time that this loop decided locally: it has become uncertain because positions are missing, or is
    /// certain again.
    private func offerEstimate(_ estimate: ArrivalEstimate, of job: JobID) {
        if self.isRevocationStateStale() {
            self.logger.trace(
                "arrival time suppressed; revocation state is stale",
                metadata: [LogKey.job: "\(job)", LogKey.reason: "\(estimate.state.rawValue)"])
        }
        self.offerETA(
            estimate, Frame.text(ServerMessage.eta(job: job, estimate).encoded), of: job,
            to: self.table.followers(of: job))
    }

    /// Arrival times are suppressed while the revocation state is stale. `showSuppressedPositions` sends them later.
    /// Customers do not receive the way to the stops before theirs.
    private func offerETA(
        _ estimate: ArrivalEstimate, _ frame: [UInt8], of job: JobID, to followers: ContiguousArray<FollowedJob>
    ) {
        guard !self.isRevocationStateStale() else { return self.suppressed.storeETA(of: job) }
        let visible = estimate.forCustomers
        let publicFrame =
            visible == estimate ? frame : Frame.text(ServerMessage.eta(job: job, visible).encoded)
        for follower in followers { follower.offerETA(follower.seesWholeRoute ? frame : publicFrame) }
    }

    /// Relays a message that is not a position. These are rare.
    ///
    /// - Returns: whether the message is valid for this job's feed.
    private func relayNotice(
        _ message: ServerMessage, _ frame: [UInt8], of job: JobID, to followers: ContiguousArray<FollowedJob>
    ) -> Bool {
        switch message {
        case .tracking(job, let state, let reason):
            if state.endsPositions {
                self.suppressed.drop(job)
                self.freshness.forget(job)
                self.arrivals.ended(job, because: reason)
            }
            for follower in followers { follower.offerTracking(state, frame) }
        case .eta(job, let estimate):
            self.arrivals.received(estimate, of: job)
            self.offerETA(estimate, frame, of: job, to: followers)
        case .proximity(job, _):
            for follower in followers { follower.sendNotice(frame, isForAll: false) }
        case .unavailable(job, let text, _):
            let publicFrame = Frame.text(ServerMessage.unavailable(job: job, text, nil).encoded)
            for follower in followers {
                follower.sendNotice(follower.seesOperationalDetails ? frame : publicFrame, isForAll: true)
            }
        default: return false
        }
        return true
    }

    /// How long ago a position was published, by the clock of Redis: its id is a Redis time in µs.
    private static func age(of id: UInt64) -> TimeAmount {
        .milliseconds(max(0, WallClock.nowMilliseconds - Int64(clamping: id / 1000)))
    }

    /// Notifies the followers of a job that its positions are live or stale, unless they already know.
    private func sendTrackingState(_ state: TrackingState, _ job: JobID) {
        let frame = Frame.text(ServerMessage.tracking(job: job, state, nil).encoded)
        for follower in self.table.followers(of: job) { follower.sendTrackingState(state, frame) }
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

    private func relayEvent(_ channel: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) {
        guard let job = self.keyspace.job(ofChannel: channel) else {
            return self.zones.relay(channel, payload)
        }
        // The job has been reassigned, so its followers may no longer be authorized. Nothing is shown until it is read again.
        guard !payload.elementsEqual(Self.assigned) else { return self.resync(job) }
        guard !payload.elementsEqual(Self.erased) else { return self.erased(job) }
        guard case .status(job, let event)? = ServerMessage(ours: payload) else { return self.events.refuse(channel) }
        let status = FollowerSyncState<StatusID>.Status(
            id: event.id, previous: event.previous, epoch: event.epoch, frame: Frame.text(payload))
        var (isGap, mayHaveCard) = (false, false)
        if let reason = event.status.endOfTravel { self.arrivals.ended(job, because: reason) }
        self.arrivals.statusChanged(job, to: event.status, at: event.at)
        let followers = self.table.followers(of: job)
        self.counts.add(.messagesRelayed, followers.count)
        let origin = StatusOrigin(payload)
        // Without the time, for example from a gateway of an older version, the time at which Redis recorded the status counts,
        // which is the start of its id.
        let receivedAt = origin.receivedAt ?? Int64(clamping: event.id.milliseconds)
        var written = 0
        for follower in followers {
            let verdict = follower.offerStatus(event, status, receivedAt: receivedAt, written: &written)
            if verdict == .gap {
                isGap = true
            } else if follower.showsOutdatedRider {
                if follower.showsRider { mayHaveCard = true } else { isGap = true }
            }
        }
        self.counts.durations.delivered(receivedAt: receivedAt, count: written)
        if let traceparent = origin.traceparent { self.logRelay(of: event, job, traceparent, count: written) }
        if isGap { self.resync(job) } else if mayHaveCard { self.showRider(of: job) }
    }

    /// The new status shows the rider. Followers are sent the whole state only if the rider has a card.
    private func showRider(of job: JobID) {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.jobs.view(job).whenComplete { result in
            let relay = bound.value
            guard case .success(let view?) = result, view.snapshot.riderCard == nil else { return relay.resync(job) }
            for follower in relay.table.followers(of: job) { follower.foundNoCard() }
        }
    }

    /// Logs that a status of a traced request has been relayed, so that a trace can be found in the logs of all gateways.
    private func logRelay(of event: StatusEvent, _ job: JobID, _ traceparent: String, count: Int) {
        let trace = RequestTrace([traceparent])
        guard trace.isContinued else { return }
        self.logger.debug(
            "status relayed",
            metadata: [
                LogKey.trace: "\(trace.traceID)", LogKey.job: "\(job)", LogKey.status: "\(event.status.rawValue)",
                LogKey.count: "\(count)",
            ])
    }

    /// The message that assign_job publishes, and that of erase_job.
    private static let assigned = Array(#"{"type":"assigned"}"#.utf8)
    private static let erased = Array(#"{"type":"erased"}"#.utf8)

    /// The job no longer exists. If this message is lost, the periodic check of followed jobs finds out.
    private func erased(_ job: JobID) {
        self.suppressed.drop(job)
        self.arrivals.ended(job, because: .revoked)
        for follower in self.table.followers(of: job) { follower.erase() }
    }

    // MARK: revocation

    /// Offers suppressed positions to the clients that still follow.
    func showSuppressedPositions() {
        guard !self.suppressed.isEmpty else { return }
        var arrivals = self.suppressed.removeETAs()
        let now = NIODeadline.now()
        for (job, position) in self.suppressed.removePositions() {
            var written = 0
            for follower in self.table.followers(of: job) {
                let offer = follower.offerPosition(
                    position.id, position.frame, at: now, receivedAt: position.receivedAt)
                if offer == .written { written += 1 }
            }
            self.counts.durations.delivered(receivedAt: position.receivedAt, count: written)
            arrivals.insert(job)
        }
        for job in arrivals {
            if let estimate = self.arrivals.lastEstimate(of: job) { self.offerEstimate(estimate, of: job) }
        }
    }

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

    /// As `JobResync.isOutage`.
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

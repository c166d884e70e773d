// From Redis to the followers on one loop: a message becomes one frame, and every follower of its job is offered it.
// A job is subscribed when its first follower comes and left when its last one goes.
//
// Step 6 of 7 of the hot path. Before: Redis/SubscriberConnection.swift. Next: Gateway/FollowerSession.swift.

internal import EnrouteWire
internal import Fanout
internal import LiveState
internal import Logging
internal import NIOCore
internal import Redis
internal import Telemetry

/// Relays the messages of the jobs that are followed on one event loop. Confined to it.
final class LoopRelay {
    private let eventLoop: any EventLoop
    private let keyspace: Keyspace
    private let jobs: JobControl
    private let feeds: SubscriberConnection
    private let events: SubscriberConnection
    private let counts: LoopCounts
    private let logger: Logger
    private var table = FollowTable<JobID, FollowedJob>()
    /// Jobs being read again because something may be missing: one read at a time for each, and whether one more has to
    /// follow, because the reason for it came after the read was sent.
    private var rereading: [JobID: Bool] = [:]

    init(
        eventLoop: any EventLoop, keyspace: Keyspace, jobs: JobControl, feeds: SubscriberConnection,
        events: SubscriberConnection, counts: LoopCounts, logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.keyspace = keyspace
        self.jobs = jobs
        self.feeds = feeds
        self.events = events
        self.counts = counts
        self.logger = logger
        feeds.onMessage = { [unowned self] channel, payload in self.relayFeed(channel, payload) }
        events.onMessage = { [unowned self] channel, payload in self.relayEvent(channel, payload) }
        for connection in [feeds, events] {
            connection.onResubscribed = { [unowned self] channel in
                let job = Array(channel.utf8).withUnsafeBytes { self.keyspace.job(ofChannel: $0) }
                if let job { self.reread(job) }
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
        return EventLoopFuture.andAllSucceed(
            [
                self.feeds.subscribe(self.keyspace.feed(of: followed.job)),
                self.events.subscribe(self.keyspace.events(of: followed.job)),
            ], on: self.eventLoop)
    }

    func unfollow(_ followed: FollowedJob) {
        guard self.table.unfollow(followed.job, by: followed) == .unsubscribe else { return }
        self.feeds.unsubscribe(self.keyspace.feed(of: followed.job))
        self.events.unsubscribe(self.keyspace.events(of: followed.job))
    }

    /// Jobs that somebody on this loop follows.
    var followedJobs: Int { self.table.topics.count }

    // MARK: what is said

    private func relayFeed(_ channel: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) {
        guard let job = self.keyspace.job(ofChannel: channel) else { return }
        let followers = self.table.followers(of: job)
        guard !followers.isEmpty else { return }
        self.counts.add(.messagesRelayed, followers.count)
        let frame = Frame.text(payload)
        if let id = PublishedLocation.id(of: payload) {
            for follower in followers { follower.offerPosition(id, frame) }
        } else if case .tracking(_, let state, _)? = try? ServerMessage(payload) {
            for follower in followers { follower.offerTracking(state, frame) }
        }
    }

    private func relayEvent(_ channel: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) {
        guard let job = self.keyspace.job(ofChannel: channel), case .status(_, let event)? = try? ServerMessage(payload)
        else { return }
        let status = Following<StatusID>.Status(
            id: event.id, previous: event.previous, epoch: event.epoch, frame: Frame.text(payload))
        var isGap = false
        let followers = self.table.followers(of: job)
        self.counts.add(.messagesRelayed, followers.count)
        for follower in followers {
            if follower.offerStatus(event, status) == .gap { isGap = true }
        }
        if isGap { self.reread(job) }
    }

    // MARK: when something may be missing

    /// Reads a job again for all its followers here, who are sent a `reset`.
    private func reread(_ job: JobID) {
        let followers = self.table.followers(of: job)
        guard !followers.isEmpty else { return }
        guard self.rereading[job] == nil else { return self.rereading[job] = true }
        self.rereading[job] = false
        for follower in followers { follower.unsynchronise() }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.jobs.view(job).whenComplete { bound.value.reread(job, $0) }
    }

    private func reread(_ job: JobID, _ result: Result<JobView?, any Error>) {
        if self.rereading.removeValue(forKey: job) == true { return self.reread(job) }
        switch result {
        case .success(let view?):
            let frame = Frame.text(ServerMessage.reset(job: job, view.snapshot).encoded)
            for follower in self.table.followers(of: job) { follower.synchronise(view, frame) }
        case .success(nil):
            for follower in self.table.followers(of: job) { follower.end(.completed) }
        case .failure(let error):
            self.logger.debug("job not read again", metadata: [LogKey.job: "\(job)", LogKey.reason: "\(error)"])
            let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
            self.eventLoop.scheduleTask(in: .milliseconds(.random(in: 200...1000))) { bound.value.reread(job) }
        }
    }
}

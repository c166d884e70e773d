// The following half of a session: subscribing without a gap, and one frame to one socket.
//
// Step 7 of 7 of the hot path. Before: Gateway/LoopRelay.swift. This is where it ends: one frame, TLS, one send.

internal import Access
internal import EnrouteWire
internal import Fanout
internal import LiveState
internal import NIOCore

/// One session's following of one job. Confined to the session's loop.
final class FollowedJob {
    let job: JobID
    private unowned let session: Session
    private var following = Following<StatusID>()
    /// Positions of the job may be shown at all: its rider is underway.
    private var showsPositions = true
    /// The follower was told that the rider shares its position.
    private var isTracking = false
    /// The first snapshot was shown.
    private var isShown = false
    /// What was written down when following began.
    var access: FollowedAccess?

    init(job: JobID, session: Session) {
        self.job = job
        self.session = session
    }

    func offerPosition(_ id: UInt64, _ frame: [UInt8]) {
        guard self.showsPositions, self.following.position(id, frame) else { return }
        self.session.send(frame, .replaceable(self.job))
    }

    func offerTracking(_ state: TrackingState, _ frame: [UInt8]) {
        if state == .ended { self.session.dropWaitingPosition(of: self.job) }
        guard self.following.tracking() else { return }
        if state == .ended { self.following.forgetPosition() }
        self.isTracking = state != .ended
        self.session.send(frame, .kept)
    }

    func offerStatus(_ event: StatusEvent, _ status: Following<StatusID>.Status) -> Following<StatusID>.StatusVerdict {
        let verdict = self.following.status(status)
        if verdict == .show {
            self.session.send(status.frame, .kept)
            self.entered(event.status)
            if let end = event.status.end { self.end(end) }
        }
        return verdict
    }

    func unsynchronise() { self.following.unsynchronise() }

    /// Only what was read since it was unsynchronised may be shown next.
    var awaitsRepair: Bool { self.following.awaitsRepair }

    /// Shows the whole state, and what came while it was read.
    ///
    /// - Returns: whether that is all: `false` when something between the two is missing and the job has to be read again.
    func synchronise(_ view: JobView, _ frame: [UInt8]) -> Bool {
        guard !self.following.isLive else { return true }
        self.isShown = true
        self.isTracking = view.isTracking
        self.entered(view.record.status)
        let waited = self.following.snapshot(
            position: view.positionID, epoch: view.record.epoch, status: view.record.head)
        self.session.send(frame, .kept)
        for frame in waited ?? [] { self.session.send(frame, .kept) }
        return waited != nil
    }

    /// Whether the follower has seen what is. Who has not been shown anything yet is about to be.
    func agrees(with check: JobCheck) -> Bool {
        guard self.isShown else { return true }
        return self.following.isLive && self.following.agrees(epoch: check.head.epoch, status: check.head.id)
            && self.isTracking == check.isTracking
    }

    func end(_ reason: EndReason) {
        self.session.dropWaitingPosition(of: self.job)
        self.session.send(Frame.text(ServerMessage.ended(job: self.job, reason).encoded), .kept)
        self.session.follower.leaveSoon(self)
    }

    private func entered(_ status: JobStatus) {
        self.showsPositions = status.endOfTravel == nil
        if !self.showsPositions { self.session.dropWaitingPosition(of: self.job) }
    }
}

/// The jobs one session follows. Confined to the session's loop.
final class FollowerSession {
    private unowned let session: Session
    private let loop: LoopState
    private var followed: [JobID: FollowedJob] = [:]

    init(session: Session, loop: LoopState) {
        self.session = session
        self.loop = loop
    }

    /// The order that misses nothing: authorise, subscribe and have it acknowledged, read, show what was read, then what
    /// came meanwhile and is newer, then what comes.
    func subscribe(_ job: JobID, since: ResumePoint?, _ grant: Grant) {
        let limits = self.loop.settings.limits
        guard self.followed[job] == nil else {
            return self.session.refuse("subscribe", job, .badRequest, "This connection follows the job already.")
        }
        let most =
            grant.role == .customer || grant.role == .rider ? limits.subscriptions : limits.operationsSubscriptions
        guard self.followed.count < most else {
            return self.session.refuse("subscribe", job, .limitExceeded, "A connection follows at most \(most) jobs.")
        }
        guard grant.allows(.followJob) else {
            return self.session.refuse("subscribe", job, .forbidden, "This role does not follow jobs.")
        }
        let followed = FollowedJob(job: job, session: self.session)
        self.followed[job] = followed
        let bound = NIOLoopBound((self.session, followed), eventLoop: self.loop.eventLoop)
        self.loop.jobs.ledger.recover(job).flatMapThrowing { recovery in
            guard let record = recovery?.record, grant.reaches(job, customer: record.customer, rider: record.rider)
            else { throw Refused.noSuchJob }
        }.flatMap {
            let (session, followed) = bound.value
            let follower = session.follower
            guard follower.followed[job] === followed else { return follower.loop.eventLoop.makeFailedFuture(Left()) }
            return follower.loop.relay.follow(followed)
        }.flatMap {
            bound.value.0.follower.loop.jobs.view(job, since: since)
        }.flatMapThrowing { view in
            guard let view, grant.reaches(job, customer: view.record.customer, rider: view.record.rider) else {
                throw Refused.noSuchJob
            }
            return view
        }.whenComplete { bound.value.0.follower.subscribed(bound.value.1, $0) }
    }

    /// The session, or its interest in the job, ended while the job was being read.
    private struct Left: Error {}

    private func subscribed(_ followed: FollowedJob, _ result: Result<JobView, any Error>) {
        guard self.followed[followed.job] === followed else { return }
        switch result {
        case .success(let view):
            followed.access = self.loop.trail.followed(followed.job, by: self.session)
            let message: ServerMessage =
                view.isReset ? .reset(job: followed.job, view.snapshot) : .subscribed(job: followed.job, view.snapshot)
            // Its channel was lost while the view was read: the repair that is on its way is the first thing it is shown.
            guard !followed.awaitsRepair else { break }
            if !followed.synchronise(view, Frame.text(message.encoded)) { self.loop.relay.repair(followed.job) }
            if let end = view.record.status.end { followed.end(end) }
        case .failure(is Left): break
        case .failure(let error):
            self.leave(followed)
            let refused = Refused(error)
            self.session.refuse("subscribe", followed.job, refused.code, refused.message)
        }
    }

    func unsubscribe(_ job: JobID) {
        if let followed = self.followed[job] { self.leave(followed) }
        self.session.dropWaitingPosition(of: job)
        self.session.send(.ok(re: "unsubscribe", job: job, sequence: nil, deadline: nil))
    }

    /// Leaves in the loop's next tick: the relay may be walking its followers now.
    func leaveSoon(_ followed: FollowedJob) {
        let bound = NIOLoopBound((self, followed), eventLoop: self.loop.eventLoop)
        self.loop.eventLoop.execute { bound.value.0.leave(bound.value.1) }
    }

    private func leave(_ followed: FollowedJob) {
        guard self.followed[followed.job] === followed else { return }
        self.followed[followed.job] = nil
        self.loop.relay.unfollow(followed)
        self.loop.trail.left(followed.access)
    }

    func leaveAll() {
        for followed in self.followed.values {
            self.loop.relay.unfollow(followed)
            self.loop.trail.left(followed.access)
        }
        self.followed = [:]
    }
}

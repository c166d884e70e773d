// One session's following of one job: what comes is compared with what the follower has seen, and written to its socket.
//
// Step 9 of 10 of the hot path. Before: Realtime/Relay/LoopRelay.swift
// Next: SecureSocket/SecureSocketHandler.swift (by `Session.send`, which lets a frame wait where the socket is slow)

internal import Access
internal import EnrouteWire
internal import Fanout
internal import HotPath
internal import Jobs
internal import LiveState
internal import NIOCore
internal import WebSocket

/// One session's following of one job. Confined to the session's loop.
final class FollowedJob {
    let job: JobID
    unowned let session: Session
    /// What the client called the message that asked for it.
    let ref: MessageRef?
    private var following = FollowerSyncState<StatusID>()
    /// Positions of the job may be shown at all: its rider is underway.
    private var isUnderway = true
    /// The follower was told that the rider shares its position.
    private var isTracking = false
    /// What it was told last of whether positions come.
    private(set) var lastSentState = TrackingState.waiting
    /// A position may be shown now: asked when one comes, and again when one that waited is written.
    var showsPositions: Bool { self.isUnderway && self.isTracking }
    /// The first snapshot was shown.
    private(set) var hasSentSnapshot = false
    /// Whom the job concerned when it was last read.
    private var parties: Parties?
    /// What came while a snapshot is read: the newest of it.
    private var newestPendingStatus: StatusEvent?
    /// It was told so, and is about to be left.
    private var hasEnded = false
    /// What was written down when following began.
    var access: FollowedAccess?
    /// It asked for what it missed since it followed before.
    let resumes: Bool
    private var firstViewReads = 0

    /// First views that are read for one follower, at most, before it is shown one that something is missing of, and then
    /// a `reset`.
    private static let maxFirstViewReads = 3

    init(job: JobID, session: Session, resumes: Bool, ref: MessageRef? = nil) {
        self.job = job
        self.session = session
        self.resumes = resumes
        self.ref = ref
    }

    /// Positions began or ended while its first view was read: which of the two is the later is not known, so that the view
    /// is read again before anything is shown.
    ///
    /// - Returns: whether to read it again.
    func shouldRereadFirstView() -> Bool {
        self.firstViewReads += 1
        guard !self.hasSentSnapshot, self.following.needsNewSnapshot, self.firstViewReads < Self.maxFirstViewReads
        else {
            return false
        }
        self.following.restartWaiting()
        self.newestPendingStatus = nil
        return true
    }

    /// - Parameter now: read once for all followers.
    /// - Returns: whether it is shown, and so is news.
    @discardableResult
    func offerPosition(_ id: UInt64, _ frame: [UInt8], at now: NIODeadline) -> Bool {
        // What comes before the snapshot waits for it, and is shown by it or not at all.
        guard self.isUnderway, self.isTracking || !self.following.isLive, self.following.position(id, frame) else {
            return false
        }
        HotPath.pass(.followedJob)
        self.session.send(frame, .replaceable(self.job), at: now)
        return true
    }

    /// Operations and services are told what is not for customers.
    var seesOperationalDetails: Bool { self.session.grant.map { $0.role == .ops || $0.role == .service } ?? false }

    /// Something of the rider that is neither a position nor an end; nothing is lost with one that is not told.
    func sendNotice(_ frame: [UInt8], isForAll: Bool) {
        guard self.following.isLive, self.showsPositions, isForAll || self.seesOperationalDetails else { return }
        self.session.send(frame, .kept)
    }

    /// Positions come again, or have become old.
    func sendTrackingState(_ state: TrackingState, _ frame: [UInt8]) {
        guard self.following.isLive, self.showsPositions, self.lastSentState != state else { return }
        self.lastSentState = state
        self.session.send(frame, .kept)
    }

    func offerTracking(_ state: TrackingState, _ frame: [UInt8]) {
        if state.endsPositions { self.session.dropQueuedPosition(of: self.job) }
        guard self.following.tracking() else { return }
        if state.endsPositions { self.following.forgetPosition() }
        self.isTracking = !state.endsPositions
        self.lastSentState = state
        self.session.send(frame, .kept)
    }

    /// What is not live yet is shown the newest with its snapshot.
    func offerETA(_ frame: [UInt8]) {
        if self.following.isLive, self.showsPositions { self.session.send(frame, .kept) }
    }

    func offerStatus(_ event: StatusEvent, _ status: FollowerSyncState<StatusID>.Status)
        -> FollowerSyncState<StatusID>.StatusVerdict
    {
        let verdict = self.following.status(status)
        if verdict == .show {
            self.session.send(status.frame, .kept)
            self.statusChanged(to: event.status)
        } else if !self.following.isLive {
            self.newestPendingStatus = event
        }
        return verdict
    }

    func invalidate() {
        self.session.dropQueuedPosition(of: self.job)
        self.following.invalidate()
    }

    /// As whom its person follows.
    var role: Role? { self.session.grant?.role }

    /// Only what was read since it was unsynchronised may be shown next.
    var needsResync: Bool { self.following.needsResync }

    /// Shows the whole state, and what came while it was read; ends when it is not this person's to see any more.
    ///
    /// - Returns: whether that is all: `false` when something between the two is missing and the job has to be read again.
    func sendSnapshot(_ view: JobView, _ frame: [UInt8]) -> Bool {
        guard !self.following.isLive, self.reauthorize(view.parties) else { return true }
        self.hasSentSnapshot = true
        self.isTracking = view.isTracking
        self.lastSentState = view.snapshot.tracking
        let waited = self.following.snapshot(
            position: view.positionID, epoch: view.record.epoch, status: view.record.head)
        self.session.send(frame, .kept)
        for frame in waited?.statuses ?? [] { self.session.send(frame, .kept) }
        let isNewer = self.newestPendingStatus.map { $0.id == self.following.seen?.id } ?? false
        self.statusChanged(to: isNewer ? self.newestPendingStatus?.status ?? view.record.status : view.record.status)
        self.newestPendingStatus = nil
        if let position = waited?.position, self.showsPositions {
            self.session.send(position, .replaceable(self.job))
            self.sendTrackingState(.live, Frame.text(ServerMessage.tracking(job: self.job, .live, nil).encoded))
        }
        return waited != nil
    }

    /// Whether the follower has seen what is. Who has not been shown anything yet is about to be.
    func agrees(with check: JobCheck) -> Bool {
        guard self.hasSentSnapshot else { return true }
        return self.following.isLive && self.following.agrees(epoch: check.head.epoch, status: check.head.id)
            && self.isTracking == check.isTracking
    }

    /// The grant is the job's record: whoever it does not name any more follows no longer.
    func reauthorize(_ parties: Parties) -> Bool {
        self.parties = parties
        guard let grant = self.session.grant else { return false }
        if grant.reaches(self.job, customer: parties.customer, rider: parties.rider) { return true }
        let isRiders = grant.role == .rider || grant.rider != nil && grant.rider != parties.rider
        self.end(isRiders ? .reassigned : .revoked)
        // What the kernel still holds of it is not this person's any more either.
        self.session.resetUnlessFlushed()
        return false
    }

    /// The grant was renewed.
    func reauthorize() { if let parties { _ = self.reauthorize(parties) } }

    func end(_ reason: EndReason) {
        guard !self.hasEnded else { return }
        self.hasEnded = true
        self.isUnderway = false
        self.session.dropQueuedPosition(of: self.job)
        self.session.send(Frame.text(ServerMessage.ended(job: self.job, reason).encoded), .kept)
        self.session.follower.unfollowSoon(self)
    }

    private func statusChanged(to status: JobStatus) {
        self.isUnderway = status.endOfTravel == nil && !self.hasEnded
        if !self.isUnderway { self.session.dropQueuedPosition(of: self.job) }
        if let end = status.end { self.end(end) }
    }
}

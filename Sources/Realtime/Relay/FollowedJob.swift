// One session's subscription to one job. It compares each message with what the follower has already seen, and writes
// new messages to the session's socket.
//
// Step 9 of 10 of the hot path. Before: Realtime/Relay/LoopRelay.swift Next: SecureSocket/SecureSocketHandler.swift (by
// `Session.send`, which buffers a frame if the socket is slow)

internal import Access
internal import EnrouteWire
internal import Fanout
internal import HotPath
internal import Jobs
internal import LiveState
internal import NIOCore
internal import WebSocket

/// One session's subscription to one job. Confined to the session's loop.
final class FollowedJob {
    let job: JobID
    unowned let session: Session
    /// The client's reference for its `subscribe` message.
    let ref: MessageRef?
    private var syncState = FollowerSyncState<StatusID>()
    /// Positions of the job may be shown, because its rider is on the way.
    private var isUnderway = true
    /// The follower has been notified that the rider shares its position.
    private var isTracking = false
    /// The last tracking state sent to the follower.
    private(set) var lastSentState = TrackingState.waiting
    /// Whether a position may be shown now. Checked when a position arrives, and again before a queued one is written.
    var showsPositions: Bool { self.isUnderway && self.isTracking }
    /// The first snapshot has been sent.
    private(set) var hasSentSnapshot = false
    /// The job's customer and rider when it was last read.
    private var parties: Parties?
    /// `JobRecord.revision` of the last snapshot.
    private var revision: Int64 = 0
    /// Whether the status of the last snapshot shows the rider, and whether the current status does.
    private var showedRider = false
    private(set) var showsRider = false
    /// The last snapshot had the rider's card.
    private var hasCard = false
    /// The newest status event that arrived while a snapshot was being read.
    private var newestPendingStatus: StatusEvent?
    /// The follower has been sent `ended` and will be unfollowed.
    private var hasEnded = false
    /// The audit entry for the start of this subscription.
    var access: FollowedAccess?
    /// The client asked for the events it missed since an earlier subscription.
    let resumes: Bool
    private var firstViewReads = 0

    /// The maximum number of times the first view is read. After that, the follower is sent the last view although it may be
    /// incomplete, and then a `reset`.
    private static let maxFirstViewReads = 3

    init(job: JobID, session: Session, resumes: Bool, ref: MessageRef? = nil) {
        self.job = job
        self.session = session
        self.resumes = resumes
        self.ref = ref
    }

    /// Whether the job must be read again, because a status has changed whether the follower may see the rider's card.
    /// If there is no card to hide, this is unnecessary.
    var showsOutdatedRider: Bool {
        self.showsRider != self.showedRider && (self.showsRider || self.hasCard) && self.parties?.rider != nil
            && !self.hasEnded && self.syncState.isLive
    }

    /// The job has been read again. Its rider has no card, so there is nothing to show.
    func foundNoCard() {
        if self.showsRider { (self.showedRider, self.hasCard) = (true, false) }
    }

    /// Sharing started or stopped while the first view was being read. The order of the two is unknown, so the view is
    /// read again before anything is sent.
    ///
    /// - Returns: whether to read it again.
    func shouldRereadFirstView() -> Bool {
        self.firstViewReads += 1
        guard !self.hasSentSnapshot, self.syncState.needsNewSnapshot, self.firstViewReads < Self.maxFirstViewReads
        else {
            return false
        }
        self.syncState.restartWaiting()
        self.newestPendingStatus = nil
        return true
    }

    /// The outcome of offering a message to a follower.
    enum Offer {
        /// The follower has received it already, or may not see it now.
        case notSent
        case queued
        case written
    }

    /// - Parameters:
    ///   - now: the current time, read once for all followers.
    ///   - receivedAt: when a gateway received the position, ms since the epoch; 0 if its delivery is not measured.
    func offerPosition(_ id: UInt64, _ frame: [UInt8], at now: NIODeadline, receivedAt: Int64) -> Offer {
        // A position that arrives before the snapshot is buffered, and sent with the snapshot if it is newer.
        guard self.isUnderway, self.isTracking || !self.syncState.isLive, self.syncState.position(id, frame) else {
            return .notSent
        }
        HotPath.pass(.followedJob)
        return self.session.send(frame, .conflated(self.job), at: now, receivedAt: receivedAt) ? .written : .queued
    }

    /// Whether the follower has not seen a position with this id or a newer one.
    func wants(position id: UInt64) -> Bool { self.syncState.wants(position: id) }

    /// The id of the newest position that was sent to the follower; `nil` while positions may not be shown.
    var newestPosition: UInt64? { self.showsPositions ? self.syncState.newestPosition : nil }

    /// Operations staff and services receive details that customers do not.
    var seesOperationalDetails: Bool { self.session.grant.map { $0.role == .ops || $0.role == .service } ?? false }

    /// Everybody except customers may see the way to the stops before a job.
    var seesWholeRoute: Bool { self.session.grant.map { $0.role != .customer } ?? false }

    /// Sends a message that is neither a position nor an end. A follower that does not receive it misses nothing that
    /// it needs later.
    func sendNotice(_ frame: [UInt8], isForAll: Bool) {
        guard self.syncState.isLive, self.showsPositions, isForAll || self.seesOperationalDetails else { return }
        self.session.send(frame, .ordered)
    }

    /// Sends that positions have become current or stale, unless the follower already knows.
    func sendTrackingState(_ state: TrackingState, _ frame: [UInt8]) {
        guard self.syncState.isLive, self.showsPositions, self.lastSentState != state else { return }
        self.lastSentState = state
        self.session.send(frame, .ordered)
    }

    /// Sends that positions have started or ended.
    func offerTracking(_ state: TrackingState, _ frame: [UInt8]) {
        if state.endsPositions { self.session.dropQueuedPosition(of: self.job) }
        guard self.syncState.tracking() else { return }
        if state.endsPositions { self.syncState.forgetPosition() }
        self.isTracking = !state.endsPositions
        // The follower knows of the arrival from the status, which does not wait for the feed to be closed. How the feed was
        // closed does not change that.
        guard !state.endsPositions || self.lastSentState != .arrived else { return }
        self.lastSentState = state
        self.session.send(frame, .ordered)
    }

    /// A follower that is not live yet receives the newest arrival time with its snapshot.
    func offerETA(_ frame: [UInt8]) {
        if self.syncState.isLive, self.showsPositions { self.session.send(frame, .ordered) }
    }

    /// Without a position, the arrival time follows from the job's status alone.
    func offerEarlyETA(_ frame: [UInt8]) {
        if self.syncState.isLive, self.isUnderway { self.session.send(frame, .ordered) }
    }

    /// - Parameters:
    ///   - receivedAt: when a gateway received the status, ms since the epoch; 0 if its delivery is not measured.
    ///   - written: the number of sockets that the status has been written to.
    func offerStatus(
        _ event: StatusEvent, _ status: FollowerSyncState<StatusID>.Status, receivedAt: Int64, written: inout Int
    ) -> FollowerSyncState<StatusID>.StatusVerdict {
        let verdict = self.syncState.status(status)
        if verdict == .show {
            if self.session.send(status.frame, .ordered, receivedAt: receivedAt) { written += 1 }
            self.statusChanged(to: event.status)
        } else if !self.syncState.isLive {
            self.newestPendingStatus = event
        }
        return verdict
    }

    func invalidate() {
        self.session.dropQueuedPosition(of: self.job)
        self.syncState.invalidate()
    }

    /// The role of the following client.
    var role: Role? { self.session.grant?.role }

    /// Only data read after the last desynchronization may be sent next.
    var needsResync: Bool { self.syncState.needsResync }

    /// Sends the whole state, and the messages that arrived while it was read. Ends the subscription if the client is no longer
    /// authorized.
    ///
    /// - Returns: `false` if messages between the two are missing, or change whether the rider is shown, and the job has to be
    ///   read again.
    func sendSnapshot(_ view: JobView, _ frame: [UInt8]) -> Bool {
        guard !self.syncState.isLive, self.reauthorize(view.parties) else { return true }
        self.hasSentSnapshot = true
        self.isTracking = view.isTracking
        self.revision = view.record.revision
        (self.showedRider, self.hasCard) = (view.record.status.showsRider, view.snapshot.riderCard != nil)
        self.lastSentState = view.snapshot.tracking
        let buffered = self.syncState.snapshot(
            position: view.positionID, epoch: view.record.epoch, status: view.record.head)
        self.session.send(frame, .ordered)
        for frame in buffered?.statuses ?? [] { self.session.send(frame, .ordered) }
        let isNewer = self.newestPendingStatus.map { $0.id == self.syncState.seen?.id } ?? false
        self.statusChanged(to: isNewer ? self.newestPendingStatus?.status ?? view.record.status : view.record.status)
        self.newestPendingStatus = nil
        if let position = buffered?.position, self.showsPositions {
            self.session.send(position, .conflated(self.job))
            self.sendTrackingState(.live, Frame.text(ServerMessage.tracking(job: self.job, .live, nil).encoded))
        }
        return buffered != nil && !self.showsOutdatedRider
    }

    /// Whether the follower has seen the current state. A follower without a first snapshot is about to receive it.
    func agrees(with check: JobCheck) -> Bool {
        guard self.hasSentSnapshot else { return true }
        return self.syncState.isLive && self.syncState.agrees(epoch: check.head.epoch, status: check.head.id)
            && self.isTracking == check.isTracking && self.revision == check.head.revision
    }

    /// The job's record decides about authorization: a client that the record no longer contains may not follow the job
    /// any longer.
    func reauthorize(_ parties: Parties) -> Bool {
        self.parties = parties
        guard let grant = self.session.grant else { return false }
        if grant.reaches(self.job, customer: parties.customer, rider: parties.rider) { return true }
        let isRiders = grant.role == .rider || grant.rider != nil && grant.rider != parties.rider
        self.end(isRiders ? .reassigned : .revoked)
        // Nor may this client receive data that the kernel has not sent yet.
        self.session.resetUnlessFlushed()
        return false
    }

    /// Called when the grant was renewed.
    func reauthorize() { if let parties { _ = self.reauthorize(parties) } }

    func end(_ reason: EndReason) {
        guard !self.hasEnded else { return }
        self.hasEnded = true
        self.isUnderway = false
        self.session.dropQueuedPosition(of: self.job)
        self.session.send(Frame.text(ServerMessage.ended(job: self.job, reason).encoded), .ordered)
        self.session.follower.ended(self)
    }

    private func statusChanged(to status: JobStatus) {
        self.isUnderway = status.endOfTravel == nil && !self.hasEnded
        self.showsRider = status.showsRider
        if !self.isUnderway { self.session.dropQueuedPosition(of: self.job) }
        if status.endOfTravel == .arrived { self.sendArrival() }
        if let end = status.end { self.end(end) }
    }

    /// The status decides that the rider has arrived. The feed says nothing if travel mode is off, because it is closed
    /// already.
    private func sendArrival() {
        guard self.lastSentState != .arrived else { return }
        self.offerTracking(.arrived, Frame.text(ServerMessage.tracking(job: self.job, .arrived, .arrived).encoded))
    }
}

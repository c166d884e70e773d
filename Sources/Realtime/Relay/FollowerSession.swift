// The jobs that one session follows: subscribing without a gap, and unsubscribing. Messages for a single job go through
// `FollowedJob`.

package import Access
package import EnrouteWire
internal import Jobs
internal import LiveState
internal import NIOCore
internal import WebSocket

/// The jobs one session follows. Confined to the session's loop.
package final class FollowerSession {
    unowned let session: Session
    private let loop: LoopState
    private var followed: [JobID: FollowedJob] = [:]

    init(session: Session, loop: LoopState) {
        self.session = session
        self.loop = loop
    }

    /// Subscribes in an order that misses no message: authorize, subscribe and await the acknowledgement, read, send
    /// the snapshot, then the newer ones of the messages that arrived meanwhile, then further messages.
    package func subscribe(_ job: JobID, since: ResumePoint?, _ grant: Grant, _ ref: MessageRef? = nil) {
        guard self.followed[job] == nil else {
            return self.session.refuse("subscribe", job, .badRequest, "This connection already follows the job.", ref)
        }
        let most = self.loop.settings.limits.subscriptions(of: grant.role)
        guard self.followed.count < most else {
            return self.session.refuse(
                "subscribe", job, .limitExceeded,
                "A connection can follow at most \(most) jobs. Unsubscribe from another job first.", ref)
        }
        if since != nil { self.session.summary.resumes += 1 }
        guard grant.allows(.followJob) else {
            return self.session.refuse("subscribe", job, .forbidden, "This role cannot follow jobs.", ref)
        }
        let followed = FollowedJob(job: job, session: self.session, resumes: since != nil, ref: ref)
        self.followed[job] = followed
        let bound = NIOLoopBound((self.session, followed), eventLoop: self.loop.eventLoop)
        self.loop.jobs.ledger.recover(job).flatMapThrowing { recovery in
            // Authorize before subscribing: otherwise, a resync for other followers would show the job to this one.
            try bound.value.0.follower.authorize(recovery?.record, of: job, grant)
        }.flatMap { () -> EventLoopFuture<Void> in
            let (session, followed) = bound.value
            let follower = session.follower
            guard follower.followed[job] === followed else {
                return follower.loop.eventLoop.makeFailedFuture(Unfollowed())
            }
            return follower.loop.relay.follow(followed)
        }.whenComplete { result in
            let (session, followed) = bound.value
            switch result {
            case .success: session.follower.read(followed, since: since, grant)
            case .failure(let error): session.follower.firstViewRead(followed, .failure(error))
            }
        }
    }

    /// Reads the first view for a new follower.
    private func read(_ followed: FollowedJob, since: ResumePoint?, _ grant: Grant) {
        let job = followed.job
        let bound = NIOLoopBound((self.session, followed), eventLoop: self.loop.eventLoop)
        self.loop.jobs.view(job, since: since).flatMapThrowing { view in
            try bound.value.0.follower.authorize(view?.record, of: job, grant)
            guard let view else { throw Refused.noSuchJob }
            return view
        }.whenComplete { result in
            let (session, followed) = bound.value
            let follower = session.follower
            if case .success = result, follower.followed[job] === followed, !followed.needsResync,
                followed.shouldRereadFirstView()
            {
                return follower.read(followed, since: since, grant)
            }
            follower.firstViewRead(followed, result)
        }
    }

    /// Throws unless the client may follow a job with this record; `nil` if there is no such job.
    private func authorize(_ record: JobRecord?, of job: JobID, _ grant: Grant) throws {
        guard let record, grant.reaches(job, customer: record.customer, rider: record.rider),
            !self.loop.revocations.hides(job, from: grant.role)
        else { throw Refused.noSuchJob }
        guard grant.link == nil || record.status.end == nil else { throw SignInRefusal.badLink }
    }

    /// The session or its subscription ended while the job was being read.
    private struct Unfollowed: Error {}

    private func firstViewRead(_ followed: FollowedJob, _ result: Result<JobView, any Error>) {
        guard self.followed[followed.job] === followed else { return }
        switch result {
        case .success(let view):
            let view = self.loop.relay.visiblePart(view, of: followed.job)
            self.loop.relay.limits.setLimit(followed.job, to: view.deadline)
            followed.access = self.loop.trail.recordFollowed(followed.job, by: self.session)
            let (job, snapshot) = (followed.job, view.snapshot(for: self.session.grant?.role))
            let message: ServerMessage =
                view.isReset ? .reset(job: job, snapshot) : .subscribed(job: job, snapshot)
            // The channel was lost while the view was being read. The pending resync will send the first view.
            guard !followed.needsResync else { break }
            if !followed.sendSnapshot(view, Frame.text(message.encoded)) { self.loop.relay.resync(followed.job) }
        case .failure(is Unfollowed): break
        case .failure(is SignInRefusal):
            self.unfollow(followed)
            self.session.closeOnceSent(.badLink)
        case .failure(let error):
            let refused = self.session.refusal(for: error)
            self.unfollow(followed, refused.code.isRetryable ? .interrupted : .complete)
            self.session.refuse("subscribe", followed.job, refused.code, refused.message, followed.ref)
        }
    }

    /// Whether the client follows a job or is about to.
    var isFollowing: Bool { !self.followed.isEmpty }

    /// Whether jobs are being read whose snapshots the client is waiting for.
    var isReadingSnapshots: Bool { self.followed.values.contains { !$0.hasSentSnapshot } }

    /// Whether a position of the job may be written now.
    func showsPositions(of job: JobID) -> Bool { self.followed[job]?.showsPositions == true }

    func unsubscribe(_ job: JobID, _ ref: MessageRef?) {
        if let followed = self.followed[job] { self.unfollow(followed) }
        self.session.dropQueuedPosition(of: job)
        self.session.send(.ok(replyTo: "unsubscribe", job: job, sequence: nil, deadline: nil, ref: ref))
    }

    /// The client has been sent `ended`. A link gives access to one job, so its session ends too. Both happen on the
    /// loop's next tick, because the relay may be iterating over its followers now.
    func ended(_ followed: FollowedJob) {
        let bound = NIOLoopBound((self.session, followed), eventLoop: self.loop.eventLoop)
        self.loop.eventLoop.execute {
            let (session, followed) = bound.value
            session.follower.unfollow(followed)
            if session.grant?.link != nil, session.framing == .webSocket { session.closeOnceSent(.badLink) }
        }
    }

    /// Why a stream that follows one job ends with its subscription.
    enum StreamEnd {
        /// The client has been sent why nothing follows.
        case complete
        /// The job cannot be read at the moment.
        case interrupted
    }

    func unfollow(_ followed: FollowedJob, _ end: StreamEnd = .complete) {
        guard self.followed[followed.job] === followed else { return }
        self.followed[followed.job] = nil
        self.loop.relay.unfollow(followed)
        self.loop.trail.recordUnfollowed(followed.access)
        if self.session.framing == .events { self.closeSoon(end) }
    }

    /// A stream that follows one job closes when the subscription ends. It closes on the next tick, so that the reason
    /// can be sent first.
    private func closeSoon(_ end: StreamEnd) {
        let bound = NIOLoopBound(self.session, eventLoop: self.loop.eventLoop)
        self.loop.eventLoop.execute {
            switch end {
            case .complete: bound.value.close(.normal, "nothing more to follow")
            case .interrupted: bound.value.close(.unavailable)
            }
        }
    }

    /// The grant was renewed. Subscriptions that the new grant does not cover end.
    func reauthorizeAll() { for followed in self.followed.values { followed.reauthorize() } }

    func unfollowAll() {
        for followed in self.followed.values {
            self.loop.relay.unfollow(followed)
            self.loop.trail.recordUnfollowed(followed.access)
        }
        self.followed = [:]
    }
}

extension Limits {
    /// The maximum number of jobs that one connection of this role may follow.
    func subscriptions(of role: Role) -> Int {
        role == .customer || role == .rider ? self.subscriptions : self.operationsSubscriptions
    }
}

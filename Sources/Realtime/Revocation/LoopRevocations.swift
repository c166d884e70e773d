// Applies revocations on one loop. It closes sessions with a revoked token or link, and notifies and unfollows
// followers of a revoked job. If a client does not read, its connection is reset, so that the kernel cannot send it
// data from before the revocation.

package import Access
internal import EnrouteWire
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import Logging
internal import NIOCore
internal import SecureSocket
internal import Telemetry
internal import TrafficControl

extension LoopState {
    /// - Parameter isFirst: the gateway is starting and has no sessions yet.
    package func apply(_ revocations: [Revocation], isFirst: Bool) {
        let new = self.revocations.apply(revocations, now: WallClock.nowMilliseconds)
        self.counts.add(.revocationsApplied, new.count)
        // The first loop that learns of a revoked job closes its feed for the whole gateway. Every gateway does so,
        // because one of its riders may have just switched travel mode on. A starting gateway also closes feeds that
        // may still be open, in case no gateway was running when the job was revoked.
        let firstOn = WallClock.nowMilliseconds - self.settings.liveState.maxSharingDuration.milliseconds
        for revocation in new where !isFirst || revocation.at >= firstOn {
            if case .job(let job) = revocation.subject { self.close(job) }
        }
        guard !isFirst, !revocations.isEmpty else { return }
        // Followers of a job are notified first, because a session with a link to it is then closed.
        for case .job(let job) in revocations.map(\.subject) { self.relay.revoke(job) }
        for session in Array(self.sessions.values) {
            if let admitted = session.admitted, self.isRevoked(admitted) { session.revoke() }
        }
        if !new.isEmpty { self.logger.info("revocations applied", metadata: [LogKey.count: "\(new.count)"]) }
    }

    /// Stops sharing the rider's position with anyone.
    private func close(_ job: JobID) {
        let logger = self.logger
        self.jobs.closeRevoked(job).whenFailure { error in
            // The periodic check of followed jobs also closes feeds that should not be open.
            logger.warning("closing the feed of a revoked job failed", metadata: [LogKey.reason: "\(error)"])
        }
    }

    /// Whether a client that signs in, or is signed in, has been revoked.
    package func isRevoked(_ admitted: AuthenticatedClient) -> Bool {
        if self.revocations.isRevoked(admitted.grant) { return true }
        // A link gives access to one job only, so it is revoked with the job.
        guard admitted.grant.link != nil, let job = admitted.grant.job else { return false }
        return self.revocations.hides(job, from: admitted.grant.role)
    }
}

extension Session {
    /// How long a client may take to read the data that the kernel holds for it after its access was revoked. Together
    /// with the longest time until a loop learns of a revocation (`RevocationReader.pollInterval`), this stays below a
    /// second.
    static let flushLimitMilliseconds: Int64 = 300

    var admitted: AuthenticatedClient? { self.life.admitted }

    /// Closes the session. Queued messages are discarded and only the close frame is sent.
    package func revoke() {
        guard self.isOpen else { return }
        self.loop.counts.add(.sessionsRevoked)
        self.close(.forbidden, "access revoked", discardsUnsent: true)
    }

    /// The time until which the client may read the data that the kernel holds for it.
    struct FlushDeadline {
        let end: NIODeadline
        /// No further messages follow: the connection is closed once everything is sent.
        var closesAfterwards = false
    }

    /// Resets the connection, which discards the data that the kernel holds, unless the client reads all of it in time.
    func resetUnlessFlushed() {
        guard self.flushDeadline == nil, self.socket.unsentBytes > 0 else { return }
        // This also covers a client that closes first. Otherwise the kernel would continue to send the unsent data.
        guard self.socket.setDiscardsUnsent(true) else { return self.reset() }
        self.flushDeadline = FlushDeadline(end: .now() + .milliseconds(Self.flushLimitMilliseconds))
        self.checkFlush()
    }

    /// Checks on every tick. The send buffer of a client that reads becomes empty from time to time, even if it also
    /// follows other jobs.
    private func checkFlush() {
        guard let flushDeadline = self.flushDeadline else { return }
        guard self.socket.unsentBytes > 0 else {
            self.flushDeadline = nil
            // If the kernel refuses, a later close resets a connection without unsent data, which does no harm.
            _ = self.socket.setDiscardsUnsent(false)
            if flushDeadline.closesAfterwards { self.closeWhenFlushed() }
            return
        }
        let left = flushDeadline.end - .now()
        guard left > .zero else { return self.reset() }
        _ = self.loop.deadlines.after(min(Deadlines.tick, left)) { [weak self] in self?.checkFlush() }
    }

    private func reset() {
        self.loop.counts.add(.connectionsReset)
        guard !self.socket.reset() else { return }
        self.logger.error("discarding unsent data of a revoked peer failed")
    }
}

extension FollowedJob {
    /// The job was revoked. It ends for everyone except operations staff and services. A client that has not received a
    /// snapshot yet is answered as if the job did not exist.
    func revoke() {
        guard let role = self.session.admitted?.grant.role, role == .customer || role == .rider else { return }
        if self.hasSentSnapshot {
            self.end(.revoked)
        } else {
            self.session.follower.refuseAsUnknown(self)
        }
        self.session.resetUnlessFlushed()
    }
}

extension FollowedJob {
    /// The job was erased. It ends for everyone, and so does a session that has no other job, such as one with a link.
    func erase() {
        if self.hasSentSnapshot {
            self.end(.revoked)
        } else {
            self.session.follower.refuseAsUnknown(self)
        }
        self.session.resetUnlessFlushed()
        if self.session.grant?.link != nil { self.session.revoke() }
    }
}

extension FollowerSession {
    fileprivate func refuseAsUnknown(_ followed: FollowedJob) {
        self.unfollow(followed)
        self.session.refuse("subscribe", followed.job, .noSuchJob, followed.ref)
    }
}

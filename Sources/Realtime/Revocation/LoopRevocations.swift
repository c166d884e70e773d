// What a revocation does on one loop: sessions that came by it end, followers of a revoked job are told and leave, and
// what the kernel still holds for somebody who does not read is thrown away with the connection, in time.

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
    /// - Parameter isFirst: the gateway is starting: nobody is here yet.
    package func apply(_ revocations: [Revocation], isFirst: Bool) {
        let new = self.revocations.apply(revocations, now: .now)
        self.counts.add(.revocationsApplied, new.count)
        // The loop that learns it first does it for the gateway; every gateway does, since a rider of its own may just
        // have switched travel mode on. When it starts, for what may be on yet: perhaps nobody was there to do it.
        let firstOn = Int64.now - self.settings.liveState.travelCap.milliseconds
        for revocation in new where !isFirst || revocation.at >= firstOn {
            if case .job(let job) = revocation.subject { self.close(job) }
        }
        guard !isFirst else { return }
        if revocations.contains(where: { $0.subject.kind != .job }) {
            for session in Array(self.sessions.values) {
                if let admitted = session.admitted, self.isRevoked(admitted) { session.revoke() }
            }
        }
        for case .job(let job) in revocations.map(\.subject) { self.relay.revoke(job) }
        if !new.isEmpty { self.logger.info("revocations applied", metadata: [LogKey.count: "\(new.count)"]) }
    }

    /// The rider's position is shared no more, with nobody.
    private func close(_ job: JobID) {
        let (ledger, logger) = (self.jobs.ledger, self.logger)
        self.jobs.close(job, because: .revoked).flatMap { _ in
            ledger.stopTravel(for: job, by: nil)
        }.whenFailure { error in
            // The check of every followed job closes again what is open in vain.
            logger.warning("closing the feed of a revoked job failed", metadata: [LogKey.reason: "\(error)"])
        }
    }

    /// Whether who signs in, or did, is not to be here any more.
    package func isRevoked(_ admitted: AuthenticatedClient) -> Bool {
        if self.revocations.isRevoked(admitted.grant) { return true }
        // A link shows one job and nothing else.
        guard admitted.grant.link != nil, let job = admitted.grant.job else { return false }
        return self.revocations.hides(job, from: admitted.grant.role)
    }
}

extension Session {
    /// How long a peer may take to read what the kernel holds for it, once it may not. With the longest time until a loop
    /// hears of it (`RevocationReader.pollInterval`) it stays below a second.
    static let flushLimitMilliseconds: Int64 = 300

    var admitted: AuthenticatedClient? { self.life.admitted }

    /// Ends it: nothing that waits is sent any more, but for the close frame.
    package func revoke() {
        guard self.isOpen else { return }
        self.loop.counts.add(.sessionsRevoked)
        self.close(.forbidden, "access revoked", discardsUnsent: true)
    }

    /// Until when a peer may take what the kernel holds for it.
    struct FlushDeadline {
        let end: NIODeadline
        /// Nothing follows: the connection is closed once all is taken.
        var closesAfterwards = false
    }

    /// Throws the connection away, with what the kernel holds of it, unless the peer has taken everything in time.
    func resetUnlessFlushed() {
        guard self.flushDeadline == nil, self.socket.unsentBytes > 0 else { return }
        // Also when the peer closes first: what is unsent then, the kernel would send on.
        guard self.socket.setDiscardsUnsent(true) else { return self.reset() }
        self.flushDeadline = FlushDeadline(end: .now() + .milliseconds(Self.flushLimitMilliseconds))
        self.checkFlush()
    }

    /// Looks in every tick: who follows other jobs too, and reads, has taken everything now and then.
    private func checkFlush() {
        guard let flushDeadline = self.flushDeadline else { return }
        guard self.socket.unsentBytes > 0 else {
            self.flushDeadline = nil
            // Where the kernel refuses, a later close is a reset, of a connection on which nothing waited: no harm.
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
    /// The job is revoked: it is over for everybody but operations and services. Who was never shown it is answered as if
    /// there were none.
    package func revoke() {
        guard let role = self.session.admitted?.grant.role, role == .customer || role == .rider else { return }
        if self.hasSentSnapshot {
            self.end(.revoked)
        } else {
            self.session.follower.refuseAsUnknown(self)
        }
        self.session.resetUnlessFlushed()
    }
}

extension FollowerSession {
    fileprivate func refuseAsUnknown(_ followed: FollowedJob) {
        self.unfollow(followed)
        self.session.refuse("subscribe", followed.job, .noSuchJob, followed.ref)
    }
}

// A session that uses a tracking link holds one of the link's viewer leases. It acquires the lease when it signs in,
// renews it while it is open, and releases it when it ends. The leases are counted in the ledger, so the limit applies
// across gateways.

internal import Access
internal import EnrouteWire
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Redis
internal import TrafficControl

/// The viewer lease of one session. Confined to its loop.
package final class ViewerLease {
    private unowned let session: Session
    private let links: TrackingLinks
    private let link: String
    /// ms since the epoch.
    private let expiresAt: Int64
    private var renewal: Deadline?
    private var expiry: Deadline?

    init(link: String, expiresAt: Int64, session: Session) {
        (self.link, self.expiresAt, self.session) = (link, expiresAt, session)
        self.links = session.loop.links
    }

    /// Starts renewing the lease, and closes the session when the link expires; immediately if it already has.
    func start() {
        self.renewLater()
        self.scheduleExpiry()
    }

    /// Called when the session ends.
    func release() {
        self.renewal?.cancel()
        self.expiry?.cancel()
        _ = self.links.leave(self.link, as: self.session.id)
    }

    /// The system clock may jump, so the time is checked again when the timer fires.
    private func scheduleExpiry() {
        let left = TimeAmount.until(self.expiresAt)
        guard left > .zero else { return self.linkExpired() }
        self.expiry = self.session.loop.deadlines.after(left) { [weak self] in self?.scheduleExpiry() }
    }

    private func renewLater() {
        let pace = TimeAmount(self.session.loop.settings.viewerLeaseRenewal)
        self.renewal = self.session.loop.deadlines.after(pace) { [weak self] in self?.renew() }
    }

    private func renew() {
        let bound = NIOLoopBound(self.session, eventLoop: self.session.loop.eventLoop)
        self.links.join(self.link, as: self.session.id).flatMap { place in
            let (session, loop) = (bound.value, bound.value.loop)
            // A session that follows the job learns by itself that it has ended, and is sent `ended` first.
            guard case .leased(let job, let customer, _) = place, !session.follower.isFollowing else {
                return loop.eventLoop.makeSucceededFuture(place)
            }
            return loop.requireOpen(job, of: customer).map { place }
        }.whenComplete { result in
            guard bound.value.isOpen, let lease = bound.value.viewerLease else { return }
            switch result {
            case .success(.noSuchLink), .failure(is SignInRefusal): lease.linkExpired()
            // The lease expired while the ledger was unavailable, and another viewer acquired it.
            case .success(.full): bound.value.close(SignInRefusal.linkViewerLimit)
            // While the ledger is unavailable, no other viewer can acquire the lease either.
            case .success(.leased), .failure: lease.renewLater()
            }
        }
    }

    private func linkExpired() {
        self.session.close(SignInRefusal.badLink.code, SignInRefusal.badLink.reason, discardsUnsent: true)
    }
}

extension SignInRefusal {
    static let linkViewerLimit = SignInRefusal(
        code: .connectionLimit, reason: "viewer limit of this link reached")
}

extension LoopState {
    /// Acquires a viewer lease with the secret of a link. A link to a job that has ended, or now belongs to another customer,
    /// is treated as if it did not exist.
    ///
    /// - Parameter session: the id of the session.
    func acquireViewerLease(_ secret: String, as session: String) -> EventLoopFuture<AuthenticatedClient> {
        guard let id = TrackingLinks.id(of: secret) else {
            return self.eventLoop.makeFailedFuture(SignInRefusal.badLink)
        }
        let (links, bound) = (self.links, NIOLoopBound(self, eventLoop: self.eventLoop))
        let joined = links.join(id, as: session)
        joined.whenFailure { error in
            // Redis may still execute the script. Nobody would use the lease, and other viewers would have to wait
            // until it expires.
            if (error as? RedisError)?.isOutcomeUnknown == true { _ = links.leave(id, as: session) }
        }
        return joined.flatMapThrowing { place in
            switch place {
            case .leased(let job, let customer, let expiresAt): (job, customer, expiresAt)
            case .noSuchLink: throw SignInRefusal.badLink
            case .full: throw SignInRefusal.linkViewerLimit
            }
        }.flatMap { (job: JobID, customer: PersonID, expiresAt: Int64) in
            bound.value.requireOpen(job, of: customer).map {
                AuthenticatedClient(link: id, to: job, customer: customer, expiresAt: expiresAt)
            }.flatMapErrorThrowing { error in
                _ = links.leave(id, as: session)
                throw error
            }
        }
    }

    /// Fails with `SignInRefusal.badLink` if the job of a link has ended, or belongs to another customer now.
    fileprivate func requireOpen(_ job: JobID, of customer: PersonID) -> EventLoopFuture<Void> {
        self.jobs.ledger.recover(job).flatMapThrowing { recovery in
            guard let record = recovery?.record, record.status.end == nil, record.customer == customer else {
                throw SignInRefusal.badLink
            }
        }
    }
}

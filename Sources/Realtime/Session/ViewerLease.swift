// A session that came by a tracking link holds one of the link's places: taken when it signs in, renewed while it lasts,
// given back at its end. The ledger counts, so that the cap holds across gateways.

internal import Access
internal import EnrouteWire
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import NIOCore
internal import TrafficControl

/// One session's place. Confined to its loop.
package final class ViewerLease {
    private unowned let session: Session
    private let links: TrackingLinks
    private let link: String
    /// ms since the epoch
    private let expiresAt: Int64
    private var renewal: Deadline?
    private var expiry: Deadline?

    init(link: String, expiresAt: Int64, session: Session) {
        (self.link, self.expiresAt, self.session) = (link, expiresAt, session)
        self.links = session.loop.links
    }

    /// From now on it is renewed, and the session ends with the link: at once when its time is over.
    func start() {
        self.renewLater()
        self.scheduleExpiry()
    }

    /// The session ends.
    func release() {
        self.renewal?.cancel()
        self.expiry?.cancel()
        _ = self.links.leave(self.link, as: self.session.id)
    }

    /// The time of day may jump, so it is looked at again when the time has come.
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
        self.links.join(self.link, as: self.session.id).whenComplete { result in
            guard bound.value.isOpen, let lease = bound.value.viewerLease else { return }
            switch result {
            case .success(.noSuchLink): lease.linkExpired()
            // Its place went to somebody else while the ledger could not be asked.
            case .success(.full): bound.value.close(SignInRefusal.linkViewerLimit)
            // Without the ledger nobody else can take the place either.
            case .success(.taken), .failure: lease.renewLater()
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
    /// From the secret of a link to a place by it. A link to a job that has ended, or that is another customer's by now, is
    /// answered like one that does not exist.
    ///
    /// - Parameter session: its name.
    func acquireViewerLease(_ secret: String, as session: String) -> EventLoopFuture<AuthenticatedClient> {
        guard let id = TrackingLinks.id(of: secret) else {
            return self.eventLoop.makeFailedFuture(SignInRefusal.badLink)
        }
        let (links, ledger) = (self.links, self.jobs.ledger)
        return links.join(id, as: session).flatMapThrowing { place in
            switch place {
            case .taken(let job, let customer, let expiresAt): (job, customer, expiresAt)
            case .noSuchLink: throw SignInRefusal.badLink
            case .full: throw SignInRefusal.linkViewerLimit
            }
        }.flatMap { (job: JobID, customer: PersonID, expiresAt: Int64) in
            ledger.recover(job).flatMapThrowing { recovery in
                guard let record = recovery?.record, record.status.end == nil, record.customer == customer else {
                    throw SignInRefusal.badLink
                }
                return AuthenticatedClient(link: id, to: job, customer: customer, expiresAt: expiresAt)
            }.flatMapErrorThrowing { error in
                _ = links.leave(id, as: session)
                throw error
            }
        }
    }
}

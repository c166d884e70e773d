// From a credential to a grant: a token is checked here and now (or when its issuer has told its keys), a link is looked up.

package import Access
package import EnrouteWire
internal import HTTPValues
internal import Jobs
package import LiveState
package import NIOCore
internal import Telemetry
package import TrafficControl

/// Who signed in, and whom the session counts for.
package struct AuthenticatedClient {
    package let grant: Grant
    /// `nil`: services may have as many sessions as they need.
    package let owner: SessionOwner?
    let way: FollowedAccess.Way
    /// ms since the epoch; `nil` when it is no link that it came by.
    let linkExpiresAt: Int64?

    /// By a token, or the ticket that was made for one.
    package init(_ grant: Grant, by way: FollowedAccess.Way = .token) {
        self.grant = grant
        self.owner = grant.role == .service ? nil : .person(grant.person)
        self.way = way
        self.linkExpiresAt = nil
    }

    /// By a link to `job`, which is its customer's. A link has a cap of its own, across gateways.
    package init(link id: String, to job: JobID, customer: PersonID, expiresAt: Int64) {
        self.grant = Grant(person: customer, role: .customer, job: job, link: id)
        self.owner = nil
        self.way = .link
        self.linkExpiresAt = expiresAt
    }
}

/// Why somebody may not come in: the close code says what to do.
package struct SignInRefusal: Error {
    package let code: CloseCode
    package let reason: String
    /// Counts against the address that tries.
    var isFailedAttempt = false

    package static let tokenExpired = SignInRefusal(code: .tokenExpired, reason: "token expired")
    static let badToken = SignInRefusal(code: .invalidToken, reason: "token rejected", isFailedAttempt: true)
    static let badLink = SignInRefusal(
        code: .invalidToken, reason: "link invalid or expired", isFailedAttempt: true)
    static let badTicket = SignInRefusal(
        code: .invalidToken, reason: "ticket invalid or expired", isFailedAttempt: true)
    static let tooManyFailedAttempts = SignInRefusal(code: .rateLimited, reason: "too many failed sign-in attempts")
    package static let unavailable = SignInRefusal(
        code: .insufficientState, reason: "service unavailable; retry later")
}

extension LoopState {
    /// Fails with `SignInRefusal`. Done at once for a token, but for one whose key the issuer is asked for.
    ///
    /// - Parameter session: who takes a place of a link; `nil` where only tokens are shown.
    package func signIn(
        _ credential: Credential, from address: ClientAddress?, as session: String? = nil
    ) -> EventLoopFuture<AuthenticatedClient> {
        let now = NIODeadline.now().uptimeNanoseconds
        if let address, self.quotas.lockoutDelay(address, at: now) != nil {
            return self.eventLoop.makeFailedFuture(SignInRefusal.tooManyFailedAttempts)
        }
        let admitted: EventLoopFuture<AuthenticatedClient>
        switch credential {
        case .token(let token):
            do throws(TokenRefusal) {
                admitted = self.eventLoop.makeSucceededFuture(
                    AuthenticatedClient(try self.settings.tokens.verify(token, now: .now / 1000)))
            } catch {
                admitted = self.signInAfterKeyFetch(token, refusedBecause: error)
            }
        case .link(let secret):
            admitted =
                session.map { self.acquireViewerLease(secret, as: $0) }
                ?? self.eventLoop.makeFailedFuture(SignInRefusal.badLink)
        }
        return self.countingFailedAttempts(admitted, address)
    }

    /// The same, with a ticket: it is gone with the first who shows it.
    package func signIn(ticket: String, from address: ClientAddress?) -> EventLoopFuture<AuthenticatedClient> {
        if let address, self.quotas.lockoutDelay(address, at: NIODeadline.now().uptimeNanoseconds) != nil {
            return self.eventLoop.makeFailedFuture(SignInRefusal.tooManyFailedAttempts)
        }
        let admitted = self.tickets.redeem(ticket).flatMapThrowing { holder in
            guard let holder, let role = Role(rawValue: holder.role) else { throw SignInRefusal.badTicket }
            guard holder.expiresAt + TokenVerifier.skew >= .now / 1000 else { throw SignInRefusal.tokenExpired }
            return AuthenticatedClient(
                Grant(
                    person: holder.person, role: role, job: holder.job, rider: holder.rider,
                    token: TokenIdentity(id: holder.token, issuedAt: holder.issuedAt), expiresAt: holder.expiresAt),
                by: .ticket)
        }
        return self.countingFailedAttempts(admitted, address)
    }

    /// A newer token of the same person in the same role takes the place of the one that is about to expire. What is refused,
    /// with `Refused`, changes nothing: the connection ends when the old one does.
    func renew(_ old: AuthenticatedClient, by token: String, from address: ClientAddress?) -> EventLoopFuture<
        AuthenticatedClient
    > {
        guard old.way != .link else {
            return self.eventLoop.makeFailedFuture(
                Refused(code: .forbidden, message: "A tracking link cannot be refreshed. Connect again with a token."))
        }
        let revocations = self.revocations
        return self.signIn(.token(token), from: address).flatMapErrorThrowing { error in
            throw switch (error as? SignInRefusal)?.code {
            case .tokenExpired: Refused(code: .tokenExpired, message: "The token has expired.")
            case .insufficientState:
                Refused(code: .unavailable, message: "The token cannot be verified at the moment. Try again later.")
            default: Refused(code: .unauthorized, message: "The token was rejected.")
            }
        }.flatMapThrowing { new in
            guard new.grant.person == old.grant.person, new.grant.role == old.grant.role else {
                throw Refused(code: .forbidden, message: "The token belongs to another person or role.")
            }
            guard !revocations.isRevoked(new.grant) else {
                throw Refused(code: .forbidden, message: "The token was revoked.")
            }
            return new
        }
    }

    private func countingFailedAttempts(
        _ admitted: EventLoopFuture<AuthenticatedClient>, _ address: ClientAddress?
    ) -> EventLoopFuture<AuthenticatedClient> {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        return admitted.flatMapErrorThrowing { error in
            let refusal = error as? SignInRefusal ?? .unavailable
            if refusal.isFailedAttempt { bound.value.tokenRefused(address) }
            throw refusal
        }
    }

    package func tokenRefused(_ address: ClientAddress?) {
        self.quotas.recordInvalidToken(of: address, at: NIODeadline.now().uptimeNanoseconds)
    }
}

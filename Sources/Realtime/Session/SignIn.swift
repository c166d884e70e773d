// Derives a grant from a credential. A token is verified immediately, or after its issuer's keys have been fetched; a
// link is looked up in Redis.

package import Access
package import EnrouteWire
internal import HTTPValues
internal import Jobs
package import LiveState
package import NIOCore
internal import Telemetry
package import TrafficControl

/// The authenticated client of a session, and the owner whose limits it counts toward.
package struct AuthenticatedClient {
    package let grant: Grant
    /// `nil` for services, whose sessions are not limited.
    package let owner: SessionOwner?
    let credential: FollowedAccess.Credential
    /// ms since the epoch; `nil` unless the client uses a tracking link.
    let linkExpiresAt: Int64?

    /// A client that signed in with a token, or with a ticket issued for a token.
    package init(_ grant: Grant, by credential: FollowedAccess.Credential = .token) {
        self.grant = grant
        self.owner = grant.role == .service ? nil : SessionOwner(grant)
        self.credential = credential
        self.linkExpiresAt = nil
    }

    /// A client that uses a link to `job`, with the permissions of the job's customer. Links have their own viewer limit, which
    /// applies across gateways.
    package init(link id: String, to job: JobID, customer: PersonID, expiresAt: Int64) {
        self.grant = Grant(person: customer, role: .customer, job: job, link: id)
        self.owner = nil
        self.credential = .link
        self.linkExpiresAt = expiresAt
    }
}

/// Why a client could not sign in. The close code tells the client what to do.
package struct SignInRefusal: Error {
    package let code: CloseCode
    package let reason: String
    /// Counts as a failed attempt of the client's address.
    var isFailedAttempt = false
    /// Why the token was rejected, for the log.
    var refusal: TokenRefusal?

    package static let tokenExpired = SignInRefusal(code: .tokenExpired, reason: "token expired")
    static func badToken(_ refusal: TokenRefusal) -> SignInRefusal {
        SignInRefusal(
            code: .invalidToken, reason: "token rejected: \(refusal.summary)", isFailedAttempt: true, refusal: refusal)
    }
    static let badLink = SignInRefusal(
        code: .invalidToken, reason: "link invalid or expired", isFailedAttempt: true)
    static let badTicket = SignInRefusal(
        code: .invalidToken, reason: "ticket invalid or expired", isFailedAttempt: true)
    static let tooManyFailedAttempts = SignInRefusal(code: .rateLimited, reason: "too many failed sign-in attempts")
    package static let unavailable = SignInRefusal(
        code: .insufficientState, reason: "service unavailable; retry later")
}

extension LoopState {
    /// Fails with `SignInRefusal`. Completes immediately for a token, unless its key has to be fetched from the issuer.
    ///
    /// Tokens are signed and links are 128 random bits, so both are verified during a lockout.
    ///
    /// - Parameter session: the id of the session that acquires a viewer lease; `nil` where only tokens are accepted.
    package func signIn(
        _ credential: Credential, from address: ClientAddress?, as session: String? = nil
    ) -> EventLoopFuture<AuthenticatedClient> {
        let lockout = self.quotas.lockout(of: address, at: NIODeadline.now().uptimeNanoseconds) {
            if case .token(let token) = credential { self.settings.tokens.knows(token) } else { false }
        }
        if case .refuse = lockout { return self.eventLoop.makeFailedFuture(SignInRefusal.tooManyFailedAttempts) }
        let admitted: EventLoopFuture<AuthenticatedClient>
        switch credential {
        case .token(let token):
            do throws(TokenRefusal) {
                admitted = self.eventLoop.makeSucceededFuture(
                    AuthenticatedClient(try self.settings.tokens.verify(token, now: WallClock.nowMilliseconds / 1000)))
            } catch {
                admitted = self.signInAfterKeyFetch(token, refusedBecause: error, lockout)
            }
        case .link(let secret):
            admitted =
                session.map { self.acquireViewerLease(secret, as: $0) }
                ?? self.eventLoop.makeFailedFuture(SignInRefusal.badLink)
        }
        return self.countingFailedAttempts(admitted, address, lockout)
    }

    /// Signs in with a ticket, which can be used only once. It consists of 128 random bits and is valid for a minute,
    /// so it is verified even during a lockout.
    package func signIn(ticket: String, from address: ClientAddress?) -> EventLoopFuture<AuthenticatedClient> {
        let lockout = self.quotas.lockout(of: address, at: NIODeadline.now().uptimeNanoseconds)
        if case .refuse = lockout { return self.eventLoop.makeFailedFuture(SignInRefusal.tooManyFailedAttempts) }
        let admitted = self.tickets.redeem(ticket).flatMapThrowing { holder in
            guard let holder, let role = Role(rawValue: holder.role) else { throw SignInRefusal.badTicket }
            guard holder.expiresAt + TokenVerifier.skew >= WallClock.nowMilliseconds / 1000 else {
                throw SignInRefusal.tokenExpired
            }
            return AuthenticatedClient(
                Grant(
                    person: holder.person, role: role, job: holder.job, rider: holder.rider,
                    token: TokenIdentity(id: holder.token, issuedAt: holder.issuedAt), expiresAt: holder.expiresAt),
                by: .ticket)
        }
        return self.countingFailedAttempts(admitted, address, lockout)
    }

    /// Replaces a token that is about to expire with a newer one of the same person and role. If the new token is refused, the
    /// future fails with `Refused` and nothing changes: the session ends when the old token expires.
    func renew(_ old: AuthenticatedClient, by token: String, from address: ClientAddress?) -> EventLoopFuture<
        AuthenticatedClient
    > {
        guard old.credential != .link else {
            return self.eventLoop.makeFailedFuture(
                Refused(code: .forbidden, message: "A tracking link cannot be refreshed. Connect again with a token."))
        }
        let revocations = self.revocations
        return self.signIn(.token(token), from: address).flatMapErrorThrowing { error in
            let refusal = error as? SignInRefusal
            throw switch refusal?.code {
            case .tokenExpired: Refused(code: .tokenExpired, message: "The token has expired.")
            case .insufficientState:
                Refused(code: .unavailable, message: "The token cannot be verified at the moment. Try again later.")
            case .rateLimited:
                Refused(code: .rateLimited, message: "Too many invalid tokens from this address. Try again later.")
            default:
                Refused(
                    code: .unauthorized,
                    message: "The token was rejected." + (refusal?.refusal.map { " \($0.sentence)" } ?? ""))
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
        _ admitted: EventLoopFuture<AuthenticatedClient>, _ address: ClientAddress?, _ lockout: Lockout
    ) -> EventLoopFuture<AuthenticatedClient> {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        return admitted.flatMapErrorThrowing { error in
            let refusal = error as? SignInRefusal ?? .unavailable
            guard refusal.isFailedAttempt else { throw refusal }
            let wait = bound.value.tokenRefused(address, refusal.refusal, during: lockout)
            throw wait == nil ? refusal : .tooManyFailedAttempts
        }
    }

    /// Handles a refused token, ticket or link: counts a failed attempt of the address, and logs why a token was
    /// refused.
    ///
    /// - Returns: the time to wait in ms if the address was locked out; then nothing is logged. `nil` if the client may
    ///   learn the reason.
    package func tokenRefused(
        _ address: ClientAddress?, _ refusal: TokenRefusal?, during lockout: Lockout
    ) -> Int64? {
        let now = NIODeadline.now().uptimeNanoseconds
        if let wait = self.quotas.recordInvalidToken(of: address, during: lockout, at: now) { return wait }
        if let refusal { self.log(refusal) }
        return nil
    }
}

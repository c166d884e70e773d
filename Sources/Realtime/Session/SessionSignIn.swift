// Authenticates a session by the upgrade request, a ticket or the first message. A `refresh` message replaces the token, and
// the session ends when the token expires.

internal import Access
internal import EnrouteWire
internal import HTTPValues
internal import LiveState
internal import Logging
package import NIOCore
internal import Telemetry
internal import TrafficControl
internal import WebSocket

extension Session {
    package func signIn(_ admitted: EventLoopFuture<AuthenticatedClient>) {
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        // The client has presented its credential. The lookup in Redis or the fetch of the issuer's keys has its own
        // time limit.
        if self.life.startSignIn() { self.startSignInTimer() }
        admitted.whenComplete { result in
            switch result {
            case .success(let admitted): bound.value.signedIn(admitted)
            case .failure(let error): bound.value.close(error as? SignInRefusal ?? .unavailable)
            }
        }
    }

    func startSignInTimer() {
        self.timers.step?.cancel()
        self.timers.step = self.loop.deadlines.after(.seconds(Int64(self.limits.signInSeconds))) { [weak self] in
            guard let self else { return }
            self.loop.counts.add(.signInsTimedOut)
            self.close(.signInTimeout, "no sign-in within \(self.limits.signInSeconds) s")
        }
    }

    func signedIn(_ admitted: AuthenticatedClient) {
        guard self.life.awaitsSignIn else { return self.releaseUnusedLease(of: admitted) }
        // Checked now, because the client may have been revoked since the lookup.
        guard !self.loop.isRevoked(admitted) else {
            self.releaseUnusedLease(of: admitted)
            return self.close(.forbidden, "access revoked")
        }
        do throws(Quotas.Refusal) {
            try self.loop.quotas.acquireSession(admitted.owner, self.address)
        } catch {
            self.loop.counts.add(error == .person ? .sessionsRefusedByPerson : .sessionsRefusedByAddress)
            self.releaseUnusedLease(of: admitted)
            let owner = error == .person ? "person" : "address"
            return self.close(.connectionLimit, "connection limit of this \(owner) reached")
        }
        guard let waiting = self.life.signIn(admitted) else { return }
        self.loop.counts.add(.sessionsOpened)
        self.loop.signedIn(self, as: admitted.grant.link == nil ? SessionRole(admitted.grant.role) : .link)
        self.rate.signedIn(self.loop.ownerBuckets.acquire(SessionOwner(admitted.grant)))
        self.timers.step?.cancel()
        self.keepAlive(until: self.keepalive.firstCheck)
        if let expiry = admitted.grant.expiresAt { self.startExpiryTimer(at: expiry) }
        self.startAgeTimer()
        if let link = admitted.grant.link, let end = admitted.linkExpiresAt {
            self.viewerLease = ViewerLease(link: link, expiresAt: end, session: self)
            self.viewerLease?.start()
        }
        guard self.isOpen else { return }
        self.logger.debug(
            "signed in", metadata: [LogKey.session: "\(self.id)", LogKey.role: "\(admitted.grant.role)"])
        let ping = self.limits.pingSeconds
        var limits = self.limits
        limits.subscriptions = limits.subscriptions(of: admitted.grant.role)
        self.send(
            .welcome(
                Welcome(
                    session: self.id, serverTime: WallClock.nowMilliseconds, pingIntervalSeconds: ping, limits: limits))
        )
        if self.framing == .webSocket {
            self.loop.counts.durations.signIn.record(
                microseconds: (NIODeadline.now() - self.openedAt).nanoseconds / 1_000)
        }
        if self.loop.isDegraded { self.send(.degraded) }
        if admitted.grant.allows(.beAvailable), self.framing == .webSocket { self.rider.presence.start() }
        self.handleDeferred(waiting)
    }

    func refresh(_ token: String, _ admitted: AuthenticatedClient, _ ref: MessageRef?) {
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        self.loop.renew(admitted, by: token, from: self.address).whenComplete { result in
            guard bound.value.grant != nil else { return }
            switch result {
            case .success(let renewed): bound.value.renewed(renewed, ref)
            case .failure(let error): bound.value.refuse("refresh", nil, bound.value.refusal(for: error), ref)
            }
        }
    }

    private func renewed(_ admitted: AuthenticatedClient, _ ref: MessageRef?) {
        guard self.life.renew(admitted) else { return }
        self.timers.expiry?.cancel()
        self.follower.reauthorizeAll()
        self.watcher.reauthorizeAll()
        if let expiry = admitted.grant.expiresAt { self.startExpiryTimer(at: expiry) }
        let deadline = admitted.grant.expiresAt.map { $0 * 1000 }
        self.send(.ok(replyTo: "refresh", job: nil, sequence: nil, deadline: deadline, ref: ref))
    }

    /// Closes the session shortly before the token expires, with a margin for clock differences; nothing is sent after the
    /// expiry itself. The system clock may jump, so the time is checked again when the timer fires.
    private func startExpiryTimer(at seconds: Int64) {
        let left = (seconds + TokenVerifier.skew) * 1000 - WallClock.nowMilliseconds
        guard left > Self.expiryMargin else {
            return self.close(.tokenExpired, "token expired", discardsUnsent: true)
        }
        guard self.life.expire(at: .now() + .milliseconds(left)) else { return }
        self.timers.expiry = self.loop.deadlines.after(.milliseconds(left - Self.expiryMargin)) { [weak self] in
            self?.startExpiryTimer(at: seconds)
        }
    }

    /// How long before the expiry the close frame is sent, ms. The loop's deadlines have a resolution of 100 ms.
    private static let expiryMargin: Int64 = 300

    /// Releases the viewer lease that this sign-in acquired, unless the session uses it.
    func releaseUnusedLease(of admitted: AuthenticatedClient) {
        if let current = self.life.admitted, current.grant.link == admitted.grant.link { return }
        if let link = admitted.grant.link { _ = self.loop.links.leave(link, as: self.id) }
    }

    package func close(_ refusal: SignInRefusal) {
        // Limits per person and per address are counted where they are checked.
        if refusal.code == .connectionLimit { self.loop.counts.add(.sessionsRefusedByLink) }
        self.close(refusal.code, refusal.reason)
    }
}

// How a session ends: the gateway asks the client to reconnect elsewhere, sheds the session, or closes it with a
// reason; or the client closes it. In every case, the last data is sent before the connection is closed, within a time
// limit.

internal import EnrouteWire
internal import Fanout
internal import Logging
internal import NIOCore
internal import SecureSocket
internal import Telemetry
internal import TrafficControl
internal import WebSocket

extension Session {
    /// Asks the client to reconnect elsewhere within this time, and closes the session at the end of it.
    func goAway(retryInMilliseconds: Int64) {
        guard self.timers.leaving == nil else { return }
        self.send(.goaway(retryInMilliseconds: retryInMilliseconds))
        self.timers.leaving = self.loop.deadlines.after(.milliseconds(retryInMilliseconds)) { [weak self] in
            self?.close(.goingAway, "going away")
        }
    }

    /// Asks the client to reconnect when its session reaches its maximum age. Otherwise the load would stay uneven:
    /// after a rolling restart, the gateway that restarted last has no sessions.
    func startAgeTimer() {
        guard let age = SessionAge(limit: self.limits.sessionAgeSeconds) else { return }
        self.timers.age = self.loop.deadlines.after(.milliseconds(age.milliseconds)) { [weak self] in
            guard let self, self.isOpen else { return }
            self.loop.counts.add(.sessionsExpired)
            self.goAway(retryInMilliseconds: age.retryInMilliseconds)
        }
    }

    /// Closes the session to free memory.
    package func shed(retryInMilliseconds: Int64) {
        self.send(.goaway(retryInMilliseconds: retryInMilliseconds))
        self.close(.overloaded, "gateway overloaded; retry later")
    }

    /// - Parameter discardsUnsent: whether to also withhold data that the kernel still holds for the client, except
    ///   during a short grace period.
    func close(_ code: CloseCode, _ reason: String, discardsUnsent: Bool = false) {
        guard let identity = self.life.close() else { return }
        if case .signedIn(let admitted) = identity { self.releaseResources(of: admitted) }
        self.logger.debug(
            "closing connection", metadata: [LogKey.code: "\(code.rawValue)", LogKey.reason: "\(reason)"])
        self.summary.ended(by: .gateway, code.rawValue, reason)
        self.loop.counts.closed(code)
        self.changeOutbox { $0.removeAll() }
        self.write(Frame.close(code.rawValue, reason))
        if discardsUnsent { self.resetUnlessFlushed() }
        if self.framing == .events { return self.closeWhenFlushed() }
        self.timers.step?.cancel()
        self.timers.step = self.loop.deadlines.after(.seconds(Int64(self.limits.closeSeconds))) { [weak self] in
            self?.loop.counts.add(.closesTimedOut)
            self?.context?.close(promise: nil)
        }
    }

    /// Closes the session once the kernel has accepted everything that was sent before, so that the client learns how
    /// its job ended. A client that does not read is closed like any stalled connection.
    func closeOnceSent(_ refusal: SignInRefusal) {
        self.closeOnceSent(refusal, by: .now() + .seconds(Int64(self.limits.writeStallSeconds)))
    }

    private func closeOnceSent(_ refusal: SignInRefusal, by end: NIODeadline) {
        guard self.isOpen else { return }
        guard !self.hasSentEverything, .now() < end else { return self.close(refusal) }
        _ = self.loop.deadlines.after(Deadlines.tick) { [weak self] in self?.closeOnceSent(refusal, by: end) }
    }

    /// Responds to the client's close frame with the same code, and closes (RFC 6455 section 5.5.1).
    func peerCloses(_ frame: CloseFrame) {
        let code = if case .valid(let code) = frame { code } else { SessionSummary.noStatus }
        self.summary.ended(by: .client, code, "close frame received")
        if let identity = self.life.close() {
            if case .signedIn(let admitted) = identity { self.releaseResources(of: admitted) }
            self.socket.writeNow(answerTo: frame)
        }
        self.closeWhenFlushed()
    }

    /// Closes the connection once the data that was written last has been sent. `timers` limit how long that can take.
    func closeWhenFlushed() {
        // If the connection were closed now, its send buffer could no longer be monitored, and the kernel would send the data
        // it still holds.
        guard self.flushDeadline == nil else {
            self.changeOutbox { $0.removeAll() }
            self.flushDeadline?.closesAfterwards = true
            return
        }
        self.socket.sendGathered()
        guard self.socket.isWaiting else {
            self.context?.close(promise: nil)
            return
        }
        self.changeOutbox { $0.removeAll() }
        self.socket.onDrained = { [weak self] in self?.context?.close(promise: nil) }
        self.startStallTimer()
    }
}

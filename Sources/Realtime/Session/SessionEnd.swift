// How a session ends: it is asked to go elsewhere, let go, closed with a reason, or its peer says goodbye. Whoever it is, the
// socket takes what was written last before it is closed, for as long as that may take.

internal import EnrouteWire
internal import Fanout
internal import Logging
internal import NIOCore
internal import SecureSocket
internal import Telemetry
internal import TrafficControl
internal import WebSocket

extension Session {
    /// Tells the client to come back elsewhere, and closes when it is this client's turn to do so.
    func goAway(retryInMilliseconds: Int64) {
        guard self.timers.leaving == nil else { return }
        self.send(.goaway(retryInMilliseconds: retryInMilliseconds))
        self.timers.leaving = self.loop.deadlines.after(.milliseconds(retryInMilliseconds)) { [weak self] in
            self?.close(.goingAway, "going away")
        }
    }

    /// Sends the client elsewhere once its session is as old as it may get. After a rolling restart the gateway that was
    /// restarted last has no sessions, and nothing else would ever even that out.
    func startAgeTimer() {
        guard let age = SessionAge(limit: self.limits.sessionAgeSeconds) else { return }
        self.timers.age = self.loop.deadlines.after(.milliseconds(age.milliseconds)) { [weak self] in
            guard let self, self.isOpen else { return }
            self.loop.counts.add(.sessionsExpired)
            self.goAway(retryInMilliseconds: age.retryInMilliseconds)
        }
    }

    /// Lets the session go because there is no memory for it.
    package func shed(retryInMilliseconds: Int64) {
        self.send(.goaway(retryInMilliseconds: retryInMilliseconds))
        self.close(.overloaded, "gateway overloaded; retry later")
    }

    /// - Parameter discardsUnsent: what the kernel still holds for the peer is not to reach it either, but for a moment.
    func close(_ code: CloseCode, _ reason: String, discardsUnsent: Bool = false) {
        guard let identity = self.life.close() else { return }
        if case .signedIn(let admitted) = identity { self.releaseResources(of: admitted) }
        self.logger.debug(
            "closing connection", metadata: [LogKey.code: "\(code.rawValue)", LogKey.reason: "\(reason)"])
        self.loop.counts.closed(code)
        self.outbox.removeAll()
        self.write(Frame.close(code.rawValue, reason))
        if discardsUnsent { self.resetUnlessFlushed() }
        if self.framing == .events { return self.closeWhenFlushed() }
        self.timers.step?.cancel()
        self.timers.step = self.loop.deadlines.after(.seconds(Int64(self.limits.closeSeconds))) { [weak self] in
            self?.loop.counts.add(.closesTimedOut)
            self?.context?.close(promise: nil)
        }
    }

    /// Answers the peer's close frame with its own code, and closes (RFC 6455 section 5.5.1).
    func peerCloses(_ frame: CloseFrame) {
        if let identity = self.life.close() {
            if case .signedIn(let admitted) = identity { self.releaseResources(of: admitted) }
            self.socket.writeNow(answerTo: frame)
        }
        self.closeWhenFlushed()
    }

    /// Closes as soon as the socket has taken what was written last; `timers` bound how long that may take.
    func closeWhenFlushed() {
        // Closed now, the connection would be out of sight, and the kernel would send on what it holds.
        guard self.flushDeadline == nil else {
            self.outbox.removeAll()
            self.flushDeadline?.closesAfterwards = true
            return
        }
        guard self.socket.isWaiting else {
            self.context?.close(promise: nil)
            return
        }
        self.outbox.removeAll()
        self.socket.onDrained = { [weak self] in self?.context?.close(promise: nil) }
        self.startStallTimer()
    }
}

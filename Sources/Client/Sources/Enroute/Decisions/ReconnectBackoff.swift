// How long a client waits before it reconnects, depending on how earlier sessions ended. `Reconnecting` has the constants and
// the formula. All times are in ms.

struct ReconnectBackoff {
    /// Attempts since the last stable session.
    private var failures = 0
    /// Whether the last close, without a stable session since, was that of an expired token.
    private var hasExpired = false
    /// When the gateway wants the client to reconnect.
    private var notBefore: Double?
    private var openedAt: Double?

    /// Starts over, because the app has started the client.
    mutating func reset() { (self.failures, self.hasExpired) = (0, false) }

    /// Makes the next delay short, because the network or the app is back.
    mutating func shorten() { self.failures = 0 }

    mutating func opened(at now: Double) { self.openedAt = now }

    /// Stores the time in a `goaway`, and returns the moment at which the connection should be over.
    mutating func goAway(in retryInMs: Double, at now: Double) -> Double {
        let end = now + min(Reconnecting.longestNotBefore, max(0, retryInMs.isFinite ? retryInMs : 0))
        self.notBefore = end
        return end
    }

    /// Returns the delay after this close code, and counts the attempt.
    ///
    /// - Parameter random: returns 0 to 1.
    mutating func delay(afterClose code: UInt16, at now: Double, random: () -> Double) -> Double {
        // Starts over only after a stable session, so that a gateway that closes right after its welcome is not flooded.
        if let openedAt, now - openedAt >= Reconnecting.stableAfter { self.reset() }
        self.openedAt = nil
        // The token expired: a newer one may be available immediately, unless the last one had expired too.
        let isRenewal = code == Reconnecting.tokenExpired && !self.hasExpired
        self.hasExpired = code == Reconnecting.tokenExpired
        let notBefore = Reconnecting.retry(after: code).map { now + $0 } ?? self.notBefore
        let delay =
            isRenewal
            ? 0 : Reconnecting.delay(failures: self.failures, notBefore: notBefore, now: now, random: random())
        self.failures += 1
        self.notBefore = nil
        return delay
    }
}

// How fast the client sends: below the gateway's limits for one connection, so that no message is dropped.

/// A token bucket for sent messages. Times are in ms.
struct MessageBudget {
    static let burst = 30.0
    static let perSecond = 15.0
    /// The maximum number of queued messages. Further ones are rejected.
    static let mostWaiting = 500

    private var tokens = Self.burst
    private var at: Double

    init(now: Double) { self.at = now }

    /// Takes a token and returns 0. If there is none, returns the ms until one is available.
    mutating func take(at now: Double) -> Double {
        self.tokens = min(Self.burst, self.tokens + (now - self.at) * Self.perSecond / 1000)
        self.at = now
        if self.tokens < 1 { return ((1 - self.tokens) * 1000 / Self.perSecond).rounded(.up) }
        self.tokens -= 1
        return 0
    }
}

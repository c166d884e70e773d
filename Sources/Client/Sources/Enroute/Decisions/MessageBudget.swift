// How fast the client sends: below the gateway's limits for one connection, so that no message is dropped.

/// A token bucket for sent messages. Times are in ms.
struct MessageBudget {
    /// The highest burst and rate, and those for a gateway that does not send its limits.
    static let burst = 30.0
    static let perSecond = 15.0
    /// The share of the gateway's limits that is used. Pings and pongs, which count too, need the rest.
    static let share = 0.75
    /// The maximum number of queued messages. Beyond it, messages are rejected, except those that end a subscription.
    static let mostWaiting = 500

    private let burst: Double
    private let perSecond: Double
    private var tokens: Double
    private var at: Double

    /// - Parameter limits: from the gateway's welcome.
    init(_ limits: WireLimits? = nil, now: Double) {
        self.burst = max(1, Self.below(limits?.messagesBurst, Self.burst).rounded(.down))
        self.perSecond = Self.below(limits?.messagesPerSecond, Self.perSecond)
        (self.tokens, self.at) = (self.burst, now)
    }

    /// Gateways have no limit below 1.
    private static func below(_ limit: Double?, _ most: Double) -> Double {
        limit.map { min(most, Self.share * max(1, $0)) } ?? most
    }

    /// Takes a token and returns 0. If there is none, returns the ms until one is available.
    mutating func take(at now: Double) -> Double {
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.perSecond / 1000)
        self.at = now
        if self.tokens < 1 { return ((1 - self.tokens) * 1000 / self.perSecond).rounded(.up) }
        self.tokens -= 1
        return 0
    }
}

// A rate with a burst, without a timer: what has flowed in since the last time is computed when it is needed.

/// Tokens that come at a steady rate, up to a burst.
package struct TokenBucket: Sendable {
    private let perSecond: Double
    private let burst: Double
    private var tokens: Double
    private var updatedAt: UInt64?

    /// It begins full.
    package init(perSecond: Int, burst: Int) {
        self.perSecond = Double(perSecond)
        self.burst = Double(burst)
        self.tokens = Double(burst)
    }

    /// Takes a token if there is one.
    ///
    /// - Parameter now: ns of a clock that does not go back.
    package mutating func take(at now: UInt64) -> Bool {
        self.refill(at: now)
        guard self.tokens >= 1 else { return false }
        self.tokens -= 1
        return true
    }

    /// How long until there is a token, ns; 0 when there is one.
    package mutating func wait(at now: UInt64) -> UInt64 {
        self.refill(at: now)
        guard self.tokens < 1 else { return 0 }
        guard self.perSecond > 0 else { return .max }
        return UInt64(((1 - self.tokens) / self.perSecond * 1e9).rounded(.up))
    }

    /// Nothing was taken for so long that it is like a new one.
    package mutating func isFull(at now: UInt64) -> Bool {
        self.refill(at: now)
        return self.tokens >= self.burst
    }

    private mutating func refill(at now: UInt64) {
        let elapsed = Double(now - min(now, self.updatedAt ?? now)) / 1e9
        self.updatedAt = max(now, self.updatedAt ?? now)
        self.tokens = min(self.burst, self.tokens + elapsed * self.perSecond)
    }
}

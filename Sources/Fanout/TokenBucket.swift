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
        let elapsed = Double(now - min(now, self.updatedAt ?? now)) / 1e9
        self.updatedAt = now
        self.tokens = min(self.burst, self.tokens + elapsed * self.perSecond)
        guard self.tokens >= 1 else { return false }
        self.tokens -= 1
        return true
    }
}

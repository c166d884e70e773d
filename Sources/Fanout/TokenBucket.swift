// A rate limit with a burst. It needs no timer: tokens since the last call are computed on each call.

/// A token bucket: tokens accrue at a steady rate up to a burst.
package struct TokenBucket: Sendable {
    private let perSecond: Double
    private let burst: Double
    private var tokens: Double
    private var updatedAt: UInt64?

    /// Creates a full bucket.
    package init(perSecond: Int, burst: Int) {
        self.perSecond = Double(perSecond)
        self.burst = Double(burst)
        self.tokens = Double(burst)
    }

    /// Takes a token if one is available.
    ///
    /// - Parameter now: ns of a monotonic clock.
    package mutating func take(at now: UInt64) -> Bool {
        self.refill(at: now)
        guard self.tokens >= 1 else { return false }
        self.tokens -= 1
        return true
    }

    /// Returns the time until a token is available, in ns; 0 if one is available now.
    package mutating func wait(at now: UInt64) -> UInt64 {
        self.refill(at: now)
        guard self.tokens < 1 else { return 0 }
        guard self.perSecond > 0 else { return .max }
        return UInt64(((1 - self.tokens) / self.perSecond * 1e9).rounded(.up))
    }

    /// Returns the number of whole tokens that are available.
    package mutating func available(at now: UInt64) -> Int {
        self.refill(at: now)
        return Int(self.tokens)
    }

    /// Returns the time until the bucket is full, in ns; `.max` if it never is.
    package mutating func untilFull(at now: UInt64) -> UInt64 {
        self.refill(at: now)
        guard self.tokens < self.burst else { return 0 }
        guard self.perSecond > 0 else { return .max }
        return UInt64(((self.burst - self.tokens) / self.perSecond * 1e9).rounded(.up))
    }

    /// Returns whether the bucket is full, as a new one is.
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

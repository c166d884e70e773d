// Rates by key, such as an address or a person, in bounded memory.

internal import Fanout
internal import HTTPValues

/// Token buckets by key. A full bucket is the same as a new one and can be removed, so the table contains only keys with
/// recent activity.
struct RateTable<Key: Hashable> {
    private var buckets: [Key: TokenBucket] = [:]
    private var sweepAt = Self.sweepEvery

    /// The number of entries at which full buckets are first removed. The next sweep is at twice the remaining number.
    private static var sweepEvery: Int { 1024 }
    /// The maximum number of entries. If a sweep leaves more, all buckets are reset to bound the memory.
    private static var maxEntries: Int { 131_072 }

    var count: Int { self.buckets.count }

    /// Takes a token, or returns the time to wait for one in milliseconds.
    mutating func take(_ key: Key, perSecond: Int, burst: Int, at now: UInt64) -> Int64? {
        if self.buckets[key] == nil, self.buckets.count >= self.sweepAt { self.sweep(at: now) }
        guard self.buckets[key, default: TokenBucket(perSecond: perSecond, burst: burst)].take(at: now) else {
            return self.wait(key, at: now) ?? 1
        }
        return nil
    }

    /// Returns the time to wait for a token in milliseconds, or `nil` if one is available.
    mutating func wait(_ key: Key, at now: UInt64) -> Int64? {
        guard let wait = self.buckets[key]?.wait(at: now), wait > 0 else { return nil }
        return Int64(clamping: wait / 1_000_000 + 1)
    }

    /// Returns what is left of the rate limit.
    ///
    /// - Returns: `nil` if tokens never accrue, so that there is no window.
    mutating func allowance(
        _ policy: RateAllowance.StaticPolicy, _ key: Key, perSecond: Int, burst: Int, at now: UInt64
    ) -> RateAllowance? {
        guard perSecond > 0, burst > 0 else { return nil }
        let untilFull = self.buckets[key]?.untilFull(at: now) ?? 0
        return RateAllowance(
            policy, quota: burst, window: (burst + perSecond - 1) / perSecond,
            remaining: self.buckets[key]?.available(at: now) ?? burst,
            reset: Int(clamping: (untilFull + 999_999_999) / 1_000_000_000))
    }

    private mutating func sweep(at now: UInt64) {
        self.buckets = self.buckets.filter { entry in
            var bucket = entry.value
            return !bucket.isFull(at: now)
        }
        if self.buckets.count >= Self.maxEntries { self.buckets = [:] }
        self.sweepAt = max(Self.sweepEvery, 2 * self.buckets.count)
    }
}

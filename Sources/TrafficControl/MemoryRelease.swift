// Returns free memory to the operating system. The allocator keeps what closed sessions have used. Without a release, a
// gateway would therefore stay above its memory limit even after it has shed all sessions, and never accept connections
// again.
//
// A release takes about 0.4 ms for each MB that it returns, and some milliseconds if there is nothing to return.
// Meanwhile event loops may wait for memory, whatever thread it runs on: it locks one part of the heap after the other.
// It therefore runs only near the limit, and rarely.

/// Decides when free memory is returned to the operating system. A value; times are nanoseconds of a monotonic clock.
package struct MemoryRelease {
    /// Memory is released from this percentage of the limit, so that free memory neither causes an overload nor the alert
    /// `EnrouteMemoryNearLimit` for long.
    static let nearPercent = 90
    /// The time between the starts of two releases near the limit. While accepting is paused because of memory, each
    /// measurement starts one.
    static let interval: UInt64 = 10_000_000_000
    /// After a release, none starts for this many times as long as it took: releases take at most 2 % of the time.
    static let restFactor: UInt64 = 49

    private let limitBytes: Int
    private var isRunning = false
    private var startedAt: UInt64?
    private var restsUntil: UInt64 = 0

    /// - Parameter limitBytes: the limit of the resident memory; 0 for none, which releases nothing.
    package init(limitBytes: Int) { self.limitBytes = limitBytes }

    /// Returns whether a release starts now. If so, call `ended` when it is over.
    ///
    /// - Parameters:
    ///   - memoryBytes: the resident memory, just measured.
    ///   - isPaused: whether accepting is paused because of memory.
    package mutating func shouldStart(memoryBytes: Int, isPaused: Bool, now: UInt64) -> Bool {
        guard self.limitBytes > 0, !self.isRunning, now >= self.restsUntil else { return false }
        if !isPaused {
            guard memoryBytes >= self.limitBytes / 100 * Self.nearPercent else { return false }
            if let startedAt, now < startedAt + Self.interval { return false }
        }
        (self.isRunning, self.startedAt) = (true, now)
        return true
    }

    package mutating func ended(now: UInt64) {
        precondition(self.isRunning, "a release ended that did not start")
        self.isRunning = false
        let duration = now - min(now, self.startedAt ?? now)
        self.restsUntil = now + duration * Self.restFactor
    }
}

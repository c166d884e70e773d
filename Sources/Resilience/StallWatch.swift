// If an event loop was blocked, because the process was suspended or a callback took long, replies that arrived
// meanwhile are still unread. A peer must not count as unresponsive before the loop has had time to read them.

/// Detects that the timer of an event loop fired late. Times are nanoseconds of a monotonic clock.
package struct StallWatch: Hashable, Sendable {
    /// A timer that fires later than this means that the loop was blocked.
    package static let maxDelay = UInt64.seconds(1)

    private var lastTick: UInt64
    private var resumedAt: UInt64 = 0
    private var wasLate = false

    package init(now: UInt64) { self.lastTick = now }

    /// Records that the timer fired. Of several late ticks in a row only the first counts, because the loop reads
    /// between two ticks. An overloaded loop therefore still notices that a server is unresponsive.
    package mutating func tick(now: UInt64) {
        let isLate = self.isLate(now)
        if isLate, !self.wasLate { self.resumedAt = now }
        (self.lastTick, self.wasLate) = (now, isLate)
    }

    /// Returns since when a request of that time has demonstrably been waiting.
    ///
    /// - Parameter now: may be later than the next tick should have been: other timers of the loop may fire first.
    package func waitingSince(_ requestedAt: UInt64, now: UInt64) -> UInt64 {
        max(requestedAt, self.isLate(now) && !self.wasLate ? now : self.resumedAt)
    }

    private func isLate(_ now: UInt64) -> Bool { now > self.lastTick + Self.maxDelay }
}

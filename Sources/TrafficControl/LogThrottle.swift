// Limits the rate of a log message for an event that may occur at any rate: one message a minute, with the number of
// occurrences since the previous message.

/// Decides when the next message may be logged.
package struct LogThrottle {
    /// The minimum time between two messages, in nanoseconds.
    private static let minInterval: UInt64 = 60_000_000_000

    private var lastAt: UInt64?
    private var unlogged = 0

    package init() {}

    /// Records one occurrence of the event.
    ///
    /// - Parameter now: nanoseconds of a monotonic clock.
    /// - Returns: the number of occurrences that were not logged since the last message, or `nil` if this one must not be
    ///   logged.
    package mutating func record(at now: UInt64) -> Int? {
        if let lastAt, now < lastAt + Self.minInterval {
            self.unlogged += 1
            return nil
        }
        self.lastAt = now
        defer { self.unlogged = 0 }
        return self.unlogged
    }
}

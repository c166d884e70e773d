// Estimates how much a phone's clock differs from the gateway's. The transmission time of a message is never negative,
// so the smallest of many differences is the best estimate. It is the minimum over minutes, because phones adjust their
// clocks.

/// The minimum of (received at - captured at) over five to ten minutes.
package struct ClockSkew: Hashable, Sendable {
    /// ns. The estimate covers the current period and the one before.
    static let period = UInt64.seconds(300)

    private var began: UInt64?
    private var least: Int64?
    private var leastBefore: Int64?

    package init() {}

    /// Milliseconds to add to the phone's time to get the gateway's time, including the shortest transmission time;
    /// `nil` before the first reading. Negative if the phone's clock is ahead.
    package var milliseconds: Int64? {
        guard let least = self.least else { return self.leastBefore }
        return min(least, self.leastBefore ?? least)
    }

    mutating func observe(lateMilliseconds: Int64, now: UInt64) {
        if let began = self.began, now < began + Self.period {
            self.least = min(self.least ?? lateMilliseconds, lateMilliseconds)
            return
        }
        (self.began, self.leastBefore, self.least) = (now, self.least, lateMilliseconds)
    }
}

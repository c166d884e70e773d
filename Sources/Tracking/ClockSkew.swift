// By how much a phone's clock differs from ours. A message takes time and never less than none, so of many differences the
// least is nearest the truth; it is taken over minutes, because clocks are put right.

/// The least of (came at - was taken at) over five to ten minutes.
package struct ClockSkew: Hashable, Sendable {
    /// ns; the estimate is over the running period and the one before.
    static let period = UInt64.seconds(300)

    private var began: UInt64?
    private var least: Int64?
    private var leastBefore: Int64?

    package init() {}

    /// ms to add to the phone's time to have ours, with the shortest way of a message in it; `nil` before the first
    /// reading. Negative: its clock is ahead.
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

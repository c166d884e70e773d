// Which verdicts of a trip are written to Redis, and when. Support staff need refusals soon, while the positions
// themselves show that accepted readings continue to arrive. Writing verdicts every five seconds took 35,000 of the
// 543,000 instructions of a location.

/// The verdicts of one trip that Redis does not have yet.
struct UnwrittenVerdicts {
    private var counts: [FixVerdictName: Int] = [:]
    private var writtenAt: UInt64?

    /// Accepted readings alone are written at this interval, ns. The time of the last accepted reading, which is stored with
    /// them, is at most that much too early.
    static let acceptedInterval: UInt64 = 60_000_000_000

    var isEmpty: Bool { self.counts.isEmpty }
    /// Verdicts of this trip have been written before.
    var wasWritten: Bool { self.writtenAt != nil }

    mutating func add(_ verdict: FixVerdictName, _ count: Int) { self.counts[verdict, default: 0] += count }

    /// Removes and returns the verdicts to write now: all of them if a reading was not accepted, if none were written within
    /// the interval, or if this is the last call; otherwise none.
    ///
    /// - Parameters:
    ///   - now: ns of a monotonic clock.
    ///   - isLast: the trip ends.
    mutating func due(now: UInt64, isLast: Bool) -> [(verdict: FixVerdictName, count: Int)] {
        guard !self.counts.isEmpty else { return [] }
        let isUsual = self.counts.count == 1 && self.counts[.accepted] != nil
        if isUsual, !isLast, let writtenAt = self.writtenAt, now < writtenAt + Self.acceptedInterval { return [] }
        let due = self.counts.map { (verdict: $0.key, count: $0.value) }
        (self.counts, self.writtenAt) = ([:], now)
        return due
    }
}

// How long something took lately: the last so many times, of which the median and the 95th percentile are told. A mean would
// hide what is to be seen.

package import NIOCore

/// The last durations of one kind.
package struct LatencyWindow: Sendable {
    private var times: [TimeAmount] = []
    private var next = 0
    private let most: Int

    /// - Parameter most: durations that are kept, at least 1.
    package init(most: Int) {
        precondition(most > 0, "a window of nothing")
        self.most = most
    }

    package mutating func add(_ time: TimeAmount) {
        if self.times.count < self.most {
            self.times.append(time)
        } else {
            self.times[self.next] = time
        }
        self.next = (self.next + 1) % self.most
    }

    /// The shortest time that so many percent of them do not exceed, ms; `nil` without any. Cost: O(n log n).
    package func percentile(_ percent: Int) -> Double? {
        guard !self.times.isEmpty else { return nil }
        let rank = (self.times.count * percent + 99) / 100
        let time = self.times.sorted()[max(1, min(rank, self.times.count)) - 1]
        return Double(time.nanoseconds) / 1_000_000
    }
}

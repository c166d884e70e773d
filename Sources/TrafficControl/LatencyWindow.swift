// A window over recent durations, from which the operations page shows the median and the 95th percentile. A mean would
// hide outliers.

package import NIOCore

/// The most recent durations of one operation.
package struct LatencyWindow: Sendable {
    private var times: [TimeAmount] = []
    private var next = 0
    private let capacity: Int

    /// - Parameter capacity: the number of durations to keep, at least 1.
    package init(capacity: Int) {
        precondition(capacity > 0, "the capacity must be positive")
        self.capacity = capacity
    }

    package mutating func add(_ time: TimeAmount) {
        if self.times.count < self.capacity {
            self.times.append(time)
        } else {
            self.times[self.next] = time
        }
        self.next = (self.next + 1) % self.capacity
    }

    /// Returns the nearest-rank percentile in milliseconds, or `nil` if the window is empty. Cost: O(n log n).
    package func percentile(_ percent: Int) -> Double? {
        guard !self.times.isEmpty else { return nil }
        let rank = (self.times.count * percent + 99) / 100
        let time = self.times.sorted()[max(1, min(rank, self.times.count)) - 1]
        return Double(time.nanoseconds) / 1_000_000
    }
}

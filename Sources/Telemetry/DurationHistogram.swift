// Histograms of durations with fixed buckets. An observation adds to one counter and to the sum, without a lock or an
// allocation: each event loop has its own histograms, and a scrape adds them up.

/// A histogram of durations. A value.
package struct DurationHistogram: Sendable {
    /// The upper bounds of the buckets, in microseconds, ascending.
    package struct Buckets: Sendable {
        fileprivate let microseconds: [Int64]
        fileprivate let seconds: [String]

        package init(microseconds: [Int64]) {
            self.microseconds = microseconds
            self.seconds = microseconds.map { bound in
                let text = "\(Double(bound) / 1e6)"
                return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
            }
        }

        /// 1 ms to 10 s: deliveries and the stages of a connection. 2 s is the objective for deliveries
        /// (deploy/prometheus/enroute-recording.rules.yml).
        package static let deliveries = Buckets(
            microseconds: [
                1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_000_000, 5_000_000,
                10_000_000,
            ])
        /// 250 µs to 5 s: a command to a Redis in the same data center usually needs less than 1 ms.
        package static let commands = Buckets(
            microseconds: [
                250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
                5_000_000,
            ])
        /// 5 ms to 10 s: responses of REST.
        package static let requests = Buckets(
            microseconds: [
                5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000,
            ])
    }

    /// Longer durations count as one hour, so that a malformed time cannot overflow the sum.
    package static let maxMicroseconds: Int64 = 3_600_000_000

    private let buckets: Buckets
    /// Observations by bucket, not cumulative; the last one is above all bounds.
    private var counts: [Int]
    private var microseconds: Int64 = 0

    package init(_ buckets: Buckets) {
        self.buckets = buckets
        self.counts = Array(repeating: 0, count: buckets.microseconds.count + 1)
    }

    /// The number of observations.
    package var count: Int { self.counts.reduce(0, &+) }

    /// Adds observations of the same duration. A negative duration counts as zero.
    package mutating func record(microseconds: Int64, count: Int = 1) {
        let duration = min(max(0, microseconds), Self.maxMicroseconds)
        var index = 0
        let bounds = self.buckets.microseconds
        while index < bounds.count, duration > bounds[index] { index += 1 }
        self.counts[index] &+= count
        self.microseconds &+= duration &* Int64(count)
    }

    /// Adds the observations of another histogram with the same buckets.
    package mutating func add(_ other: DurationHistogram) {
        for (index, count) in zip(self.counts.indices, other.counts) { self.counts[index] &+= count }
        self.microseconds &+= other.microseconds
    }

    /// The samples in Prometheus text format 0.0.4.
    ///
    /// - Parameter labels: the labels of the series without braces, for example `role="live"`; empty for none.
    package func lines(_ name: String, labels: String = "") -> [String] {
        let prefix = labels.isEmpty ? "" : "\(labels),"
        let suffix = labels.isEmpty ? "" : "{\(labels)}"
        var (lines, sum) = ([String](), 0)
        for (bound, count) in zip(self.buckets.seconds + ["+Inf"], self.counts) {
            sum &+= count
            lines.append("\(name)_bucket{\(prefix)le=\"\(bound)\"} \(sum)")
        }
        return lines + ["\(name)_sum\(suffix) \(Double(self.microseconds) / 1e6)", "\(name)_count\(suffix) \(sum)"]
    }
}

/// A histogram that several parts of one event loop observe. Confined to that loop.
package final class DurationRecorder {
    package private(set) var histogram: DurationHistogram

    package init(_ buckets: DurationHistogram.Buckets) { self.histogram = DurationHistogram(buckets) }

    /// Adds observations of the same duration.
    package func record(microseconds: Int64, count: Int = 1) {
        self.histogram.record(microseconds: microseconds, count: count)
    }
}

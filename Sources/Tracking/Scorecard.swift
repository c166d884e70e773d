// Measures the accuracy of arrival times: what was predicted five, ten and twenty minutes before an arrival, compared
// with the actual time. The median error is absolute, because early and late both make customers wait; the bias tells
// whether predictions are usually too early.

/// Collects the predictions of one trip, scores them at the arrival, and adds up trips. Errors are stored for exact
/// quantiles. A long-running process uses one card per trip and counts what `arrived` returns.
package struct Scorecard: Sendable {
    /// Minutes before the arrival at which predictions are scored.
    package static let horizonMinutes = [5, 10, 20]
    /// A prediction counts for a horizon if it was made within this share of it.
    static let width = 0.2
    /// The maximum number of predictions of one trip. With more, the oldest are dropped.
    static let maxPredictions = 20_000

    private struct Prediction {
        /// s of any clock.
        var madeAt: Double
        /// s.
        var remaining: Double
        /// s; `nil` for a prediction without a range.
        var range: ClosedRange<Double>?
    }

    private struct Errors {
        /// Signed s, negative for an arrival that was predicted too early.
        var seconds: [Double] = []
        /// The predictions with a range, and those whose range contained the arrival.
        var ranges = 0
        var hits = 0
    }

    /// The errors at one horizon.
    package struct Score: Hashable, Sendable {
        package let minutes: Int
        package let count: Int
        /// Absolute seconds; `nil` without predictions.
        package let medianSeconds: Double?
        package let p90Seconds: Double?
        /// The signed median, negative if predictions are too early.
        package let biasSeconds: Double?
        /// The share of arrivals in the predicted range; `nil` without ranges.
        package let coverage: Double?
    }

    private var open: [Prediction] = []
    /// One for each horizon.
    private var errors = [Errors](repeating: Errors(), count: Self.horizonMinutes.count)

    package init() {}

    /// - Parameters:
    ///   - remaining: the predicted seconds until the arrival.
    ///   - range: the predicted seconds between which most riders arrive.
    ///   - time: seconds of any clock, the same as for `arrived`.
    package mutating func predicted(remaining: Double, range: ClosedRange<Double>? = nil, at time: Double) {
        if self.open.count >= Self.maxPredictions { self.open.removeFirst(Self.maxPredictions / 2) }
        self.open.append(Prediction(madeAt: time, remaining: remaining, range: range))
    }

    /// Scores the predictions since the last arrival.
    ///
    /// - Returns: the horizon in minutes and the absolute error in seconds of each prediction that counts, for a
    ///   histogram.
    @discardableResult
    package mutating func arrived(at time: Double) -> [(minutes: Int, errorSeconds: Double)] {
        var judged: [(minutes: Int, errorSeconds: Double)] = []
        for (index, minutes) in Self.horizonMinutes.enumerated() {
            let horizon = Double(minutes) * 60
            for prediction in self.open {
                let actual = time - prediction.madeAt
                guard abs(actual - horizon) <= horizon * Self.width else { continue }
                let error = prediction.remaining - actual
                self.errors[index].seconds.append(error)
                if let range = prediction.range {
                    self.errors[index].ranges += 1
                    if range.contains(actual) { self.errors[index].hits += 1 }
                }
                judged.append((minutes, abs(error)))
            }
        }
        self.open = []
        return judged
    }

    /// The trip ended without an arrival, so its predictions are dropped.
    package mutating func abandoned() { self.open = [] }

    package mutating func add(_ other: Scorecard) {
        for (index, errors) in other.errors.enumerated() {
            self.errors[index].seconds += errors.seconds
            self.errors[index].ranges += errors.ranges
            self.errors[index].hits += errors.hits
        }
    }

    package var scores: [Score] {
        zip(Self.horizonMinutes, self.errors).map { minutes, errors in
            let absolute = errors.seconds.map(abs).sorted()
            return Score(
                minutes: minutes, count: absolute.count, medianSeconds: Self.quantile(0.5, absolute),
                p90Seconds: Self.quantile(0.9, absolute), biasSeconds: Self.quantile(0.5, errors.seconds.sorted()),
                coverage: errors.ranges > 0 ? Double(errors.hits) / Double(errors.ranges) : nil)
        }
    }

    private static func quantile(_ share: Double, _ sorted: [Double]) -> Double? {
        sorted.isEmpty ? nil : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }
}

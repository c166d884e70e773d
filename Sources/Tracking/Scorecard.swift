// Measures the accuracy of arrival times: what was predicted five, ten and twenty minutes before an arrival, compared
// with the actual time. Errors are absolute, because early and late both make customers wait.

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
    }

    /// The errors at one horizon.
    package struct Score: Hashable, Sendable {
        package let minutes: Int
        package let count: Int
        /// Absolute seconds; `nil` without predictions.
        package let medianSeconds: Double?
        package let p90Seconds: Double?
    }

    private var open: [Prediction] = []
    /// Absolute seconds, one list for each horizon.
    private var errors = [[Double]](repeating: [], count: Self.horizonMinutes.count)

    package init() {}

    /// - Parameters:
    ///   - remaining: the predicted seconds until the arrival.
    ///   - time: seconds of any clock, the same as for `arrived`.
    package mutating func predicted(remaining: Double, at time: Double) {
        if self.open.count >= Self.maxPredictions { self.open.removeFirst(Self.maxPredictions / 2) }
        self.open.append(Prediction(madeAt: time, remaining: remaining))
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
                let error = abs(prediction.remaining - actual)
                self.errors[index].append(error)
                judged.append((minutes, error))
            }
        }
        self.open = []
        return judged
    }

    /// The trip ended without an arrival, so its predictions are dropped.
    package mutating func abandoned() { self.open = [] }

    package mutating func add(_ other: Scorecard) {
        for index in self.errors.indices { self.errors[index] += other.errors[index] }
    }

    package var scores: [Score] {
        zip(Self.horizonMinutes, self.errors).map { minutes, errors in
            let sorted = errors.sorted()
            func quantile(_ share: Double) -> Double? {
                sorted.isEmpty ? nil : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
            }
            return Score(
                minutes: minutes, count: errors.count, medianSeconds: quantile(0.5), p90Seconds: quantile(0.9))
        }
    }
}

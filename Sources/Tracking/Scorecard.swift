// How good arrival times were: what was predicted five, ten and twenty minutes before somebody arrived, against when that
// was. The error is without its sign, because a customer waits for the one as for the other.

/// Collects predictions of one trip, judges them when it has arrived, and adds up trips. What was judged is kept, to be
/// exact about quantiles: a process that runs on has one card for each trip, and counts what `arrived` returns.
package struct Scorecard: Sendable {
    /// Minutes before the arrival at which predictions are judged.
    package static let horizonMinutes = [5, 10, 20]
    /// A prediction made within this share of a horizon counts for it.
    static let width = 0.2
    /// Predictions of one trip, at most: of more the oldest are forgotten.
    static let maxPredictions = 20_000

    private struct Prediction {
        /// s of any clock.
        var madeAt: Double
        /// s.
        var remaining: Double
    }

    /// Errors that were found at a horizon.
    package struct Score: Hashable, Sendable {
        package let minutes: Int
        package let count: Int
        /// s without sign; `nil` when nothing was judged.
        package let medianSeconds: Double?
        package let p90Seconds: Double?
    }

    private var open: [Prediction] = []
    /// s without sign, a list for each horizon.
    private var errors = [[Double]](repeating: [], count: Self.horizonMinutes.count)

    package init() {}

    /// - Parameters:
    ///   - remaining: s until the arrival, as it was said.
    ///   - time: s of any clock, the one that `arrived` goes by.
    package mutating func predicted(remaining: Double, at time: Double) {
        if self.open.count >= Self.maxPredictions { self.open.removeFirst(Self.maxPredictions / 2) }
        self.open.append(Prediction(madeAt: time, remaining: remaining))
    }

    /// Judges what was predicted since the last arrival.
    ///
    /// - Returns: horizon in minutes and error in s without sign, of each prediction that counts: for a histogram.
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

    /// The trip ended otherwise: there is nothing to compare with.
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

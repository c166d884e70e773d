// Measures the accuracy of arrival times: what was predicted five, ten and twenty minutes before an arrival, and how long the
// arrival took when five, ten and twenty minutes were predicted. The median error is absolute, because both early and late
// arrivals make customers wait; the bias shows whether predictions are usually too early.

/// Collects the predictions of one trip, scores them at the arrival, and sums the scores of all trips. Errors are stored for
/// exact quantiles. A long-running process uses one card per trip and counts what `arrived` returns.
package struct Scorecard: Sendable {
    /// Minutes until the arrival, actual or predicted, for which predictions are scored.
    package static let horizonMinutes = [5, 10, 20]
    /// A prediction counts for a horizon if its minutes are within this share of it.
    static let width = 0.2

    /// Which time has to be close to a horizon for a prediction to count for it.
    ///
    /// Many of the trips that still take 20 minutes are slower than usual, so their predictions are too early. Of the trips
    /// for which 20 minutes are predicted, many are as fast as usual. Unless predictions are exact, the two biases differ.
    package enum Basis: Sendable {
        /// The time that the rest of the trip took.
        case actual
        /// The time that was predicted, as a customer reads it.
        case predicted
    }
    /// The maximum number of predictions of one trip. With more, the oldest are dropped.
    static let maxPredictions = 20_000

    private struct Prediction {
        /// s by any clock.
        var madeAt: Double
        /// s.
        var remaining: Double
        /// s; `nil` for a prediction without a range.
        var range: ClosedRange<Double>?
    }

    private struct Errors {
        /// s, negative if the rider arrived later than predicted.
        var seconds: [Double] = []
        /// The predictions with a range, and those whose range contained the arrival.
        var ranges = 0
        var hits = 0

        /// - Parameter actual: seconds until the arrival.
        mutating func add(_ prediction: Prediction, actual: Double) {
            self.seconds.append(prediction.remaining - actual)
            guard let range = prediction.range else { return }
            self.ranges += 1
            if range.contains(actual) { self.hits += 1 }
        }

        mutating func add(_ other: Errors) {
            self.seconds += other.seconds
            self.ranges += other.ranges
            self.hits += other.hits
        }

        func score(minutes: Int) -> Score {
            let absolute = self.seconds.map(abs).sorted()
            return Score(
                minutes: minutes, count: absolute.count, medianSeconds: Self.quantile(0.5, absolute),
                p90Seconds: Self.quantile(0.9, absolute), biasSeconds: Self.quantile(0.5, self.seconds.sorted()),
                coverage: self.ranges > 0 ? Double(self.hits) / Double(self.ranges) : nil)
        }

        private static func quantile(_ share: Double, _ sorted: [Double]) -> Double? {
            sorted.isEmpty ? nil : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
        }
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
    /// One entry for each horizon, in minutes: by the actual time, and by the predicted time.
    private var byActual = [Errors](repeating: Errors(), count: Self.horizonMinutes.count)
    private var byPredicted = [Errors](repeating: Errors(), count: Self.horizonMinutes.count)

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
            for prediction in self.open {
                let actual = time - prediction.madeAt
                if Self.isClose(prediction.remaining, toMinutes: minutes) {
                    self.byPredicted[index].add(prediction, actual: actual)
                }
                guard Self.isClose(actual, toMinutes: minutes) else { continue }
                self.byActual[index].add(prediction, actual: actual)
                judged.append((minutes, abs(prediction.remaining - actual)))
            }
        }
        self.open = []
        return judged
    }

    private static func isClose(_ seconds: Double, toMinutes minutes: Int) -> Bool {
        let horizon = Double(minutes) * 60
        return abs(seconds - horizon) <= horizon * Self.width
    }

    /// The trip ended without an arrival, so its predictions are dropped.
    package mutating func abandoned() { self.open = [] }

    package mutating func add(_ other: Scorecard) {
        for index in Self.horizonMinutes.indices {
            self.byActual[index].add(other.byActual[index])
            self.byPredicted[index].add(other.byPredicted[index])
        }
    }

    package func scores(by basis: Basis) -> [Score] {
        let errors =
            switch basis {
            case .actual: self.byActual
            case .predicted: self.byPredicted
            }
        return zip(Self.horizonMinutes, errors).map { $1.score(minutes: $0) }
    }
}

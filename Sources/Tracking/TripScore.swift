// A recorded trip travelled once more, to see how good arrival times would have been: the destination is where it ended,
// the arrival when it first came there, and each estimator knows what a gateway would have known at the time.

/// Scores the built-in estimator, and what anybody would do first, on one trip.
package struct TripScore: Sendable {
    /// m from the last reading: there the rider has arrived.
    package static let arrivalMeters = 50.0
    /// s of a trip before anything is predicted.
    static let warmUp = 30.0

    package private(set) var builtIn = Scorecard()
    package private(set) var straightLine = Scorecard()
    /// What the judge said of the readings.
    package let counts: VerdictCounts
    /// s from the first reading to the arrival.
    package let tripSeconds: Double

    /// - Parameter readings: of one trip, oldest first.
    /// - Returns: `nil` without two readings that are accepted.
    package init?(_ readings: [Reading], detour: DetourFactor = DetourFactor()) {
        var validator = LocationValidator()
        let accepted = readings.filter { reading in
            let receipt = LocationValidator.Receipt(
                monotonic: UInt64(clamping: reading.at) &* 1_000_000, wall: reading.at)
            if case .accepted = validator.validate(reading, received: receipt) { return true }
            return false
        }
        self.counts = validator.counts
        guard accepted.count > 1, let first = accepted.first, let destination = accepted.last?.point,
            let arrival = accepted.firstIndex(where: { $0.point.meters(to: destination) <= Self.arrivalMeters })
        else { return nil }
        var (estimator, line) = (TravelEstimator(detour: detour), StraightLineEstimator())
        for reading in accepted[...arrival] {
            estimator.observe(reading)
            line.observe(reading)
            let time = Double(reading.at - first.at) / 1000
            guard time >= Self.warmUp, let ours = estimator.seconds(to: destination),
                let theirs = line.seconds(to: destination)
            else { continue }
            self.builtIn.predicted(remaining: ours, at: time)
            self.straightLine.predicted(remaining: theirs, at: time)
        }
        self.tripSeconds = Double(accepted[arrival].at - first.at) / 1000
        self.builtIn.arrived(at: self.tripSeconds)
        self.straightLine.arrived(at: self.tripSeconds)
    }
}

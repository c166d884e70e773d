// Replays a recorded trip to measure how accurate arrival times would have been. The destination is the last reading,
// the arrival is the first time the rider was there, and each estimator knows only what a gateway would have known at
// the time.

package import EnrouteWire

/// Scores the built-in estimator and the baseline on one trip.
package struct TripScore: Sendable {
    /// The rider has arrived within this distance of the last reading, in m.
    package static let arrivalMeters = 50.0
    /// Seconds of the trip before the first prediction.
    static let warmUp = 30.0
    /// Seconds between two routes, as in a gateway.
    static let routeInterval = 60.0

    package private(set) var builtIn = Scorecard()
    package private(set) var straightLine = Scorecard()
    /// Scores of the estimator with routes in a street network, and of the routes alone. Empty without a network.
    package private(set) var streets = Scorecard()
    package private(set) var streetsAlone = Scorecard()
    /// The verdicts of the validator.
    package let counts: VerdictCounts
    /// Seconds from the first reading to the arrival.
    package let tripSeconds: Double

    /// - Parameters:
    ///   - readings: of one trip, oldest first.
    ///   - vehicle: `nil` to learn it from the trip.
    ///   - route: returns the seconds that a route in a street network takes, or `nil` if there is no route.
    /// - Returns: `nil` with fewer than two accepted readings.
    package init?(
        _ readings: [Reading], vehicle: Vehicle? = nil,
        route: ((_ from: Point, _ to: Point, _ vehicle: Vehicle?) -> Double?)? = nil
    ) {
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
        var (estimator, line) = (TravelEstimator(vehicle: vehicle), StraightLineEstimator())
        var nextRoute = Self.warmUp
        for reading in accepted[...arrival] {
            estimator.observe(reading)
            line.observe(reading)
            let time = Double(reading.at - first.at) / 1000
            guard time >= Self.warmUp, let ours = estimator.seconds(to: destination),
                let theirs = line.seconds(to: destination)
            else { continue }
            self.builtIn.predicted(remaining: ours, range: estimator.range(ofSeconds: ours), at: time)
            self.straightLine.predicted(remaining: theirs, at: time)
            guard let route, time >= nextRoute else { continue }
            nextRoute = time + Self.routeInterval
            guard let alone = route(reading.point, destination, estimator.assumedVehicle) else { continue }
            let seconds = estimator.seconds(from: reading.point, through: [destination], streetSeconds: alone)
            self.streets.predicted(remaining: seconds, range: estimator.range(ofSeconds: seconds), at: time)
            self.streetsAlone.predicted(remaining: alone, at: time)
        }
        self.tripSeconds = Double(accepted[arrival].at - first.at) / 1000
        self.builtIn.arrived(at: self.tripSeconds)
        self.straightLine.arrived(at: self.tripSeconds)
        self.streets.arrived(at: self.tripSeconds)
        self.streetsAlone.arrived(at: self.tripSeconds)
    }
}

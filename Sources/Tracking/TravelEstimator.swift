// The built-in estimator: estimates the remaining time of a trip without a map, traffic data or a provider. It divides the
// straight line by a mean of the vehicle's usual progress and the rider's own. The rider's own progress is the straight line
// between the start and the end of ten-minute stretches, so it includes detours and standing. What counts is how much closer
// such a trip gets to its destination, not how fast the rider moves.

package import EnrouteWire

#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

/// Estimates travel times from the accepted readings of one trip.
package struct TravelEstimator: Hashable, Sendable {
    /// Seconds. After a longer silence, the time in between is ignored.
    static let silence = 60.0
    /// Seconds over which progress is measured.
    static let stretch = 600.0
    /// The straight line in m to which the usual progress applies, and the range of its scaling.
    static let usualLine = 2000.0
    static let lines = 0.1...12.0
    /// The range of the rider's own progress, as multiples of the usual one. A traffic jam does not last for hours.
    static let own = 0.45...4.0
    /// The weight of a route in a street network, 0 to 1, and the range of its seconds as multiples of the usual ones.
    static let streetWeight = 0.4
    static let slower = 0.4...3.0
    /// Seconds. A route in a street network that takes longer cannot be right.
    static let longestStreetSeconds = 86_400.0
    /// m. On a shorter trip, the seconds at its end are fewer.
    static let lastMeters = 300.0

    /// The rider's vehicle; `nil` if it is unknown.
    package var vehicle: Vehicle?
    private var learned = LearnedVehicle()
    /// Where the current stretch began.
    private var from: Reading?
    private var last: Reading?
    /// The completed stretches.
    private var meters = 0.0
    private var seconds = 0.0

    package init(vehicle: Vehicle? = nil) { self.vehicle = vehicle }

    /// The rider's vehicle: known, or learned from the trip; `nil` at the start of a trip.
    package var assumedVehicle: Vehicle? { self.vehicle ?? self.learned.vehicle }

    /// - Parameter reading: accepted, so newer than the one before.
    package mutating func observe(_ reading: Reading) {
        defer { self.last = reading }
        if self.learnsAnother(from: reading) { return self.restart(at: reading) }
        guard let last = self.last, let from = self.from else { return self.from = reading }
        if Self.seconds(from: last, to: reading) > Self.silence {
            self.complete(from, last)
            self.from = reading
        } else if Self.seconds(from: from, to: reading) >= Self.stretch {
            self.complete(from, reading)
            self.from = reading
        }
    }

    /// The phone's clock was corrected, so the next reading's time cannot be compared with earlier ones.
    package mutating func clockChanged() {
        self.learned.clockChanged()
        guard let from, let last else { return }
        self.complete(from, last)
        self.from = nil
    }

    /// Returns whether the rider changed the vehicle.
    private mutating func learnsAnother(from reading: Reading) -> Bool {
        guard self.vehicle == nil else { return false }
        let before = self.learned.vehicle
        self.learned.observe(reading)
        return before != nil && self.learned.vehicle != before
    }

    /// The progress with one vehicle says nothing about that with another.
    private mutating func restart(at reading: Reading) { (self.from, self.meters, self.seconds) = (reading, 0, 0) }

    private mutating func complete(_ from: Reading, _ to: Reading) {
        self.meters += from.point.meters(to: to.point)
        self.seconds += Self.seconds(from: from, to: to)
    }

    private static func seconds(from: Reading, to: Reading) -> Double { Double(to.at - from.at) / 1000 }

    /// Seconds from the last reading to the destination; `nil` before the first reading.
    package func seconds(to destination: Point) -> Double? {
        self.last.map { self.seconds(from: $0.point, to: destination) }
    }

    /// Seconds between two points, for this rider.
    package func seconds(from start: Point, to destination: Point) -> Double {
        let assumed = TravelAssumptions.of(self.assumedVehicle)
        let line = start.meters(to: destination)
        return self.lastSeconds(ofLine: line, assumed) + line / self.progress(overLine: line, assumed)
    }

    /// Seconds through points, for this rider, with a route in a street network.
    ///
    /// The network knows the streets, but neither traffic nor the rider. So only the ratio of its time to the usual one counts,
    /// and only in part. If the route is far longer than the straight line, its time counts fully, because nobody is faster
    /// than its streets: between three and four times the usual seconds, the estimate rises to the seconds of the route.
    ///
    /// - Parameter streetSeconds: the seconds of the route through all points.
    package func seconds(from start: Point, through points: [Point], streetSeconds: Double) -> Double {
        let assumed = TravelAssumptions.of(self.assumedVehicle)
        var (travel, last, usual, from) = (0.0, 0.0, 0.0, start)
        for point in points {
            let line = from.meters(to: point)
            travel += line / self.progress(overLine: line, assumed)
            last += self.lastSeconds(ofLine: line, assumed)
            usual += line / assumed.streetSpeed
            from = point
        }
        let ratio = streetSeconds / max(1, usual)
        let slower = min(Self.slower.upperBound, max(Self.slower.lowerBound, ratio))
        let seconds = travel * pow(slower, Self.streetWeight)
        guard ratio > Self.slower.upperBound, streetSeconds <= Self.longestStreetSeconds else { return last + seconds }
        return last + seconds + max(0, streetSeconds - seconds) * min(1, ratio - Self.slower.upperBound)
    }

    private func lastSeconds(ofLine meters: Double, _ assumed: TravelAssumptions) -> Double {
        assumed.lastSeconds * min(1, meters / Self.lastMeters)
    }

    /// In m/s along the straight line.
    private func progress(overLine meters: Double, _ assumed: TravelAssumptions) -> Double {
        let scale = min(Self.lines.upperBound, max(Self.lines.lowerBound, meters / Self.usualLine))
        let usual = assumed.speed * pow(scale, assumed.distanceExponent)
        var (own, seconds) = (self.meters, self.seconds)
        if let from, let last {
            own += from.point.meters(to: last.point)
            seconds += Self.seconds(from: from, to: last)
        }
        let ratio = (assumed.priorSeconds + own / assumed.speed) / (assumed.priorSeconds + seconds)
        let bounded = assumed.speed * min(Self.own.upperBound, max(Self.own.lowerBound, ratio))
        return pow(usual, 1 - assumed.ownWeight) * pow(bounded, assumed.ownWeight)
    }

    /// Returns the range within which 80 % of the riders with this estimate arrive.
    package func range(ofSeconds seconds: Double) -> ClosedRange<Double> {
        let (assumed, seconds) = (TravelAssumptions.of(self.assumedVehicle), max(0, seconds))
        return max(0, seconds * assumed.range.lowerBound - assumed.rangeSeconds)...seconds * assumed.range.upperBound
            + assumed.rangeSeconds
    }
}

/// A baseline for comparison: the straight line to the destination divided by the mean speed so far.
package struct StraightLineEstimator: Hashable, Sendable {
    /// m/s. The minimum speed, because a lower one would predict hours.
    static let slowest = 0.5

    private var first: Reading?
    private var last: Reading?
    private var meters = 0.0

    package init() {}

    package mutating func observe(_ reading: Reading) {
        if let last { self.meters += last.point.meters(to: reading.point) } else { self.first = reading }
        self.last = reading
    }

    /// Seconds from the last reading to the destination; `nil` before the second reading.
    package func seconds(to destination: Point) -> Double? {
        guard let first, let last, last.at > first.at else { return nil }
        let speed = self.meters / (Double(last.at - first.at) / 1000)
        return last.point.meters(to: destination) / max(Self.slowest, speed)
    }
}

// The built-in estimator: estimates the remaining time of a trip without a map, traffic data or a provider. It assumes
// two things that hold in every town. The route is longer than the straight line (DetourFactor). Longer trips are
// faster: the last few hundred metres are side streets and a search for the door, ten kilometres are main roads. The
// rider's own speed and standing time adjust this but do not replace it, because a rider in a traffic jam gets out of
// it, and one on a motorway leaves it.

#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

/// Estimates travel times from the accepted readings of one trip.
package struct TravelEstimator: Hashable, Sendable {
    package struct Assumptions: Hashable, Sendable {
        /// Usual speed over two kilometres including stops, in m/s.
        package var usualSpeed = 7.0
        /// Usual speed grows with this power of the distance, between 400 m and 16 km.
        package var distanceExponent = 0.5
        /// The weight of this rider's own speed, 0 to 1.
        package var ownWeight = 0.3
        /// The usual share of time spent standing, and the maximum.
        package var standingShare = 0.25
        package var maxStanding = 0.5
        /// The weight of the usual values, as seconds travelled before the trip.
        package var priorSeconds = 600.0

        package init() {}
    }

    /// m/s. A slower rider counts as standing.
    static let standing = 1.5
    /// Seconds. After a longer silence, the time in between is ignored.
    static let silence = 60.0
    /// The distance in m that `usualSpeed` applies to, and the range of its scaling.
    static let usualLine = 2000.0
    static let lines = 0.2...8.0

    private let assumptions: Assumptions
    package private(set) var detour: DetourFactor
    private var last: Reading?
    private var movingSeconds = 0.0
    private var movingMeters = 0.0
    private var standingSeconds = 0.0

    /// - Parameter detour: what was learned about the town.
    package init(assumptions: Assumptions = Assumptions(), detour: DetourFactor = DetourFactor()) {
        (self.assumptions, self.detour) = (assumptions, detour)
    }

    /// - Parameter reading: accepted, so newer than the one before.
    package mutating func observe(_ reading: Reading) {
        defer { self.last = reading }
        guard let last = self.last else { return self.detour.observe(reading.point) }
        let seconds = Double(reading.at - last.at) / 1000
        guard seconds <= Self.silence else {
            self.detour.interrupt()
            return self.detour.observe(reading.point)
        }
        self.detour.observe(reading.point)
        let meters = last.point.meters(to: reading.point)
        if meters > Self.standing * seconds {
            self.movingSeconds += seconds
            self.movingMeters += meters
        } else {
            self.standingSeconds += seconds
        }
    }

    /// Seconds from the last reading to the destination; `nil` before the first reading.
    package func seconds(to destination: Point) -> Double? {
        self.last.map { self.seconds(from: $0.point, to: destination) }
    }

    /// Seconds between two points, for this rider.
    package func seconds(from start: Point, to destination: Point) -> Double {
        let line = start.meters(to: destination)
        return line * self.detour.factor / self.speed(overLine: line)
    }

    /// The speed in m/s including stops.
    private func speed(overLine meters: Double) -> Double {
        let assumed = self.assumptions
        let scale = min(Self.lines.upperBound, max(Self.lines.lowerBound, meters / Self.usualLine))
        let usual = assumed.usualSpeed * pow(scale, assumed.distanceExponent)
        let usualMoving = assumed.usualSpeed / (1 - assumed.standingShare)
        let moving =
            (usualMoving * assumed.priorSeconds + self.movingMeters) / (assumed.priorSeconds + self.movingSeconds)
        let travelled = self.movingSeconds + self.standingSeconds
        let share = min(
            assumed.maxStanding,
            (assumed.standingShare * assumed.priorSeconds + self.standingSeconds) / (assumed.priorSeconds + travelled))
        let own = moving * (1 - share)
        return pow(usual, 1 - assumed.ownWeight) * pow(own, assumed.ownWeight)
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

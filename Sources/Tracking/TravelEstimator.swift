// How long the rest of a trip takes, by what was seen of it and what is usual: no map, no traffic, no service. Two things
// are known of any town. The way is longer than the line (DetourFactor). And who has far to go goes faster: the last
// hundreds of metres are side streets and a search for the door, ten kilometres are main roads. What this rider did so far
// (its speed while moving, the share of its time it stands) bends that, and does not replace it: a rider in a jam is out of
// it at some time, and one on a motorway leaves it.

#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

/// Learns from the accepted readings of one trip.
package struct TravelEstimator: Hashable, Sendable {
    package struct Assumptions: Hashable, Sendable {
        /// Usual over a line of two kilometres, with all stops, m/s of way.
        package var usualSpeed = 7.0
        /// Usual speed grows with this power of the distance, between 400 m and 16 km.
        package var distanceExponent = 0.5
        /// How much this rider's own speed counts, 0 to 1.
        package var ownWeight = 0.3
        /// Usual share of the time that is spent standing, and the most that is believed.
        package var standingShare = 0.25
        package var maxStanding = 0.5
        /// As if so many seconds had been travelled as is usual before the trip began.
        package var priorSeconds = 600.0

        package init() {}
    }

    /// m/s: who is slower stands.
    static let standing = 1.5
    /// s: after a longer silence nothing is known of the time between.
    static let silence = 60.0
    /// m: the line for which `usualSpeed` is, and how far it is stretched.
    static let usualLine = 2000.0
    static let lines = 0.2...8.0

    private let assumptions: Assumptions
    package private(set) var detour: DetourFactor
    private var last: Reading?
    private var movingSeconds = 0.0
    private var movingMeters = 0.0
    private var standingSeconds = 0.0

    /// - Parameter detour: what is known of the town.
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

    /// s from the last reading to the destination; `nil` before the first reading.
    package func seconds(to destination: Point) -> Double? {
        self.last.map { self.seconds(from: $0.point, to: destination) }
    }

    /// s between two places, for this rider.
    package func seconds(from start: Point, to destination: Point) -> Double {
        let line = start.meters(to: destination)
        return line * self.detour.factor / self.speed(overLine: line)
    }

    /// m/s of way, stops included.
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

/// What anybody would do first, to compare with: the line to the destination over the mean speed of the trip so far.
package struct StraightLineEstimator: Hashable, Sendable {
    /// m/s: slower than this it would say hours.
    static let slowest = 0.5

    private var first: Reading?
    private var last: Reading?
    private var meters = 0.0

    package init() {}

    package mutating func observe(_ reading: Reading) {
        if let last { self.meters += last.point.meters(to: reading.point) } else { self.first = reading }
        self.last = reading
    }

    /// s from the last reading to the destination; `nil` before a second reading.
    package func seconds(to destination: Point) -> Double? {
        guard let first, let last, last.at > first.at else { return nil }
        let speed = self.meters / (Double(last.at - first.at) / 1000)
        return last.point.meters(to: destination) / max(Self.slowest, speed)
    }
}

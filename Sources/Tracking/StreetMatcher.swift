// Finds the street that a rider is on, with each reading (an online hidden Markov model after Newson and Krumm 2009).
// The states are the nearest streets. A street is likely if the rider is close to it, and if the distance along streets
// since the last step is about that of the straight line. If no street is likely enough, the rider is shown where the
// filter puts it.
//
// Matching happens on event loops, so its cost is bounded: at most `mostStreets` streets, paths from at most
// `mostOrigins` of them with at most `longestWay` m, and only after a rider has moved `stepMeters`. In between, the
// place moves along the street.

package import EnrouteWire

/// A place on a street near a rider.
package struct StreetCandidate: Hashable, Sendable {
    /// Identifies the street between two crossings.
    package var edge: UInt32
    /// m from the start of the street.
    package var metersAlong: Double
    package var point: Point
    /// m from the rider.
    package var meters: Double

    package init(edge: UInt32, metersAlong: Double, point: Point, meters: Double) {
        (self.edge, self.metersAlong, self.point, self.meters) = (edge, metersAlong, point, meters)
    }
}

/// Streets as a graph. Both functions are called on event loops, so they must not block.
package protocol StreetSource: Sendable {
    /// Returns the streets nearest to a place, at most one place on each.
    func streets(near point: Point, within meters: Double, atMost: Int, for vehicle: Vehicle?) -> [StreetCandidate]
    /// Returns the lengths in m of the shortest paths to each place; `nil` if there is none, or if it is longer than `meters`.
    func distances(
        from: StreetCandidate, to: [StreetCandidate], within meters: Double, for vehicle: Vehicle?
    ) -> [Double?]
}

/// The street of one rider.
package struct StreetMatcher: Hashable, Sendable {
    /// The states of a step, and how many of them are the origins of ways in the next one.
    static let mostStreets = 8
    static let mostOrigins = 3
    /// m within which streets are searched.
    static let searched = 25.0...60.0
    /// The minimum distance in m that a rider moves between two steps. Beyond `farthest`, or after `longestPause` ms, matching
    /// starts again.
    static let stepMeters = 8.0
    static let farthest = 300.0
    static let longestPause: Int64 = 60_000
    /// The longest path that is searched for: this factor of the straight line, plus a margin in m.
    static let wayFactor = 2.0
    static let wayMargin = 60.0
    /// m. The minimum deviation of places on a street, because streets are wide and maps are inexact.
    static let leastDeviation = 6.0
    /// m. The usual difference between the path and the straight line of one step (β).
    static let usualDetour = 6.0
    /// m. No rider is shown farther from the filter's estimate, so a marker that changes streets moves by less than twice
    /// this.
    static let furthestSnap = 25.0
    /// m. Candidates this close to each other show the same place.
    static let samePlace = 10.0

    private struct State: Hashable {
        var candidate: StreetCandidate
        /// The logarithm of the ratio of its probability to that of the best state.
        var likelihood: Double
    }

    /// Best first.
    private var states: [State] = []
    private var steppedAt: Int64 = 0
    private var steppedFrom: Point?
    /// The last place and its match, reused while the rider rests.
    private var lastPoint: Point?
    private var lastMatch: Point?

    package init() {}

    package mutating func reset() { self = StreetMatcher() }

    /// - Parameters:
    ///   - estimate: from the filter.
    ///   - at: ms; later than the one before.
    /// - Returns: the place on a street; `nil` if no street is likely enough.
    package mutating func match(
        _ estimate: PositionFilter.Estimate, at: Int64, by vehicle: Vehicle?, on streets: any StreetSource
    ) -> Point? {
        if estimate.point == self.lastPoint { return self.lastMatch }
        let deviation = max(Self.leastDeviation, estimate.deviationMeters)
        let within = min(Self.searched.upperBound, max(Self.searched.lowerBound, 3 * deviation))
        let near = streets.streets(near: estimate.point, within: within, atMost: Self.mostStreets, for: vehicle)
        let match: Point? =
            if near.isEmpty { self.leave() } else { self.match(estimate.point, near, deviation, at, vehicle, streets) }
        (self.lastPoint, self.lastMatch) = (estimate.point, match)
        return match
    }

    private mutating func leave() -> Point? {
        self.states = []
        return nil
    }

    private mutating func match(
        _ point: Point, _ near: [StreetCandidate], _ deviation: Double, _ at: Int64, _ vehicle: Vehicle?,
        _ streets: any StreetSource
    ) -> Point? {
        let straight = self.steppedFrom?.meters(to: point) ?? .infinity
        if straight < Self.stepMeters, let street = self.states.first?.candidate,
            let here = near.first(where: { $0.edge == street.edge })
        {
            self.states[0].candidate = here
            return self.isConvincing(here, deviation, vehicle) ? here.point : nil
        }
        if straight > Self.farthest || at - self.steppedAt > Self.longestPause { self.states = [] }
        self.step(to: near, straight, deviation, vehicle, streets)
        (self.steppedAt, self.steppedFrom) = (at, point)
        guard let best = self.states.first, self.isConvincing(best.candidate, deviation, vehicle) else { return nil }
        return best.candidate.point
    }

    private mutating func step(
        to near: [StreetCandidate], _ straight: Double, _ deviation: Double, _ vehicle: Vehicle?,
        _ streets: any StreetSource
    ) {
        var likelihoods = [Double](repeating: -.infinity, count: near.count)
        let limit = straight * Self.wayFactor + Self.wayMargin
        for origin in self.states.prefix(Self.mostOrigins) {
            let ways = streets.distances(from: origin.candidate, to: near, within: limit, for: vehicle)
            for index in near.indices where index < ways.count {
                guard let way = Self.way(from: origin.candidate, to: near[index], ways[index]) else { continue }
                likelihoods[index] = max(
                    likelihoods[index], origin.likelihood - abs(way - straight) / (Self.usualDetour + 0.1 * straight))
            }
        }
        // No path leads here: the rider left the streets, or the map is wrong. Then only the distances to the streets count.
        let isStart = !likelihoods.contains { $0.isFinite }
        var next: [State] = near.indices.compactMap { index in
            let share = near[index].meters / deviation
            let before = isStart ? 0 : likelihoods[index]
            return before.isFinite ? State(candidate: near[index], likelihood: before - share * share / 2) : nil
        }
        next.sort { $0.likelihood > $1.likelihood }
        let best = next.first?.likelihood ?? 0
        for index in next.indices { next[index].likelihood -= best }
        self.states = next
    }

    /// The path between two places. A place that seems to move back a little along its street has not moved.
    private static func way(from: StreetCandidate, to: StreetCandidate, _ way: Double?) -> Double? {
        guard from.edge == to.edge else { return way }
        let along = abs(to.metersAlong - from.metersAlong)
        return way.map { min($0, along) } ?? along
    }

    /// Whether the street is close, and unambiguous. On foot, riders leave the streets more often.
    private func isConvincing(_ candidate: StreetCandidate, _ deviation: Double, _ vehicle: Vehicle?) -> Bool {
        let isOnFoot = vehicle == .foot
        guard candidate.meters <= min(Self.furthestSnap, (isOnFoot ? 1.2 : 2.5) * deviation) else { return false }
        var (same, all) = (0.0, 0.0)
        for state in self.states {
            let share = Self.exponential(state.likelihood)
            all += share
            if state.candidate.point.meters(to: candidate.point) <= Self.samePlace { same += share }
        }
        return same >= all * (isOnFoot ? 0.8 : 0.6)
    }

    /// e to the power of a number that is not positive, exact enough to compare shares.
    private static func exponential(_ power: Double) -> Double {
        guard power > -16 else { return 0 }
        var value = 1 + power / 256
        for _ in 0..<8 { value *= value }
        return value
    }
}

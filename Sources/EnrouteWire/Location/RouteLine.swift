// A line along streets with its lengths: finds the point nearest to a place, cuts off what is behind it, and leaves out
// places that hardly change the line. Distances are computed on a plane for each part of the line.

#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

/// A line of at least two places. Its description is redacted, as for Coordinate.
package struct RouteLine: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    package let places: [Coordinate]
    /// Meters from the start to each place.
    private let metersTo: [Double]

    /// - Returns: `nil` for fewer than two places.
    package init?(_ places: [Coordinate]) {
        guard places.count > 1 else { return nil }
        var (metersTo, sum) = ([0.0], 0.0)
        for (from, to) in zip(places, places.dropFirst()) {
            let step = Step(from, to)
            sum += hypot(step.north, step.east)
            metersTo.append(sum)
        }
        (self.places, self.metersTo) = (places, metersTo)
    }

    package var description: String { "<a line>" }
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// The length in meters.
    package var meters: Double { self.metersTo.last ?? 0 }

    /// A point of the line.
    package struct Spot: Hashable, Sendable {
        /// Meters from the start of the line.
        package let along: Double
        /// Meters from the place to this point.
        package let away: Double
        package let place: Coordinate
        /// Index of the last place of the line that is not after the point.
        fileprivate let index: Int
    }

    /// Meters. If the distances of two points from a place differ by more, the nearer one is chosen.
    private static let nearlySame = 40.0
    /// Meters along the line that cost as much as one meter beside it, for short distances.
    private static let alongPerAway = 20.0
    /// The factor by which a distance back along the line costs more than one ahead.
    private static let backward = 3.0

    /// Returns the point nearest to a place. Cost: O(places).
    ///
    /// A line that leads there and back passes a place twice. Of points that are about equally near, the one closest to the
    /// rider's previous point is chosen. `Route.find` of the JavaScript client does the same.
    ///
    /// - Parameter near: where the rider was before, in meters from the start of the line; `nil` if it is unknown. Then the
    ///   first of equally near points is chosen.
    package func nearest(to place: Coordinate, near: Double? = nil) -> Spot {
        var best = Spot(along: 0, away: .infinity, place: self.places[0], index: 0)
        var least = Double.infinity
        for index in self.places.indices.dropLast() {
            let (from, to) = (self.places[index], self.places[index + 1])
            let (step, offset) = (Step(from, to), Step(from, place))
            let squared = step.north * step.north + step.east * step.east
            let dot = offset.north * step.north + offset.east * step.east
            let share = squared > 0 ? min(1, max(0, dot / squared)) : 0
            let away = hypot(offset.north - share * step.north, offset.east - share * step.east)
            let along = self.metersTo[index] + share * squared.squareRoot()
            let cost = away + (near.map { Self.cost(from: $0, to: along) } ?? 0)
            guard cost < least else { continue }
            least = cost
            best = Spot(along: along, away: away, place: Self.between(from, to, share), index: index)
        }
        return best
    }

    /// The penalty in meters for a point because the rider was elsewhere on the line. It grows with the distance between the
    /// two, up to `nearlySame`.
    private static func cost(from near: Double, to along: Double) -> Double {
        let way = along < near ? (near - along) * Self.backward : along - near
        return Self.nearlySame * way / (way + Self.nearlySame * Self.alongPerAway)
    }

    /// The place at a share of the line between two places. Across the date line, it is the end.
    private static func between(_ from: Coordinate, _ to: Coordinate, _ share: Double) -> Coordinate {
        guard abs(to.longitude - from.longitude) <= 180 else { return to }
        return Coordinate(
            latitude: from.latitude + (to.latitude - from.latitude) * share,
            longitude: from.longitude + (to.longitude - from.longitude) * share) ?? to
    }

    /// The places from a point to the end, beginning with the point.
    package func places(from spot: Spot) -> [Coordinate] { [spot.place] + self.places[(spot.index + 1)...] }

    /// The places from the start to a point, ending with the point.
    package func places(to spot: Spot) -> [Coordinate] { self.places[...spot.index] + [spot.place] }

    /// Meters north and east from one place to another.
    private struct Step {
        let north: Double
        let east: Double

        private static let metersOfDegree = 6_371_008.8 * Double.pi / 180

        init(_ from: Coordinate, _ to: Coordinate) {
            var degreesEast = to.longitude - from.longitude
            // Across the date line, use the shorter direction.
            if degreesEast > 180 { degreesEast -= 360 } else if degreesEast < -180 { degreesEast += 360 }
            let middle = (from.latitude + to.latitude) / 2 * Double.pi / 180
            self.north = (to.latitude - from.latitude) * Self.metersOfDegree
            self.east = degreesEast * Self.metersOfDegree * cos(middle)
        }
    }

    // MARK: simplification

    /// Returns the line without places that are closer than `tolerance` m to the line without them (Douglas and Peucker,
    /// 1973). The ends stay. Cost: O(places²) at worst.
    package func simplified(tolerance: Double) -> [Coordinate] {
        let start = self.places[0]
        // All on one plane, so that each comparison costs a few multiplications.
        let points = self.places.map { place in
            let step = Step(start, place)
            return (x: step.east, y: step.north)
        }
        var isKept = Array(repeating: false, count: points.count)
        (isKept[0], isKept[points.count - 1]) = (true, true)
        // Parts that are still to be examined. A recursive function could exhaust the stack.
        var parts = [(0, points.count - 1)]
        while let (first, last) = parts.popLast() {
            let (from, to) = (points[first], points[last])
            let (x, y) = (to.x - from.x, to.y - from.y)
            let squared = x * x + y * y
            var (farthest, index) = (tolerance * tolerance, 0)
            for candidate in first + 1..<max(first + 1, last) {
                let (dx, dy) = (points[candidate].x - from.x, points[candidate].y - from.y)
                let share = squared > 0 ? min(1, max(0, (dx * x + dy * y) / squared)) : 0
                let (asideX, asideY) = (dx - share * x, dy - share * y)
                let away = asideX * asideX + asideY * asideY
                if away > farthest { (farthest, index) = (away, candidate) }
            }
            guard index > 0 else { continue }
            isKept[index] = true
            parts.append((first, index))
            parts.append((index, last))
        }
        return zip(self.places, isKept).compactMap { $1 ? $0 : nil }
    }
}

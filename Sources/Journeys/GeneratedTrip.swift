// A trip along the streets of a grid: accelerates, slows down for corners, stops at some of them, and arrives.

extension StreetGrid {
    /// Speeds between corners and around them, m/s, and acceleration, m/s².
    private static let cruise = 12.0
    private static let cornering = 4.0
    private static let acceleration = 1.8
    /// One corner in this many has a red light, for this many seconds.
    private static let lightsOneIn = 5
    private static let redSeconds = 4...14

    /// A trip from one corner of the town to the opposite one, with one fix per second.
    ///
    /// - Parameter start: ms since the epoch.
    package func trip(seed: UInt64, startingAt start: Int64) -> Journey {
        var random = SeededGenerator(seed: seed ^ 0x7472_6970)
        let route = self.route(&random)
        return Journey(
            name: "generated trip \(seed)",
            fixes: Self.fixes(along: route, startingAt: start, cruise: Self.cruise, &random))
    }

    /// A trip from one corner to another, with the same speeds at corners and the same red lights.
    ///
    /// - Parameters:
    ///   - from, to: different corners of the town.
    ///   - cruise: the speed between corners in m/s, at least 4.
    ///   - seconds: the time between two fixes, at least 1.
    ///   - start: ms since the epoch.
    package func trip(
        from: Corner, to: Corner, seed: UInt64, cruise: Double, everySeconds seconds: Int, startingAt start: Int64
    ) -> Journey {
        var random = SeededGenerator(seed: seed ^ 0x7472_6970)
        let route = self.route(from: from, to: to, &random)
        let all = Self.fixes(along: route, startingAt: start, cruise: max(Self.cornering, cruise), &random)
        // The first and the last fix remain.
        let fixes = all.enumerated().filter { $0.offset % max(1, seconds) == 0 || $0.offset == all.count - 1 }
        return Journey(name: "generated trip \(seed)", fixes: fixes.map(\.element))
    }

    private static func fixes(
        along route: [Place], startingAt start: Int64, cruise: Double, _ random: inout SeededGenerator
    ) -> [Fix] {
        var fixes: [Fix] = []
        var second: Int64 = 0
        var speed = 0.0
        func add(_ place: Place, heading: Double) {
            fixes.append(
                Fix(
                    at: start + second * 1000, latitude: place.latitude, longitude: place.longitude, accuracyMeters: 5,
                    speedMetersPerSecond: speed, headingDegrees: heading))
            second += 1
        }
        for (index, (from, to)) in zip(route, route.dropFirst()).enumerated() {
            let (a, b) = (Fix(from), Fix(to))
            let (length, heading) = (Geodesy.meters(from: a, to: b), Geodesy.heading(from: a, to: b))
            let isLast = index == route.count - 2
            var covered = 0.0
            if fixes.isEmpty { add(from, heading: heading) }
            while covered < length {
                // The highest speed from which the rider can still slow down before the next corner: v^2 = u^2 + 2as.
                let atCorner = isLast ? 1.0 : Self.cornering
                let allowed = (atCorner * atCorner + 2 * Self.acceleration * (length - covered)).squareRoot()
                speed = max(1, min(cruise, allowed, speed + Self.acceleration))
                covered = min(length, covered + speed)
                let part = covered / length
                add(
                    Place(
                        latitude: from.latitude + (to.latitude - from.latitude) * part,
                        longitude: from.longitude + (to.longitude - from.longitude) * part), heading: heading)
            }
            if !isLast, Int.random(in: 0..<Self.lightsOneIn, using: &random) == 0 {
                speed = 0
                for _ in 0..<Int.random(in: Self.redSeconds, using: &random) { add(to, heading: heading) }
            }
        }
        return fixes
    }

    /// Corners from the south-west to the north-east, with random turns.
    private func route(_ random: inout SeededGenerator) -> [Place] {
        var (row, column) = (0, 0)
        var route = [self.corners[0][0]]
        while row < self.corners.count - 1 || column < self.corners[0].count - 1 {
            let mayGoNorth = row < self.corners.count - 1
            let mayGoEast = column < self.corners[0].count - 1
            if mayGoNorth && (!mayGoEast || Bool.random(using: &random)) { row += 1 } else { column += 1 }
            route.append(self.corners[row][column])
        }
        return route
    }

    /// Corners on one of the shortest ways between two corners, with random turns.
    private func route(from: Corner, to: Corner, _ random: inout SeededGenerator) -> [Place] {
        var at = from
        var route = [self[at]]
        while at != to {
            let turns = at.row != to.row && (at.column == to.column || Bool.random(using: &random))
            if turns { at.row += (to.row - at.row).signum() } else { at.column += (to.column - at.column).signum() }
            route.append(self[at])
        }
        return route
    }
}

extension Fix {
    fileprivate init(_ place: Place) { self.init(at: 0, latitude: place.latitude, longitude: place.longitude) }
}

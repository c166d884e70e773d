// A route query, its answer, and the source of the answer.

package import EnrouteWire

/// The source of an arrival time. The raw value is used in settings, messages, metric labels and Redis. A provider has
/// the same raw value in `Dependency`.
package enum ArrivalSource: String, Hashable, Sendable, CaseIterable {
    case osrm
    case azureMaps = "azure_maps"
    case mapbox
    /// The gateway's own street network (`ENROUTE_STREETS_FILE`), used if no provider has a route.
    case streets
    /// The estimator of `Tracking`, used if nothing else has a route.
    case builtIn = "built_in"
}

/// The mode of travel, as far as providers distinguish it.
package enum TravelMode: Hashable, Sendable, CaseIterable {
    case driving, cycling, walking

    /// - Parameter vehicle: `nil` for an unknown one, which counts as a car.
    package init(_ vehicle: Vehicle?) {
        switch vehicle {
        case .foot: self = .walking
        case .bicycle, .cargoBike: self = .cycling
        case .moped, .car, .van, .truck, nil: self = .driving
        }
    }
}

/// A route that starts now.
package struct RouteQuery: Hashable, Sendable {
    package let mode: TravelMode
    /// The rider's vehicle; `nil` if it is unknown. Providers distinguish only the mode.
    package let vehicle: Vehicle?
    /// The start, the points to pass, and the end.
    package let places: [Coordinate]

    /// The maximum number of points in a query, including the start and the end. Every provider must accept this many.
    /// With more points, no provider is queried.
    package static let maxPlaces = 10

    /// - Returns: `nil` for fewer than two places, or more than `maxPlaces`.
    package init?(places: [Coordinate], mode: TravelMode = .driving) {
        guard (2...Self.maxPlaces).contains(places.count) else { return nil }
        (self.places, self.mode, self.vehicle) = (places, mode, nil)
    }

    /// - Returns: `nil` for fewer than two places, or more than `maxPlaces`.
    package init?(places: [Coordinate], vehicle: Vehicle?) {
        guard (2...Self.maxPlaces).contains(places.count) else { return nil }
        (self.places, self.mode, self.vehicle) = (places, TravelMode(vehicle), vehicle)
    }
}

package struct RouteAnswer: Hashable, Sendable {
    package let seconds: Double
    package let meters: Double
    /// Whether the time includes current traffic.
    package let knowsTraffic: Bool
    /// The line along streets, simplified; `nil` if the provider returned none.
    package let line: [Coordinate]?

    /// The maximum number of places in a provider's line, and in a simplified one. A longer provider's line is dropped.
    static let maxProviderPlaces = 20_000
    static let maxPlaces = 200
    /// Meters. To make the simplification cheap, points this close to the previous one are left out first. The distance
    /// is doubled while more than `maxThinnedPlaces` remain.
    private static let nearMeters = 5.0
    private static let maxThinnedPlaces = 1_000

    /// m/s. A faster route is invalid.
    static let fastest = 70.0
    /// Seconds. A longer route is invalid.
    static let longest = 86_400.0

    /// - Parameter line: the line along streets. If it is too short or too long, it is dropped, because the time is
    ///   useful without it.
    /// - Throws: `malformed` for impossible values: negative, too fast or too long.
    package init(
        seconds: Double, meters: Double, knowsTraffic: Bool, line: [Coordinate]? = nil
    ) throws(ProviderFailure) {
        guard (0...Self.longest).contains(seconds), meters >= 0, meters <= max(1, seconds) * Self.fastest else {
            throw .malformed("the time is impossible on this route")
        }
        (self.seconds, self.meters, self.knowsTraffic) = (seconds, meters, knowsTraffic)
        self.line = line.flatMap { Self.simplified($0) }
    }

    private init(_ answer: RouteAnswer, seconds: Double, line: [Coordinate]?) {
        (self.seconds, self.meters, self.knowsTraffic) = (seconds, answer.meters, answer.knowsTraffic)
        self.line = line
    }

    /// Meters. A provider moves the points of a query to streets. A line that begins or ends farther from them leads
    /// from or to another place.
    package static let farthestEnd = 500.0
    /// A route may be shorter than the straight line by at most these meters plus this share of the straight line, and by no
    /// more than the distance that both ends together can be moved.
    static let missing = (meters: 200.0, share: 0.05)
    /// The longest plausible time of a route: seconds of waiting, for example for a ferry, plus the time at this speed in m/s,
    /// far below walking.
    static let slowest = (waiting: 1_800.0, speed: 0.25)

    /// Returns the answer if it is a route through the places of the query.
    ///
    /// - Throws: `noRoute` if the route does not reach the destination, or takes implausibly long.
    func checked(for question: RouteQuery) throws(ProviderFailure) -> RouteAnswer {
        guard let straight = RouteLine(question.places), let destination = question.places.last else { throw .noRoute }
        let missing = min(2 * Self.farthestEnd, Self.missing.meters + straight.meters * Self.missing.share)
        let longest = Self.slowest.waiting + max(self.meters, straight.meters) / Self.slowest.speed
        guard self.meters >= straight.meters - missing, self.seconds <= longest else { throw .noRoute }
        if let end = self.line?.last, let gap = RouteLine([end, destination]), gap.meters > Self.farthestEnd {
            throw .noRoute
        }
        return self
    }

    /// The answer without its line.
    var withoutLine: RouteAnswer { RouteAnswer(self, seconds: self.seconds, line: nil) }

    /// The answer with another time, in seconds.
    package func taking(_ seconds: Double) -> RouteAnswer {
        RouteAnswer(self, seconds: min(Self.longest, max(0, seconds)), line: self.line)
    }

    /// Returns the line with at most `maxPlaces` places, or `nil` if it is unusable.
    private static func simplified(_ line: [Coordinate]) -> [Coordinate]? {
        guard line.count <= Self.maxProviderPlaces, let last = line.last else { return nil }
        var tolerance = Self.nearMeters
        var thinned = Self.thinned(line.dropLast(), near: tolerance)
        // Each round leaves out more places, until only one is left at worst.
        while thinned.count > Self.maxThinnedPlaces {
            tolerance *= 2
            thinned = Self.thinned(thinned[...], near: tolerance)
        }
        guard let route = RouteLine(thinned + [last]) else { return nil }
        var places = route.simplified(tolerance: tolerance)
        // At worst, only the two ends are left.
        while places.count > Self.maxPlaces {
            tolerance *= 2
            places = route.simplified(tolerance: tolerance)
        }
        return places
    }

    /// Returns the places that are not close to the one before.
    private static func thinned(_ line: ArraySlice<Coordinate>, near meters: Double) -> [Coordinate] {
        var places: [Coordinate] = []
        for place in line {
            if let before = places.last, let step = RouteLine([before, place]), step.meters < meters { continue }
            places.append(place)
        }
        return places
    }
}

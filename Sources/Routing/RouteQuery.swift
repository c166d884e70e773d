// A route query, its answer, and the source of the answer.

package import EnrouteWire

/// The source of an arrival time. The raw value is used in settings, messages, metric labels and Redis. A provider has
/// the same raw value in `Dependency`.
package enum ArrivalSource: String, Hashable, Sendable, CaseIterable {
    case osrm
    case azureMaps = "azure_maps"
    case mapbox
    /// The estimator of `Tracking`, used when all providers fail or none is configured.
    case builtIn = "built_in"
}

/// How somebody travels, as far as providers distinguish it.
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
    /// The start, the points to pass, and the end.
    package let places: [Coordinate]

    /// The maximum number of points in a query, including the start and the end. Every provider must accept this many.
    /// For a path with more points, no provider is queried.
    package static let maxPlaces = 10

    /// - Returns: `nil` for fewer than two places, or more than `maxPlaces`.
    package init?(places: [Coordinate], mode: TravelMode = .driving) {
        guard (2...Self.maxPlaces).contains(places.count) else { return nil }
        (self.places, self.mode) = (places, mode)
    }
}

package struct RouteAnswer: Hashable, Sendable {
    package let seconds: Double
    package let meters: Double
    /// Whether the time includes current traffic.
    package let knowsTraffic: Bool

    /// m/s. A faster route is invalid.
    static let fastest = 70.0
    /// Seconds. A longer route is invalid.
    static let longest = 86_400.0

    /// - Throws: `malformed` for impossible values: negative, too fast or too long.
    init(seconds: Double, meters: Double, knowsTraffic: Bool) throws(ProviderFailure) {
        guard (0...Self.longest).contains(seconds), meters >= 0, meters <= max(1, seconds) * Self.fastest else {
            throw .malformed("the time is impossible on this route")
        }
        (self.seconds, self.meters, self.knowsTraffic) = (seconds, meters, knowsTraffic)
    }
}

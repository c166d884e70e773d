// How long from here to there, whoever is asked: the question, the answer, and who gave it.

package import EnrouteWire

/// Who says when somebody arrives; a label of metrics.
package enum ArrivalSource: String, Hashable, Sendable, CaseIterable {
    case osrm
    case azureMaps = "azure_maps"
    case mapbox
    /// No service: `Tracking`'s own estimator, when all others fail or none is configured.
    case builtIn = "built_in"
}

/// A way by car that begins now.
package struct RouteQuery: Hashable, Sendable {
    /// Where it begins, what it passes, where it ends.
    package let places: [Coordinate]

    /// As many as every provider takes.
    package static let maxPlaces = 10

    /// - Returns: `nil` for fewer than two places, or more than `maxPlaces`.
    package init?(places: [Coordinate]) {
        guard (2...Self.maxPlaces).contains(places.count) else { return nil }
        self.places = places
    }
}

package struct RouteAnswer: Hashable, Sendable {
    package let seconds: Double
    package let meters: Double
    /// The time is with today's traffic, not with an empty road's.
    package let knowsTraffic: Bool

    /// m/s: what is faster is no way by car.
    static let fastest = 70.0
    /// s: what is longer is no way of today.
    static let longest = 86_400.0

    /// - Throws: `malformed` for what can not be: numbers below zero, too fast, too long.
    init(seconds: Double, meters: Double, knowsTraffic: Bool) throws(ProviderFailure) {
        guard (0...Self.longest).contains(seconds), meters >= 0, meters <= max(1, seconds) * Self.fastest else {
            throw .malformed("it answers with a way that no car takes in that time")
        }
        (self.seconds, self.meters, self.knowsTraffic) = (seconds, meters, knowsTraffic)
    }
}

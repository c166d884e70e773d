// Routes and places on streets, as callers see them.

package import EnrouteWire

/// A route along streets.
package struct StreetRoute: Sendable, Hashable {
    package let seconds: Double
    package let meters: Double
    /// The line from the street nearest to the first place to the one nearest to the last: at least one point.
    package let line: [Coordinate]

    package init(seconds: Double, meters: Double, line: [Coordinate]) {
        (self.seconds, self.meters, self.line) = (seconds, meters, line)
    }
}

/// A place on a street.
package struct StreetPosition: Sendable, Hashable {
    /// The number of the edge in this file.
    package let edge: UInt32
    /// Meters along the edge's line from its start.
    package let metersAlong: Double

    package init(edge: UInt32, metersAlong: Double) { (self.edge, self.metersAlong) = (edge, metersAlong) }
}

/// The point of a street that is nearest to another place.
package struct NearSegment: Sendable, Hashable {
    package let position: StreetPosition
    package let place: Coordinate
    /// Meters from the other place.
    package let meters: Double

    package init(position: StreetPosition, place: Coordinate, meters: Double) {
        (self.position, self.place, self.meters) = (position, place, meters)
    }
}

// The score of a place in a geo key of Redis: a geohash of 52 bits. One command that is in the access list can read all
// scores of a zone. A radius search would need a radius that covers the world.

internal import EnrouteWire

/// A cell of the grid into which a geo key divides the world: at most 0.6 m wide.
struct GeoCell: Sendable, Hashable {
    /// Numbers of the cell, counted from the south and from the west, 26 bits each.
    let (north, east): (UInt32, UInt32)

    private static let bits: UInt64 = 26

    /// - Parameter score: latitude in the even bits, longitude in the odd ones.
    /// - Returns: `nil` if no place has this score.
    init?(_ score: UInt64) {
        guard score >> (2 * Self.bits) == 0 else { return nil }
        (self.north, self.east) = (Self.evenBits(of: score), Self.evenBits(of: score >> 1))
    }

    /// The center of the cell; `nil` if that is not a valid coordinate.
    var center: Coordinate? {
        func degrees(_ number: UInt32, _ most: Double) -> Double {
            (Double(number) + 0.5) / Double(UInt64(1) << Self.bits) * 2 * most - most
        }
        return Coordinate(latitude: degrees(self.north, GeoIndex.maxLatitude), longitude: degrees(self.east, 180))
    }

    private static func evenBits(of score: UInt64) -> UInt32 {
        (0..<Self.bits).reduce(UInt32(0)) { $0 | UInt32((score >> (2 * $1)) & 1) << UInt32($1) }
    }
}

// Unvalidated coordinates from a phone. Distances use a flat approximation, which is cheap and accurate to 0.1 % within
// a city and its surroundings.

package import EnrouteWire

#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

/// Degrees north and east (WGS 84), not validated. The description is redacted, as for Coordinate.
package struct Point: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var latitude: Double
    package var longitude: Double

    package init(latitude: Double, longitude: Double) {
        (self.latitude, self.longitude) = (latitude, longitude)
    }

    package init(_ place: Coordinate) { self.init(latitude: place.latitude, longitude: place.longitude) }

    package var description: String { "<a place>" }
    package var debugDescription: String { self.description }
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// Meters per degree on a sphere with the mean radius of WGS 84.
    static let metersOfDegree = 6_371_008.8 * Double.pi / 180

    /// The straight-line distance in meters.
    package func meters(to other: Point) -> Double {
        let north = (other.latitude - self.latitude) * Self.metersOfDegree
        var degreesEast = other.longitude - self.longitude
        // Across the date line, use the shorter direction.
        if degreesEast > 180 { degreesEast -= 360 } else if degreesEast < -180 { degreesEast += 360 }
        let middle = (self.latitude + other.latitude) / 2 * Double.pi / 180
        let east = degreesEast * Self.metersOfDegree * cos(middle)
        return (north * north + east * east).squareRoot()
    }
}

/// One reading of a phone's sensor, as it was sent.
package struct Reading: Hashable, Sendable {
    /// ms since the epoch by the phone's clock. Comparable only with other readings of the same phone.
    package var at: Int64
    package var point: Point
    /// Accuracy: radius of 68 % confidence in m.
    package var accuracyMeters: Double?
    /// Speed over ground in m/s.
    package var speedMetersPerSecond: Double?
    /// The phone reports that an app invented the reading.
    package var isMocked: Bool

    package init(
        at: Int64, point: Point, accuracyMeters: Double? = nil, speedMetersPerSecond: Double? = nil,
        isMocked: Bool = false
    ) {
        self.at = at
        self.point = point
        self.accuracyMeters = accuracyMeters
        self.speedMetersPerSecond = speedMetersPerSecond
        self.isMocked = isMocked
    }

    package init(_ fix: Fix) {
        self.init(
            at: fix.at, point: Point(fix.place), accuracyMeters: fix.accuracyMeters,
            speedMetersPerSecond: fix.speedMetersPerSecond, isMocked: fix.isMocked)
    }

    /// Uses coordinates that are invalid for the same reason.
    package init(_ invalid: InvalidFix) {
        self.init(at: invalid.at, point: Point(latitude: invalid.fault == .zeroZero ? 0 : .infinity, longitude: 0))
    }
}

extension UInt64 {
    /// Nanoseconds.
    static func seconds(_ count: Double) -> UInt64 { UInt64(count * 1e9) }
}

// Distances and directions on a sphere, accurate enough for a trip through a city.

#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

/// Great-circle geometry (haversine, mean earth radius of WGS 84).
package enum Geodesy {
    package static let earthRadiusMeters = 6_371_008.8

    package static func meters(from a: Fix, to b: Fix) -> Double {
        let latitude = radians(b.latitude - a.latitude)
        let longitude = radians(b.longitude - a.longitude)
        let chord =
            pow(sin(latitude / 2), 2) + cos(radians(a.latitude)) * cos(radians(b.latitude)) * pow(sin(longitude / 2), 2)
        return 2 * self.earthRadiusMeters * asin(min(1, chord.squareRoot()))
    }

    /// Degrees clockwise from north, 0 up to 360.
    package static func heading(from a: Fix, to b: Fix) -> Double {
        let longitude = radians(b.longitude - a.longitude)
        let y = sin(longitude) * cos(radians(b.latitude))
        let x =
            cos(radians(a.latitude)) * sin(radians(b.latitude)) - sin(radians(a.latitude)) * cos(radians(b.latitude))
            * cos(longitude)
        let degrees = atan2(y, x) * 180 / .pi
        return degrees < 0 ? degrees + 360 : degrees
    }

    /// Degrees of latitude, and of longitude at a latitude, that correspond to one meter.
    static func degreesPerMeter(atLatitude latitude: Double) -> (latitude: Double, longitude: Double) {
        let latitudeDegrees = 180 / (.pi * self.earthRadiusMeters)
        return (latitudeDegrees, latitudeDegrees / cos(radians(latitude)))
    }

    private static func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
}

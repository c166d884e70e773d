// A plane that touches the earth at the rider's position. Within a few kilometers, its distances differ from those on the
// earth by less than 1 %. A filter needs a plane because it adds positions.

#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

/// Meters east and north of a place.
struct LocalPlane: Hashable, Sendable {
    private let center: Point
    private let metersOfDegreeEast: Double

    /// m from the center. Beyond this, use a new plane.
    static let reach = 2_000.0

    init(_ center: Point) {
        self.center = center
        let shrinking = cos(center.latitude * .pi / 180)
        // At the poles, degrees east have no length. Dividing by it must stay finite.
        self.metersOfDegreeEast = Point.metersOfDegree * max(shrinking, 1e-4)
    }

    func reaches(_ offset: SIMD2<Double>) -> Bool { (offset * offset).sum() <= Self.reach * Self.reach }

    func offset(of point: Point) -> SIMD2<Double> {
        var east = point.longitude - self.center.longitude
        // Across the date line, use the shorter direction.
        if east > 180 { east -= 360 } else if east < -180 { east += 360 }
        return SIMD2(
            east * self.metersOfDegreeEast, (point.latitude - self.center.latitude) * Point.metersOfDegree)
    }

    func point(at offset: SIMD2<Double>) -> Point {
        var longitude = self.center.longitude + offset.x / self.metersOfDegreeEast
        if longitude > 180 { longitude -= 360 } else if longitude < -180 { longitude += 360 }
        let latitude = self.center.latitude + offset.y / Point.metersOfDegree
        return Point(latitude: min(90, max(-90, latitude)), longitude: min(180, max(-180, longitude)))
    }

    /// Clockwise from north in degrees, 0 to 360.
    static func heading(of velocity: SIMD2<Double>) -> Double {
        let degrees = atan2(velocity.x, velocity.y) * 180 / .pi
        return degrees < 0 ? degrees + 360 : degrees
    }

    static func direction(_ heading: Double) -> SIMD2<Double> {
        SIMD2(sin(heading * .pi / 180), cos(heading * .pi / 180))
    }
}

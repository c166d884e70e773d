// A place on the earth. Where somebody is must never reach a log, so the type itself does not say it.

/// A WGS 84 position in degrees. Its description is redacted; read `latitude` and `longitude` where they are meant.
public struct Coordinate: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Degrees north, -90 to 90.
    public let latitude: Double
    /// Degrees east, -180 to 180.
    public let longitude: Double

    /// What is written as 0 (half of the seventh decimal of a degree, 6 mm) counts as 0.
    private static let smallest = 5e-8

    /// - Returns: `nil` outside the ranges, for what is not finite, and for (0, 0), which is what broken receivers report.
    public init?(latitude: Double, longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude),
            max(abs(latitude), abs(longitude)) >= Self.smallest
        else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }

    public var description: String { "<a place>" }
    public var debugDescription: String { self.description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

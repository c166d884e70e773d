// A position on the earth. Positions of people must never appear in logs, so the type redacts its own description.

/// A WGS 84 position in degrees. Its description is redacted; use `latitude` and `longitude`.
public struct Coordinate: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Degrees north, -90 to 90.
    public let latitude: Double
    /// Degrees east, -180 to 180.
    public let longitude: Double

    /// Values below half of the seventh decimal of a degree (6 mm) are written as 0 and count as 0.
    private static let smallest = 5e-8

    /// - Returns: `nil` outside of the ranges, for values that are not finite, and for (0, 0), which broken receivers
    ///   report.
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

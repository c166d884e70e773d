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

extension Coordinate {
    init?(from reader: inout JSONReader) throws(BadMessage) {
        var (latitude, longitude) = (Double?.none, Double?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("lat") {
                latitude = try reader.double()
            } else if name.equals("lon") {
                longitude = try reader.double()
            } else {
                try reader.value()
            }
        }
        guard let latitude, let longitude else { throw BadMessage("a position needs lat and lon") }
        self.init(latitude: latitude, longitude: longitude)
    }

    /// Parses coordinates: `{"lat": …, "lon": …}`.
    public init(json: UnsafeRawBufferPointer) throws(BadMessage) {
        var reader = JSONReader(json)
        guard let place = try Coordinate(from: &reader) else {
            throw BadMessage("lat must be -90 to 90 and lon -180 to 180 degrees, and not both 0")
        }
        self = place
    }

    /// `{"lat": …, "lon": …}`
    public var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("lat", self.latitude, decimals: 7)
            writer.field("lon", self.longitude, decimals: 7)
        }
        return writer.bytes
    }
}

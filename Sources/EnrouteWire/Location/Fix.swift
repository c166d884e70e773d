// A fix, the reading of a phone's receiver, and its members in location messages.

/// A fix: one reading of a phone's receiver, before validation.
public struct Fix: Hashable, Sendable {
    /// When the sensor took the reading, ms since the epoch, by the phone's clock.
    public var at: Int64
    public var place: Coordinate
    /// Accuracy: radius of 68 % confidence in m, 0 to 10,000.
    public var accuracyMeters: Double?
    /// Speed over ground in m/s, 0 to 340.
    public var speedMetersPerSecond: Double?
    /// Heading clockwise from north in degrees, 0 to 360.
    public var headingDegrees: Double?
    /// The phone says that an app invented the reading (Android's `isMock`, iOS's `isSimulatedBySoftware`).
    public var isMocked: Bool
    /// For a published location: whether the gateway moved the place to a street. Ignored in reports.
    public var isSnapped: Bool

    public init(
        at: Int64, place: Coordinate, accuracyMeters: Double? = nil, speedMetersPerSecond: Double? = nil,
        headingDegrees: Double? = nil, isMocked: Bool = false, isSnapped: Bool = false
    ) {
        self.at = at
        self.place = place
        self.accuracyMeters = accuracyMeters
        self.speedMetersPerSecond = speedMetersPerSecond
        self.headingDegrees = headingDegrees
        (self.isMocked, self.isSnapped) = (isMocked, isSnapped)
    }

    /// The valid times: those with 13 digits, September 2001 to November 2286. They make the time of a stored position
    /// readable at a fixed offset.
    public static let times: Range<Int64> = 1_000_000_000_000..<10_000_000_000_000
    static let accuracies = 0.0...10_000
    static let speeds = 0.0...340
    static let headings = 0.0...360
}

extension Fix {
    init(from reader: inout JSONReader) throws(BadMessage) {
        guard case .fix(let fix) = try DecodedFix(from: &reader) else {
            throw BadMessage("lat must be -90 to 90 and lon -180 to 180 degrees, and not both 0")
        }
        self = fix
    }

    /// The seventh decimal of a degree is 11 mm.
    func write(into writer: inout JSONWriter) {
        writer.field("lat", self.place.latitude, decimals: 7)
        writer.field("lon", self.place.longitude, decimals: 7)
        writer.field("acc", self.accuracyMeters, decimals: 1)
        writer.field("spd", self.speedMetersPerSecond, decimals: 2)
        writer.field("hdg", self.headingDegrees, decimals: 1)
        if self.isMocked { writer.field("mock", true) }
        if self.isSnapped { writer.field("snapped", true) }
    }
}

// The route ahead of a rider, as followers receive it with the arrival time: a line along streets, the part of it that
// remains, and who may see it.

/// The contents of the member `route` of an arrival time. Its description is redacted, because it contains places.
public struct RemainingRoute: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// From the rider's position to the destination, as Google's encoded polyline with 5 decimals.
    public let polyline: String
    /// The length of the line in meters.
    public let meters: Int64
    /// Seconds to travel along the line, without time at stops.
    public let seconds: Int64

    /// The maximum length of a polyline in bytes, and the maximum number of places.
    public static let longestPolyline = 1_500
    public static let maxPlaces = 200
    /// The valid lengths in m: up to the circumference of the earth.
    private static let lengths: ClosedRange<Int64> = 0...40_075_017
    /// A rider who is farther from the line than this, in m, has left it.
    package static let leftMeters = 80.0
    /// Meters by which the line may differ from the streets. It is doubled while the line is too long, at most this often.
    private static let tolerance = 5.0
    private static let maxDoublings = 12

    public var description: String { "<a route>" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// - Returns: `nil` for a polyline that is malformed or too long, and for numbers out of range.
    public init?(polyline: String, meters: Int64, seconds: Int64) {
        guard polyline.utf8.count <= Self.longestPolyline, Self.lengths.contains(meters),
            ArrivalEstimate.waits.contains(seconds),
            let places = EncodedPolyline.line(polyline, most: Self.maxPlaces), places.count > 1
        else { return nil }
        (self.polyline, self.meters, self.seconds) = (polyline, meters, seconds)
    }

    /// Encodes a line. Places are left out until it is within the limits.
    ///
    /// - Returns: `nil` for seconds that are out of range.
    package init?(_ line: RouteLine, seconds: Double) {
        guard (0...Double(ArrivalEstimate.waits.upperBound)).contains(seconds),
            (0...Double(Self.lengths.upperBound)).contains(line.meters)
        else { return nil }
        var tolerance = Self.tolerance
        for _ in 0...Self.maxDoublings {
            let places = line.simplified(tolerance: tolerance)
            if places.count <= Self.maxPlaces {
                let polyline = EncodedPolyline.text(places)
                if polyline.utf8.count <= Self.longestPolyline {
                    self.init(
                        polyline: polyline, meters: Int64(line.meters.rounded()), seconds: Int64(seconds.rounded()))
                    return
                }
            }
            tolerance *= 2
        }
        return nil
    }

    /// The line, decoded.
    package var line: RouteLine? {
        EncodedPolyline.line(self.polyline, most: Self.maxPlaces).flatMap { RouteLine($0) }
    }

    /// Returns the part that is still ahead.
    ///
    /// - Parameters:
    ///   - near: about where the rider should be, in meters from the start of the line. It decides which part counts if the
    ///     line passes a place twice.
    /// - Returns: `nil` if the rider has left the line.
    package func ahead(of place: Coordinate, near: Double = 0) -> RemainingRoute? {
        guard let line = self.line else { return nil }
        let spot = line.nearest(to: place, near: near)
        guard spot.away <= Self.leftMeters, let rest = RouteLine(line.places(from: spot)) else { return nil }
        let share = line.meters > 0 ? rest.meters / line.meters : 0
        return RemainingRoute(rest, seconds: Double(self.seconds) * min(1, share))
    }

    /// About how many meters of the route a rider has covered after some seconds, at the route's average speed.
    package func meters(after seconds: Double) -> Double {
        guard self.seconds > 0 else { return 0 }
        return Double(self.meters) * min(1, max(0, seconds / Double(self.seconds)))
    }
}

extension ArrivalEstimate {
    /// The estimate as customers may see it: without the route to the customers before them.
    package var forCustomers: ArrivalEstimate {
        guard self.route != nil, self.stopsBefore ?? 0 > 0 else { return self }
        var estimate = self
        estimate.route = nil
        return estimate
    }

    /// The estimate with only the part of the route that is ahead of the rider, or without a route if the rider has
    /// left it or `place` is `nil`.
    ///
    /// - Parameter time: when the rider was there, ms since the epoch.
    package func ahead(of place: Coordinate?, at time: Int64) -> ArrivalEstimate {
        guard let route = self.route else { return self }
        var estimate = self
        let near = route.meters(after: Double(time) / 1000 - Double(self.at) / 1000)
        estimate.route = place.flatMap { route.ahead(of: $0, near: near) }
        return estimate
    }
}

extension RemainingRoute {
    func write(into writer: inout JSONWriter) {
        writer.field("polyline", self.polyline)
        writer.field("meters", self.meters)
        writer.field("seconds", self.seconds)
    }

    init(from reader: inout JSONReader) throws(BadMessage) {
        let members = Members("route")
        var (polyline, meters, seconds) = (String?.none, Int64?.none, Int64?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("polyline") {
                polyline = try reader.string()
            } else if name.equals("meters") {
                meters = try reader.integer()
            } else if name.equals("seconds") {
                seconds = try reader.integer()
            } else {
                try reader.value()
            }
        }
        guard
            let route = RemainingRoute(
                polyline: try members.required(polyline, "polyline"), meters: try members.required(meters, "meters"),
                seconds: try members.required(seconds, "seconds"))
        else {
            throw BadMessage(
                "route needs an encoded polyline of 2 to \(Self.maxPlaces) places in at most \(Self.longestPolyline) "
                    + "bytes, meters, and seconds")
        }
        self = route
    }
}

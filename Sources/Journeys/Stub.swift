package struct Fix: Sendable, Equatable {
    package var at: Int64, latitude: Double, longitude: Double
    package var accuracyMeters: Double?, speedMetersPerSecond: Double?, headingDegrees: Double?
}
package struct Journey: Sendable {
    package let name: String
    package let fixes: [Fix]
    package var duration: Duration { .seconds(1) }
    package var lengthMeters: Double { 1 }
    package static func load(path: String, trip: String? = nil) throws(JourneyError) -> Journey { throw JourneyError.a }
}
package enum JourneyError: Error { case a }
package struct StreetGrid: Sendable {
    package static func generate(seed: UInt64) -> StreetGrid { StreetGrid() }
    package func trip(seed: UInt64, startingAt: Int64) -> Journey {
        Journey(name: "x", fixes: (0..<600).map { Fix(at: startingAt + Int64($0) * 1000, latitude: 41.9 + Double($0) * 0.00005, longitude: 12.5) })
    }
    package var geoJSON: String { #"{"type":"FeatureCollection","features":[]}"# }
}
package enum Streets { package static func load(path: String) throws(JourneyError) -> [UInt8] { [] } }

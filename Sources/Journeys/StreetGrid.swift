// Streets and a trip, made up: what a fresh clone has instead of recordings. The same seed gives the same town.

/// A place in degrees, WGS 84.
package struct Place: Sendable, Hashable {
    package var latitude: Double
    package var longitude: Double
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, good enough, and the same everywhere.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { self.state = seed }

    package mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// Blocks of uneven size: streets cross at corners, which are all there is to know.
package struct StreetGrid: Sendable {
    /// Corners by row (from the south) and column (from the west).
    let corners: [[Place]]

    /// Metres between two streets, about.
    private static let blockMeters: ClosedRange<Double> = 90...210

    /// - Parameters:
    ///   - rows, columns: streets from west to east, and from south to north; at least 2.
    package static func generate(
        seed: UInt64, around centre: Place = Place(latitude: 41.9028, longitude: 12.4964), rows: Int = 14,
        columns: Int = 14
    ) -> StreetGrid {
        var random = SeededGenerator(seed: seed)
        let scale = Geodesy.degreesPerMeter(atLatitude: centre.latitude)
        func cuts(_ count: Int) -> [Double] {
            var at = [0.0]
            for _ in 1..<max(2, count) { at.append(at[at.count - 1] + .random(in: Self.blockMeters, using: &random)) }
            let middle = at[at.count - 1] / 2
            return at.map { $0 - middle }
        }
        let (north, east) = (cuts(rows), cuts(columns))
        // Streets are not quite straight.
        return StreetGrid(
            corners: north.map { north in
                east.map { east in
                    Place(
                        latitude: centre.latitude + (north + .random(in: -12...12, using: &random)) * scale.latitude,
                        longitude: centre.longitude + (east + .random(in: -12...12, using: &random)) * scale.longitude)
                }
            })
    }

    /// Every street as its corners in order.
    package var streets: [[Place]] {
        self.corners + (self.corners.first?.indices.map { column in self.corners.map { $0[column] } } ?? [])
    }

    /// RFC 7946: a FeatureCollection of LineStrings, longitude first.
    package var geoJSON: String {
        let features = self.streets.map { street in
            let line = street.map { "[\($0.longitude),\($0.latitude)]" }.joined(separator: ",")
            return #"{"type":"Feature","properties":{},"geometry":{"type":"LineString","coordinates":[\#(line)]}}"#
        }
        return #"{"type":"FeatureCollection","features":[\#(features.joined(separator: ","))]}"#
    }
}

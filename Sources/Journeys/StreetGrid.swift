// Generated streets and a generated trip, for a fresh clone without recordings. The same seed gives the same town.

/// A place in degrees, WGS 84.
package struct Place: Sendable, Hashable {
    package var latitude: Double
    package var longitude: Double

    package init(latitude: Double, longitude: Double) { (self.latitude, self.longitude) = (latitude, longitude) }
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, sufficient, and identical on every platform.
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

/// A street grid with blocks of uneven size, described by its corners.
package struct StreetGrid: Sendable {
    /// Corners by row (from the south) and column (from the west).
    let corners: [[Place]]

    /// Distance between two streets in meters.
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
        // Offsets make the streets slightly crooked.
        return StreetGrid(
            corners: north.map { north in
                east.map { east in
                    Place(
                        latitude: centre.latitude + (north + .random(in: -12...12, using: &random)) * scale.latitude,
                        longitude: centre.longitude + (east + .random(in: -12...12, using: &random)) * scale.longitude)
                }
            })
    }

    /// Every street as a list of its corners in order.
    package var streets: [[Place]] {
        self.corners + (self.corners.first?.indices.map { column in self.corners.map { $0[column] } } ?? [])
    }

    /// A corner, by the number of its row from the south and of its column from the west.
    package struct Corner: Sendable, Hashable {
        package var row: Int
        package var column: Int

        package init(row: Int, column: Int) { (self.row, self.column) = (row, column) }

        /// The number of blocks between two corners.
        package func blocks(to other: Corner) -> Int { abs(self.row - other.row) + abs(self.column - other.column) }
    }

    /// Every corner, row by row.
    package var allCorners: [Corner] {
        self.corners.indices.flatMap { row in self.corners[row].indices.map { Corner(row: row, column: $0) } }
    }

    package subscript(corner: Corner) -> Place { self.corners[corner.row][corner.column] }
}

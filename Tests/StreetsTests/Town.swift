// Towns for the tests: GeoJSON text, compiled into a file in a temporary folder.

import EnrouteWire
import Foundation

@testable import Streets

/// A folder that is removed at the end.
final class TemporaryPlace: Sendable {
    let path: String

    init() throws {
        self.path = NSTemporaryDirectory() + "streets-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    func file(_ name: String) -> String { self.path + "/" + name }

    func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: self.file(name)))
        return self.file(name)
    }
}

/// SplitMix64, so that every run generates the same towns.
struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// A street: places as (latitude, longitude), and tags.
struct TestStreet {
    var places: [(Double, Double)]
    var tags: [String: String] = ["highway": "residential"]
}

enum Town {
    static func geoJSON(_ streets: [TestStreet], attribution: String = "© the town") throws -> Data {
        let features = streets.map { street -> [String: Any] in
            [
                "type": "Feature", "properties": street.tags,
                "geometry": ["type": "LineString", "coordinates": street.places.map { [$0.1, $0.0] }] as [String: Any],
            ]
        }
        return try JSONSerialization.data(withJSONObject: [
            "type": "FeatureCollection", "attribution": attribution, "features": features,
        ])
    }

    /// Compiles and opens streets.
    static func network(_ streets: [TestStreet], in place: TemporaryPlace, _ name: String = "town") throws
        -> StreetNetwork
    {
        let input = try place.write("\(name).geojson", try self.geoJSON(streets))
        _ = try StreetCompiler.compile(inputs: [input], output: place.file("\(name).streets"))
        return try StreetNetwork(path: place.file("\(name).streets"))
    }

    /// A grid of crooked streets, some of them one-way, some missing, of different classes.
    static func random(seed: UInt64, rows: Int = 12, columns: Int = 12) -> [TestStreet] {
        var random = Seeded(state: seed)
        func corner(_ row: Int, _ column: Int) -> (Double, Double) {
            var offsets = Seeded(state: seed &* 31 &+ UInt64(row * 1_000 + column))
            return (
                41.9 + Double(row) * 0.0012 + .random(in: -0.0004...0.0004, using: &offsets),
                12.5 + Double(column) * 0.0016 + .random(in: -0.0004...0.0004, using: &offsets)
            )
        }
        let classes = ["residential", "tertiary", "primary", "service", "footway", "cycleway", "trunk"]
        var streets: [TestStreet] = []
        for row in 0..<rows {
            for column in 0..<columns {
                for (nextRow, nextColumn) in [(row + 1, column), (row, column + 1)]
                where nextRow < rows && nextColumn < columns && Int.random(in: 0..<10, using: &random) > 0 {
                    var tags = ["highway": classes.randomElement(using: &random) ?? "residential"]
                    if Int.random(in: 0..<4, using: &random) == 0 { tags["oneway"] = "yes" }
                    if Int.random(in: 0..<3, using: &random) == 0 {
                        tags["maxspeed"] = ["20", "50", "80"].randomElement(using: &random)
                    }
                    if Int.random(in: 0..<12, using: &random) == 0 { tags["motor_vehicle"] = "destination" }
                    let (a, b) = (corner(row, column), corner(nextRow, nextColumn))
                    let middle = ((a.0 + b.0) / 2 + 0.0001, (a.1 + b.1) / 2 - 0.0001)
                    streets.append(TestStreet(places: [a, middle, b], tags: tags))
                }
            }
        }
        return streets
    }
}

func place(_ latitude: Double, _ longitude: Double) throws -> Coordinate {
    guard let place = Coordinate(latitude: latitude, longitude: longitude) else { throw InvalidPlace() }
    return place
}

struct InvalidPlace: Error {}

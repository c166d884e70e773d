import Foundation
import Testing

@testable import Journeys

@Suite struct StreetGridTests {
    @Test(arguments: 0..<10)
    func `a generated trip stays on the streets, within city speeds, and arrives`(seed: UInt64) {
        let grid = StreetGrid.generate(seed: seed)
        let trip = grid.trip(seed: seed, startingAt: 1_795_000_000_000)
        #expect(trip.duration > .seconds(240) && trip.duration < .seconds(1200))
        for (a, b) in zip(trip.fixes, trip.fixes.dropFirst()) {
            #expect(b.at == a.at + 1000)
            #expect(Geodesy.meters(from: a, to: b) < 12.5)
        }
        let segments = grid.streets.flatMap { zip($0, $0.dropFirst()).map { ($0, $1) } }
        for fix in trip.fixes {
            // The fix is on a segment if the detour over it is no longer than the segment.
            let isOnStreet = segments.contains { from, to in
                let (a, b) = (Self.fix(from), Self.fix(to))
                return Geodesy.meters(from: a, to: fix) + Geodesy.meters(from: fix, to: b)
                    - Geodesy.meters(from: a, to: b) < 0.01
            }
            #expect(isOnStreet)
        }
        let end = grid.streets[13][13]
        #expect((trip.fixes.last?.latitude, trip.fixes.last?.longitude) == (end.latitude, end.longitude))
        #expect(trip.fixes.contains { $0.speedMetersPerSecond == 0 })
    }

    private static func fix(_ place: Place) -> Fix { Fix(at: 0, latitude: place.latitude, longitude: place.longitude) }

    @Test func `the same seed generates the same town and trip, and another seed another`() {
        func trip(_ seed: UInt64) -> [Fix] { StreetGrid.generate(seed: seed).trip(seed: seed, startingAt: 0).fixes }
        #expect(trip(1) == trip(1))
        #expect(trip(1) != trip(2))
    }

    @Test func `the streets are GeoJSON that the street reader accepts`() throws {
        let text = StreetGrid.generate(seed: 1).geoJSON
        let bytes = try withFile("a.geojson", Data(text.utf8)) { try Streets.load(path: $0) }
        #expect(String(decoding: bytes, as: UTF8.self).components(separatedBy: "LineString").count == 29)
    }

    private struct Map: Decodable {
        struct Feature: Decodable {
            struct Properties: Decodable { var `class`: String, name: String? }
            struct Geometry: Decodable { var type: String }
            var properties: Properties
            var geometry: Geometry
        }
        var features: [Feature]
        var attribution: String?
    }

    private static func map(_ text: String) throws -> Map {
        let bytes = try withFile("a.geojson", Data(text.utf8)) { try Streets.load(path: $0) }
        return try JSONDecoder().decode(Map.self, from: Data(bytes))
    }

    @Test func `a generated town has streets of several classes with names, and areas between them`() throws {
        let map = try Self.map(StreetGrid.generate(seed: 1).geoJSON)
        let streets = map.features.filter { $0.geometry.type == "LineString" }
        #expect(streets.count == 28 && streets.allSatisfy { $0.properties.name != nil })
        #expect(Set(streets.map(\.properties.class)) == ["major", "medium", "minor"])
        let areas = Set(map.features.filter { $0.geometry.type == "Polygon" }.map(\.properties.class))
        #expect(areas == ["water", "park", "building"])
        #expect(StreetGrid.generate(seed: 1).geoJSON == StreetGrid.generate(seed: 1).geoJSON)
    }

    @Test func `streets keep their class and name, areas their class, and everything else is left out`() throws {
        func feature(_ properties: String, _ type: String, _ coordinates: String) -> String {
            #"{"type":"Feature","properties":\#(properties),"geometry":{"type":"\#(type)","coordinates":\#(coordinates)}}"#
        }
        let line = "[[12.5,41.9],[12.51,41.9]]"
        let ring = "[[12.5,41.9],[12.51,41.9],[12.5,41.91]]"
        let long = String(repeating: "n", count: Streets.longestName + 1)
        let features = [
            feature(#"{"highway":"primary","name":" Via Appia ","lanes":2,"osm":{"id":1}}"#, "LineString", line),
            feature(#"{"kind":"street","name":"\#(long)"}"#, "MultiLineString", "[\(line)]"),
            feature("null", "LineString", line), feature(#"{"railway":"tram"}"#, "LineString", line),
            feature(#"{"natural":"water"}"#, "MultiPolygon", "[[\(ring)],[\(ring)]]"),
            feature(#"{"building":"yes","name":"Home"}"#, "Polygon", "[\(ring)]"),
            feature(#"{"building":"no","landuse":"grass"}"#, "Polygon", "[\(ring)]"),
            feature(#"{"landuse":"residential"}"#, "Polygon", "[\(ring)]"),
            feature("{}", "Point", "[12.5,41.9]"), #"{"type":"Feature","properties":{},"geometry":null}"#,
        ]
        let map = try Self.map(
            #"{"type":"FeatureCollection","attribution":"me","features":[\#(features.joined(separator: ","))]}"#)
        #expect(
            map.features.map(\.properties.class)
                == ["major", "minor", "minor", "rail", "water", "building", "park"])
        #expect(map.features.map(\.properties.name) == ["Via Appia", nil, nil, nil, nil, "Home", nil])
        #expect(map.features[4].geometry.type == "Polygon" && map.attribution == "me")
    }

    @Test(arguments: [
        #"{"type":"FeatureCollection","features":[{"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0]]]}}]}"#,
        "", "{}", #"{"type":"FeatureCollection","features":[]}"#,
        #"{"type":"FeatureCollection","features":[{"geometry":{"type":"LineString","coordinates":[[500,0],[1,1]]}}]}"#,
    ])
    func `a file that is not a street map is refused`(text: String) {
        #expect(throws: JourneyError.self) {
            try withFile("a.geojson", Data(text.utf8)) { try Streets.load(path: $0) }
        }
    }

    @Test func `distances and headings match those on the globe`() {
        let rome = Fix(at: 0, latitude: 41.9028, longitude: 12.4964)
        let milan = Fix(at: 0, latitude: 45.4642, longitude: 9.1900)
        #expect(abs(Geodesy.meters(from: rome, to: milan) - 477_000) < 1000)
        #expect(abs(Geodesy.heading(from: rome, to: Fix(at: 0, latitude: 42, longitude: 12.4964))) < 0.01)
        #expect(abs(Geodesy.heading(from: rome, to: Fix(at: 0, latitude: 41.9028, longitude: 12.5)) - 90) < 0.01)
    }
}

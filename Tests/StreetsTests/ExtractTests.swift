import EnrouteWire
import Foundation
import Testing

@testable import Streets

/// OpenStreetMap extracts: what is read from them, and how malformed ones are reported.
@Suite struct ExtractTests {
    private let folder: TemporaryPlace

    init() throws { self.folder = try TemporaryPlace() }

    private func compile(_ bytes: [UInt8]) throws(StreetInputError) -> StreetNetwork? {
        guard let input = try? self.folder.write("a.osm.pbf", bytes) else { return nil }
        let output = self.folder.file("a.streets")
        _ = try StreetCompiler.compile(inputs: [input], output: output)
        return try? StreetNetwork(path: output)
    }

    @Test(arguments: PBFWriter.Packing.allCases, [true, false])
    func `an extract becomes streets that meet at common nodes`(packing: PBFWriter.Packing, isDense: Bool) throws {
        var writer = PBFWriter.crossing
        (writer.packing, writer.isDense) = (packing, isDense)
        let network = try #require(try self.compile(writer.bytes))
        // Four arms: the building is not a street, and node 11 is only a bend.
        #expect(network.nodeCount == 5 && network.graph.edges.count == 4 && network.graph.shapes.count == 1)
        #expect(network.attribution.contains("OpenStreetMap"))
        let names = Set(network.graph.edges.indices.compactMap { network.graph.name(of: $0) })
        #expect(names == ["Hauptstraße", "Gasse"])
        let route = try #require(
            network.route(through: [try place(48.200, 16.300), try place(48.204, 16.300)], by: .car))
        #expect(abs(route.meters - 536) < 10)
        #expect(route.line.count == 4)
        // 15 s at the lights in the middle are included in about 50 s.
        #expect(route.seconds > 40 && route.seconds < 90)
        // The lights are at the ends of all four arms.
        let lights = StreetRule.lights(atStart: true) | StreetRule.lights(atStart: false)
        #expect(network.graph.edges.allSatisfy { $0.rule & lights != 0 })
    }

    @Test(arguments: [true, false]) func `a table that contains texts twice is read like any other`(isDense: Bool)
        throws
    {
        var writer = PBFWriter.crossing
        writer.isDense = isDense
        // From the south-west to the south-east, over the crossing.
        writer.ways[0].nodes = [10, 11, 12]
        writer.ways[1].nodes = [20, 12]
        writer.ways.append(.init(id: 4, tags: [("highway", "residential")], nodes: [12, 21]))
        writer.relations = [.restriction(1, "no_right_turn", from: 1, via: 12, to: 4)]
        writer.nodes[1].tags = [("barrier", "bollard")]
        let once = try #require(try self.compile(writer.bytes))
        writer.repeatsTexts = true
        let twice = try #require(try self.compile(writer.bytes))
        #expect(twice.graph.edges.elementsEqual(once.graph.edges))
        #expect(!once.graph.copies.isEmpty && twice.graph.copies.elementsEqual(once.graph.copies))
        #expect(twice.map() == once.map())
    }

    @Test func `streets at the 180th meridian are reported, and so are segments that are too long`() throws {
        func lines(_ streets: [TestStreet]) throws -> [String] {
            let input = try self.folder.write("fiji.geojson", try Town.geoJSON(streets))
            var lines: [String] = []
            _ = try StreetCompiler.compile(inputs: [input], output: self.folder.file("fiji.streets")) {
                lines.append($0)
            }
            return lines.filter { $0.hasPrefix("warning") }
        }
        let road = TestStreet(places: [(-16.8, 179.9), (-16.8, 179.99)])
        #expect(try lines([road]) == [])
        #expect(
            try lines([
                TestStreet(places: [(-16.8, 179.9), (-16.8, 179.99), (-16.8, -179.99), (-16.8, -179.9)]),
                TestStreet(places: [(-16.9, 179.9), (-16.9, 180)]),
                TestStreet(places: [(-16.9, -180), (-16.9, -179.9)]),
            ]) == [
                "warning: no route crosses longitude 180. Segments across it that were omitted: 1; streets that end at it: 2"
            ])
        #expect(
            try lines([road, TestStreet(places: [(-16.8, 177), (-16.8, 179)])]) == [
                "warning: segments longer than 100 km that were omitted, because no street is that straight: 1"
            ])
    }

    @Test func `positions that are not in degrees are reported`() throws {
        let input = try self.folder.write(
            "projected.geojson",
            try Town.geoJSON([
                TestStreet(places: [(48.1, 16.3), (48.2, 16.3)]),
                TestStreet(places: [(6_141_000, 1_821_000), (48.3, 16.3)]),
            ]))
        var lines: [String] = []
        _ = try StreetCompiler.compile(inputs: [input], output: self.folder.file("x.streets")) { lines.append($0) }
        #expect(
            lines.filter { $0.hasPrefix("warning") } == [
                "warning: \(input): positions that were ignored, because they are not longitude and latitude in degrees "
                    + "(WGS 84): 1. Convert projected coordinates first"
            ])
    }

    @Test func `a way ends before a segment that is too long, and starts again after it`() throws {
        let fiji = TestStreet(places: [(-16.8, 179.9), (-16.8, 179.99), (-16.8, -179.99), (-16.8, -179.9)])
        let network = try Town.network([fiji], in: self.folder)
        #expect(network.graph.edges.count == 2)
        for ends in [(179.9, 179.99), (-179.99, -179.9)] {
            let route = network.route(through: [try place(-16.8, ends.0), try place(-16.8, ends.1)], by: .car)
            #expect(abs(try #require(route).meters - 9_580) < 20)
        }
    }

    @Test func `coordinates follow the granularity of the file`() throws {
        var writer = PBFWriter.crossing
        writer.granularity = 1000
        let network = try #require(try self.compile(writer.bytes))
        let near = network.segments(near: try place(48.2, 16.3), within: 5, atMost: 1, for: nil)
        #expect(try #require(near.first).meters < 0.2)
    }

    @Test func `a way that leaves the extract ends at its last node in it`() throws {
        var writer = PBFWriter.crossing
        writer.ways[0].nodes = [10, 11, 12, 13, 77, 78]
        let network = try #require(try self.compile(writer.bytes))
        #expect(network.graph.edges.count == 3 || network.graph.edges.count == 4)
        #expect(network.graph.nodes.allSatisfy { $0.isValid })
    }

    @Test func `an extract without the nodes of its streets is reported, also beside a GeoJSON file`() throws {
        var writer = PBFWriter.crossing
        writer.nodes.removeAll { $0.id != 99 }
        let bare = try self.folder.write("bare.osm.pbf", writer.bytes)
        let town = try self.folder.write("t.geojson", try Town.geoJSON([TestStreet(places: [(48, 16), (48, 16.01)])]))
        for inputs in [[bare], [town, bare]] {
            #expect {
                _ = try StreetCompiler.compile(inputs: inputs, output: self.folder.file("bare.streets"))
            } throws: { "\($0)".hasPrefix("\(bare): the streets have no coordinates, because their nodes are missing") }
        }
        // The nodes may be in another extract.
        let whole = try self.folder.write("whole.osm.pbf", PBFWriter.crossing.bytes)
        let output = self.folder.file("bare.streets")
        #expect(try StreetCompiler.compile(inputs: [bare, whole], output: output).edges == 8)
    }

    @Test func `extracts that overlap are joined, and common ways are added once`() throws {
        let first = try self.folder.write("1.osm.pbf", PBFWriter.crossing.bytes)
        var other = PBFWriter.crossing
        other.nodes.append(.init(id: 30, latitude: 48.206, longitude: 16.306))
        other.ways.append(.init(id: 4, tags: [("highway", "residential")], nodes: [13, 30]))
        let second = try self.folder.write("2.osm.pbf", other.bytes)
        let summary = try StreetCompiler.compile(inputs: [first, second], output: self.folder.file("both.streets"))
        #expect(summary.edges == 10)
    }

    @Test func `every beginning of an extract is an error or fewer streets, and never a crash`() throws {
        for packing in PBFWriter.Packing.allCases {
            var writer = PBFWriter.crossing
            writer.packing = packing
            let bytes = writer.bytes
            for count in 0..<bytes.count {
                do throws(StreetInputError) {
                    _ = try self.compile(Array(bytes[..<count]))
                    Issue.record("\(count) of \(bytes.count) bytes were compiled")
                } catch {
                    switch error {
                    case .malformed, .unknownFormat, .noStreets: break
                    default: Issue.record("\(error)")
                    }
                }
            }
        }
    }

    @Test func `changed bytes are an error or other streets, and never a crash`() throws {
        var (random, compiled) = (Seeded(state: 5), 0)
        for packing in PBFWriter.Packing.allCases {
            var writer = PBFWriter.crossing
            writer.packing = packing
            let bytes = writer.bytes
            for _ in 0..<600 {
                var changed = bytes
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    changed[Int.random(in: 0..<changed.count, using: &random)] = .random(in: 0...255, using: &random)
                }
                if let network = try? self.compile(changed) {
                    compiled += 1
                    _ = network.route(through: [try place(48.2, 16.3), try place(48.204, 16.3)], by: .car)
                }
            }
        }
        // Otherwise, only the checks of the format would have been tested.
        #expect(compiled > 0)
    }

    @Test func `an extract with unknown features or compression is reported`() throws {
        var writer = PBFWriter.crossing
        writer.features.append("HistoricalInformation")
        #expect {
            _ = try self.compile(writer.bytes)
        } throws: { "\($0)".contains("uses \"HistoricalInformation\", which Enroute does not read") }
        let zstd = writer.blob("OSMHeader", []) + Self.blob(field: 7)
        #expect {
            _ = try self.compile(zstd)
        } throws: { "\($0)".contains("compression zstd") }
    }

    private static func blob(field: UInt64) -> [UInt8] {
        let data = PBFWriter.field(field, [1, 2, 3])
        let header = PBFWriter.field(1, Array("OSMData".utf8)) + PBFWriter.field(3, UInt64(data.count))
        return withUnsafeBytes(of: UInt32(header.count).bigEndian, Array.init) + header + data
    }

    @Test func `sizes above the bounds of the format are refused before anything is allocated`() throws {
        let start = PBFWriter.crossing.blob("OSMHeader", [])
        let large = PBFWriter.field(1, Array("OSMData".utf8)) + PBFWriter.field(3, 33 << 20)
        let header = withUnsafeBytes(of: UInt32(large.count).bigEndian, Array.init) + large
        #expect {
            _ = try self.compile(start + header)
        } throws: { "\($0)".contains("a block has 34603008 bytes") }
        #expect {
            _ = try self.compile(start + [0, 2, 0, 0] + [UInt8](repeating: 0, count: 100))
        } throws: { "\($0)".contains("a header has 131072 bytes") }
        let blob = PBFWriter.field(2, 1 << 40) + PBFWriter.field(3, [1, 2, 3])
        let named = PBFWriter.field(1, Array("OSMData".utf8)) + PBFWriter.field(3, UInt64(blob.count))
        #expect {
            _ = try self.compile(
                start + withUnsafeBytes(of: UInt32(named.count).bigEndian, Array.init) + named + blob)
        } throws: { "\($0)".contains("more than 33554432 bytes") }
    }

    @Test func `files in other formats are refused with their names`() throws {
        let text = try self.folder.write("notes.txt", "streets".utf8)
        for (path, message) in [
            (text, "unknown format"), (self.folder.file("absent"), "cannot be read: No such file or directory"),
            (self.folder.path, "it is not a regular file"),
        ] {
            #expect {
                _ = try StreetCompiler.compile(inputs: [path], output: self.folder.file("x"))
            } throws: { "\($0)".contains(path) && "\($0)".contains(message) }
        }
    }
}

import EnrouteWire
import Foundation
import Testing

@testable import Streets

/// Lines of GeoJSON files that repeat each other, and nodes of extracts that are at the same place.
@Suite struct OverlapTests {
    private let folder: TemporaryPlace

    init() throws { self.folder = try TemporaryPlace() }

    private static let bends = [(48.0, 16.0), (48.001, 16.002), (48.0, 16.004), (48.001, 16.006), (48.0, 16.008)]

    @Test func `a GeoJSON file that is listed twice gives the same streets as once`() throws {
        let town = try self.folder.write("town.geojson", try Town.geoJSON(Town.random(seed: 4, rows: 6, columns: 6)))
        let (once, twice) = (self.folder.file("once.streets"), self.folder.file("twice.streets"))
        let summary = try StreetCompiler.compile(inputs: [town], output: once)
        var lines: [String] = []
        #expect(try StreetCompiler.compile(inputs: [town, town], output: twice) { lines.append($0) } == summary)
        #expect(lines.contains("\(town): 0 streets"))
        let isSame = try Data(contentsOf: URL(fileURLWithPath: once)) == Data(contentsOf: URL(fileURLWithPath: twice))
        #expect(isSame)
    }

    @Test(arguments: [false, true])
    func `bends in the common part of two lines are not crossings`(isReversed: Bool) throws {
        let ends = [try place(48.0, 16.0), try place(48.0, 16.008)]
        let whole = try Town.network([TestStreet(places: Self.bends)], in: self.folder, "whole")
        let other = Array(Self.bends[1...])
        let halves = try Town.network(
            [TestStreet(places: Array(Self.bends[..<4])), TestStreet(places: isReversed ? other.reversed() : other)],
            in: self.folder, "halves")
        #expect(halves.graph.edges.count == 4)
        let crossings = StreetRule.crossing(atStart: true) | StreetRule.crossing(atStart: false)
        #expect(halves.graph.edges.allSatisfy { $0.rule & crossings == 0 })
        let route = try #require(halves.route(through: ends, by: .car))
        #expect(abs(route.seconds - (try #require(whole.route(through: ends, by: .car)).seconds)) < 0.5)
    }

    @Test func `lines with different rules, shapes or directions are separate streets`() throws {
        let (line, oneWay) = (Array(Self.bends[..<3]), ["highway": "residential", "oneway": "yes"])
        for (other, tags) in [
            (TestStreet(places: line, tags: ["highway": "primary"]), ["highway": "residential"]),
            (TestStreet(places: [line[0], (48.002, 16.002), line[2]]), ["highway": "residential"]),
            (TestStreet(places: line.reversed(), tags: oneWay), oneWay),
        ] {
            let network = try Town.network([TestStreet(places: line, tags: tags), other], in: self.folder)
            let ends = [try place(48.0, 16.0), try place(48.0, 16.004)]
            #expect(network.edgeCount >= 4)
            #expect(network.route(through: ends, by: .car) != nil)
            #expect(network.route(through: ends.reversed(), by: .car) != nil)
        }
    }

    @Test(arguments: [[1, 2, 3], [3, 2, 1], [2, 3, 1], [1, 3, 2]] as [[Int64]])
    func `a way whose last or first two nodes are at one place leads to the next way`(nodes: [Int64]) throws {
        var writer = PBFWriter()
        writer.nodes = [
            .init(id: 1, latitude: 48.2, longitude: 16.3), .init(id: 2, latitude: 48.202, longitude: 16.3),
            .init(id: 3, latitude: 48.202, longitude: 16.3), .init(id: 4, latitude: 48.204, longitude: 16.3),
        ]
        writer.ways = [
            .init(id: 1, tags: [("highway", "residential")], nodes: nodes),
            .init(id: 2, tags: [("highway", "residential")], nodes: [3, 4]),
        ]
        let network = try self.network(writer)
        let route = try #require(network.route(through: [try place(48.2, 16.3), try place(48.204, 16.3)], by: .car))
        #expect(abs(route.meters - 445) < 2)
    }

    @Test func `a street without a length does not affect turns, snapping and the map`() throws {
        var writer = PBFWriter.crossing
        // Node 14 is at the same place as the crossing 12. Both are junctions, and one turn there is forbidden.
        writer.nodes.append(.init(id: 14, latitude: 48.202, longitude: 16.302))
        writer.ways = [
            .init(id: 1, tags: [("highway", "primary"), ("name", "A")], nodes: [10, 11, 12]),
            .init(id: 2, tags: [("highway", "primary"), ("name", "A")], nodes: [12, 14]),
            .init(id: 3, tags: [("highway", "primary"), ("name", "A")], nodes: [14, 13]),
            .init(id: 4, tags: [("highway", "residential")], nodes: [20, 12]),
            .init(id: 5, tags: [("highway", "residential")], nodes: [14, 21]),
        ]
        writer.relations = [.restriction(1, "no_right_turn", from: 1, via: 12, to: 4)]
        let network = try self.network(writer)
        #expect(network.graph.edges.contains { $0.centimeters == 0 })
        let ends = [try place(48.2, 16.3), try place(48.204, 16.304)]
        let route = try #require(network.route(through: ends, by: .car))
        #expect(abs(route.meters - 536) < 10 && route.seconds.isFinite)
        #expect(network.route(through: [ends[0], try place(48.204, 16.3)], by: .foot) != nil)
        let near = network.segments(near: try place(48.202, 16.302), within: 50, atMost: 10, for: nil)
        #expect(near.count == 5 && near.allSatisfy { $0.meters < 1 && $0.position.metersAlong.isFinite })
        let positions = near.map(\.position)
        #expect(network.distances(from: positions[0], to: positions, within: 1_000, for: nil).allSatisfy { $0 != nil })
        #expect((try? JSONSerialization.jsonObject(with: Data(network.map()))) != nil)
    }

    private func network(_ writer: PBFWriter) throws -> StreetNetwork {
        let input = try self.folder.write("a.osm.pbf", writer.bytes)
        _ = try StreetCompiler.compile(inputs: [input], output: self.folder.file("a.streets"))
        return try StreetNetwork(path: self.folder.file("a.streets"))
    }
}

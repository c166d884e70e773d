import EnrouteWire
import Foundation
import Testing

@testable import Streets

/// Compiled files that were damaged in transfer.
@Suite struct StreetFileTests {
    private let folder: TemporaryPlace

    init() throws { self.folder = try TemporaryPlace() }

    private func file(_ name: String = "town") throws -> [UInt8] {
        let town = try self.folder.write("\(name).geojson", try Town.geoJSON(Town.random(seed: 3, rows: 4, columns: 4)))
        // Restrictions at the corner of an extract, which make copies of nodes and edges.
        var corner = PBFWriter.crossing
        corner.relations = [
            .restriction(1, "no_left_turn", from: 2, via: 12, to: 1),
            .restriction(2, "only_right_turn", from: 1, via: 12, to: 2),
        ]
        (corner.ways[0].nodes, corner.ways[1].nodes) = ([10, 11, 12], [20, 12])
        corner.ways.append(.init(id: 4, tags: [("highway", "residential")], nodes: [12, 21]))
        let extract = try self.folder.write("\(name).osm.pbf", corner.bytes)
        _ = try StreetCompiler.compile(inputs: [town, extract], output: self.folder.file("\(name).streets"))
        return Array(try Data(contentsOf: URL(fileURLWithPath: self.folder.file("\(name).streets"))))
    }

    private func opened(_ bytes: [UInt8]) throws(StreetFileError) -> StreetNetwork? {
        guard let path = try? self.folder.write("changed.streets", bytes) else { return nil }
        return try StreetNetwork(path: path)
    }

    /// The same bytes with a matching checksum.
    private static func sealed(_ bytes: [UInt8]) -> [UInt8] {
        var sealed = bytes
        let checksum = bytes.withUnsafeBytes {
            StreetFile.checksum(UnsafeRawBufferPointer(rebasing: $0[StreetFile.headerBytes...]))
        }
        withUnsafeBytes(of: checksum.littleEndian) { sealed.replaceSubrange(24..<28, with: $0) }
        return sealed
    }

    @Test func `a truncated file is refused`() throws {
        let bytes = try self.file()
        for count in Array(0..<200) + Array(stride(from: 200, to: bytes.count, by: 97)) + [bytes.count - 1] {
            #expect(throws: StreetFileError.self) { _ = try self.opened(Array(bytes[..<count])) }
        }
        #expect {
            _ = try self.opened(Array(bytes[..<(bytes.count - 1)]))
        } throws: { "\($0)".contains("it should have \(bytes.count) bytes, but has \(bytes.count - 1)") }
    }

    @Test func `a file with another byte is refused`() throws {
        let bytes = try self.file()
        var random = Seeded(state: 9)
        // Bytes 28 to 31 are reserved.
        for index in Array(0..<28) + (0..<500).map({ _ in Int.random(in: 32..<bytes.count, using: &random) }) {
            var changed = bytes
            changed[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            #expect(throws: StreetFileError.self) { _ = try self.opened(changed) }
        }
    }

    @Test func `a file with wrong numbers and the right checksum is refused or used, and never crashes`() throws {
        let bytes = try self.file()
        var random = Seeded(state: 11)
        var opened = 0
        for _ in 0..<1_000 {
            var changed = bytes
            // The table of sections and the sections, in groups of four bytes, because most numbers have four.
            let start = Int.random(in: 8..<(changed.count / 4), using: &random) * 4
            for index in start..<start + 4 { changed[index] = Bool.random(using: &random) ? 0xFF : 0 }
            guard let network = try? self.opened(Self.sealed(changed)) else { continue }
            opened += 1
            let places = [try place(41.9005, 12.5005), try place(41.9035, 12.5045)]
            for vehicle in [Vehicle.foot, .car] { _ = network.route(through: places, by: vehicle) }
            let near = network.segments(near: places[0], within: 500, atMost: 10, for: nil).map(\.position)
            if let first = near.first { _ = network.distances(from: first, to: near, within: 2_000, for: nil) }
            _ = network.map()
            let crossing = [try place(48.2005, 16.3005), try place(48.2035, 16.3005), try place(48.2005, 16.3035)]
            _ = network.route(through: crossing, by: .car)
        }
        #expect(opened > 30)
    }

    @Test func `the errors of other files and other versions contain advice`() throws {
        let bytes = try self.file()
        for (changed, message) in [
            (Array("{\"type\":\"FeatureCollection\"}".utf8), "is not a compiled street file"),
            ([], "is not a compiled"),
            (Array(bytes[..<8]) + [9] + bytes[9...], "has format 9, but this version of Enroute reads format 2"),
        ] {
            #expect {
                _ = try self.opened(changed)
            } throws: { "\($0)".contains(message) && "\($0)".contains("enroute streets build") }
        }
        let pipe = self.folder.file("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        for (path, reason) in [("/absent", "No such file or directory"), (pipe, "it is not a regular file")] {
            #expect(throws: StreetFileError.unreadable(path: path, reason: reason)) {
                _ = try StreetNetwork(path: path)
            }
        }
    }

    @Test func `the same streets give the same file`() throws {
        let (one, other) = try (self.file("a"), self.file("b"))
        let isSame = one == other
        #expect(isSame)
        #expect(try #require(try self.opened(one)).graph.copies.count > 0)
    }
}

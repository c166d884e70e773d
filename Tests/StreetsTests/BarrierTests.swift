import EnrouteWire
import Testing

@testable import Streets

/// Nodes that some vehicles cannot pass.
@Suite struct BarrierTests {
    private let folder: TemporaryPlace

    init() throws { self.folder = try TemporaryPlace() }

    private func compile(_ writer: PBFWriter, _ name: String = "block") throws -> StreetNetwork {
        let input = try self.folder.write("\(name).osm.pbf", writer.bytes)
        _ = try StreetCompiler.compile(inputs: [input], output: self.folder.file("\(name).streets"))
        return try StreetNetwork(path: self.folder.file("\(name).streets"))
    }

    /// A place in meters north and east of the south-western corner.
    private static func degrees(_ north: Double, _ east: Double) -> (latitude: Double, longitude: Double) {
        (48.2 + north / 111_195, 16.3 + east / 74_100)
    }

    private static func at(_ north: Double, _ east: Double) throws -> Coordinate {
        try place(self.degrees(north, east).latitude, self.degrees(north, east).longitude)
    }

    private static func node(_ id: Int64, _ north: Double, _ east: Double, _ tags: [String: String] = [:])
        -> PBFWriter.Node
    {
        let place = self.degrees(north, east)
        return .init(
            id: id, latitude: place.latitude, longitude: place.longitude, tags: tags.sorted { $0.key < $1.key })
    }

    /// Streets around a block, 200 m from west to east and 150 m from south to north, and a node in the middle of the southern
    /// one.
    private static func block(_ tags: [String: String]) -> PBFWriter {
        var writer = PBFWriter()
        writer.nodes = [
            self.node(1, 0, 0), self.node(2, 0, 200), self.node(3, 150, 200), self.node(4, 150, 0),
            self.node(5, 0, 100, tags),
        ]
        writer.ways = [
            .init(id: 1, tags: [("highway", "residential")], nodes: [1, 5, 2]),
            .init(id: 2, tags: [("highway", "residential")], nodes: [2, 3, 4, 1]),
        ]
        return writer
    }

    private func meters(_ network: StreetNetwork, _ from: Coordinate, _ to: Coordinate, _ vehicle: Vehicle) throws
        -> Double
    {
        try #require(network.route(through: [from, to], by: vehicle)).meters
    }

    @Test(
        arguments: [
            (["barrier": "bollard"], [Vehicle.car, .truck, .moped]), (["barrier": "block"], [.car]),
            (["barrier": "cycle_barrier"], [.car]), (["barrier": "cycle_barrier", "bicycle": "dismount"], [.car]),
            (["barrier": "kissing_gate"], [.car, .bicycle]), (["barrier": "wall"], [.car, .bicycle, .foot]),
            (["barrier": "kerb", "kerb": "raised"], [.car]), (["barrier": "kerb"], []),
            (["barrier": "cattle_grid"], []),
            (["barrier": "gate"], []), (["barrier": "lift_gate"], []), (["barrier": "entrance"], []),
            (["barrier": "gate", "access": "private"], [.car, .bicycle, .foot]),
            (["barrier": "gate", "access": "private", "foot": "yes"], [.car, .bicycle]),
            (["barrier": "lift_gate", "motor_vehicle": "private"], [.car]),
            (["barrier": "gate", "vehicle": "no"], [.car, .bicycle]),
            (["barrier": "gate", "access": "destination"], []), (["barrier": "gate", "motorcar": "no"], [.car]),
            (["barrier": "bollard", "bicycle": "no"], [.car, .bicycle]),
            (["barrier": "bollard", "motor_vehicle": "yes"], []),
            (["barrier": "bollard", "access": "yes"], []), (["access": "no"], [.car, .bicycle, .foot]),
            (["access": "private", "bicycle": "yes"], [.car, .foot]), (["access": "no", "highway": "crossing"], []),
            (["motor_vehicle": "no"], []), ([:], []),
        ] as [([String: String], [Vehicle])])
    func `only the vehicles that a barrier does not stop pass it`(tags: [String: String], stopped: [Vehicle])
        throws
    {
        for isDense in [true, false] {
            var writer = Self.block(tags)
            writer.isDense = isDense
            let network = try self.compile(writer)
            for vehicle in Set([Vehicle.car, .bicycle, .foot] + stopped) {
                // Farther from the barrier than the longest distance between a place and the street on which its route ends.
                let meters = try self.meters(network, try Self.at(0, 50), try Self.at(0, 150), vehicle)
                #expect(abs(meters - (stopped.contains(vehicle) ? 600 : 100)) < 5, "\(tags) \(vehicle)")
            }
        }
    }

    @Test func `a street that ends at a barrier is reached from both sides`() throws {
        let network = try self.compile(Self.block(["barrier": "bollard"]))
        #expect(abs(try self.meters(network, try Self.at(0, 10), try Self.at(0, 97), .car) - 87) < 3)
        #expect(abs(try self.meters(network, try Self.at(0, 190), try Self.at(0, 103), .car) - 87) < 3)
        // The barrier itself is a destination, too.
        #expect(network.route(through: [try Self.at(0, 10), try Self.at(0, 100)], by: .car) != nil)
    }

    @Test func `a barrier at a crossing cannot be passed in any direction`() throws {
        var writer = Self.block(["barrier": "block"])
        writer.nodes.append(Self.node(6, 150, 100))
        writer.ways[1].nodes = [2, 3, 6, 4, 1]
        writer.ways.append(.init(id: 3, tags: [("highway", "residential")], nodes: [5, 6]))
        let network = try self.compile(writer)
        let north = try Self.at(30, 100)
        #expect(abs(try self.meters(network, try Self.at(0, 70), north, .car) - 440) < 5)
        #expect(abs(try self.meters(network, north, try Self.at(0, 130), .car) - 440) < 5)
        #expect(abs(try self.meters(network, try Self.at(0, 70), north, .foot) - 60) < 5)
    }

    @Test func `a truck uses a street that a barrier closes to trucks only if the way around is long`() throws {
        let network = try self.compile(Self.block(["barrier": "gate", "hgv": "no"]))
        let (west, east) = (try Self.at(10, 0), try Self.at(10, 200))
        #expect(abs(try self.meters(network, west, east, .car) - 220) < 5)
        #expect(abs(try self.meters(network, west, east, .truck) - 480) < 5)
        #expect(abs(try self.meters(network, try Self.at(0, 20), try Self.at(0, 180), .truck) - 160) < 5)
    }

    @Test func `barriers that stop nobody do not affect routes, and the others are counted`() throws {
        var lines: [String] = []
        func nodes(_ writer: PBFWriter) throws -> Int {
            lines = []
            let input = try self.folder.write("b.osm.pbf", writer.bytes)
            return try StreetCompiler.compile(inputs: [input], output: self.folder.file("b.streets")) {
                lines.append($0)
            }.nodes
        }
        let plain = try nodes(Self.block([:]))
        var cycleway = Self.block(["barrier": "bollard"])
        cycleway.nodes[4].tags.append(("hgv", "no"))
        cycleway.ways[0].tags = [("highway", "cycleway")]
        #expect(try nodes(cycleway) == plain)
        #expect(!lines.contains { $0.contains("barrier") })
        // The barrier, and the ends of the two streets for cars.
        #expect(try nodes(Self.block(["barrier": "bollard"])) == plain + 3)
        #expect(lines.contains("barriers that block traffic for which the street is open: 1"))
        #expect(try nodes(Self.block(["barrier": "gate", "access": "no"])) == plain + 2)
    }

    /// Returns each way as ways that end 1 m before a barrier, at separate nodes.
    private static func separated(_ writer: PBFWriter) -> PBFWriter {
        var result = writer
        let barriers = Dictionary(
            uniqueKeysWithValues: writer.nodes.filter { !$0.tags.isEmpty }.map { ($0.id, $0) })
        (result.ways, result.nodes) = ([], writer.nodes.filter { $0.tags.isEmpty })
        let places = Dictionary(
            uniqueKeysWithValues: writer.nodes.map { node in
                (
                    node.id,
                    StreetPoint(latitude: node.latitude, longitude: node.longitude)
                        ?? .init(latitudeUnits: 0, longitudeUnits: 0)
                )
            })
        func end(_ id: Int64, toward next: Int64) -> Int64 {
            guard let barrier = barriers[id], let from = places[id], let to = places[next] else { return id }
            let (share, new) = (1 / from.meters(to: to), 10_000 + Int64(result.nodes.count))
            let latitude = barrier.latitude + Double(to.latitude - from.latitude) / StreetPoint.perDegree * share
            let longitude = barrier.longitude + Double(to.longitude - from.longitude) / StreetPoint.perDegree * share
            result.nodes.append(.init(id: new, latitude: latitude, longitude: longitude))
            return new
        }
        func add(_ tags: [(String, String)], _ nodes: [Int64]) {
            var ids = nodes
            ids[0] = end(nodes[0], toward: nodes[1])
            ids[nodes.count - 1] = end(nodes[nodes.count - 1], toward: nodes[nodes.count - 2])
            result.ways.append(.init(id: Int64(result.ways.count + 1), tags: tags, nodes: ids))
        }
        for way in writer.ways {
            var part: [Int64] = []
            for node in way.nodes {
                part.append(node)
                guard barriers[node] != nil else { continue }
                if part.count > 1 { add(way.tags, part) }
                part = [node]
            }
            if part.count > 1 { add(way.tags, part) }
        }
        return result
    }

    @Test(arguments: 1...20) func `routes equal those of streets that are not joined at barriers`(seed: UInt64) throws {
        var random = Seeded(state: seed)
        var writer = PBFWriter()
        let size: Int64 = 7
        for row in 0..<size {
            for column in 0..<size {
                let isBarrier = Int.random(in: 0..<8, using: &random) == 0
                writer.nodes.append(
                    Self.node(
                        1 + row * size + column, Double(row) * 90 + .random(in: 0...40, using: &random),
                        Double(column) * 90 + .random(in: 0...40, using: &random),
                        isBarrier ? ["barrier": "bollard"] : [:]))
            }
        }
        for line in 0..<size {
            let oneway = Int.random(in: 0..<5, using: &random) == 0 ? [("oneway", "yes")] : []
            let tags = [("highway", "residential")] + oneway
            writer.ways.append(.init(id: line + 1, tags: tags, nodes: (0..<size).map { 1 + line * size + $0 }))
            writer.ways.append(.init(id: line + 50, tags: tags, nodes: (0..<size).map { 1 + $0 * size + line }))
        }
        let (closed, separated) = (try self.compile(writer), try self.compile(Self.separated(writer), "separated"))
        for _ in 0..<60 {
            let places = try (0..<2).map { _ in
                try Self.at(.random(in: 0...580, using: &random), .random(in: 0...580, using: &random))
            }
            let route = closed.route(through: places, by: .car)
            let expected = separated.route(through: places, by: .car)
            #expect((route == nil) == (expected == nil))
            if let route, let expected { #expect(abs(route.seconds - expected.seconds) < 0.1, "\(places)") }
        }
    }
}

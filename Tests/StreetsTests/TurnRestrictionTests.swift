import EnrouteWire
import Testing

@testable import Streets

/// Turns that signs forbid to motor vehicles.
@Suite struct TurnRestrictionTests {
    private let folder: TemporaryPlace

    init() throws { self.folder = try TemporaryPlace() }

    /// A town of nine crossings, 100 m apart. Node 10 * row + column; row 1 is in the south, column 1 in the west. Ways in a
    /// row have the number of their western node times 100, ways in a column that of their southern node times 100 plus 1.
    private func town(_ relations: [PBFWriter.Relation] = []) -> PBFWriter {
        var writer = PBFWriter()
        for row in 1...3 {
            for column in 1...3 {
                let id = Int64(row * 10 + column)
                writer.nodes.append(
                    .init(id: id, latitude: 48.2 + Double(row) * 0.0009, longitude: 16.3 + Double(column) * 0.00135))
                let tags = [("highway", "residential")]
                if column < 3 { writer.ways.append(.init(id: id * 100, tags: tags, nodes: [id, id + 1])) }
                if row < 3 { writer.ways.append(.init(id: id * 100 + 1, tags: tags, nodes: [id, id + 10])) }
            }
        }
        writer.relations = relations
        return writer
    }

    private func compile(_ writers: PBFWriter...) throws -> StreetNetwork {
        let inputs = try writers.indices.map { try self.folder.write("\($0).osm.pbf", writers[$0].bytes) }
        _ = try StreetCompiler.compile(inputs: inputs, output: self.folder.file("town.streets"))
        return try StreetNetwork(path: self.folder.file("town.streets"))
    }

    /// Meters from the middle of the way south of the central crossing to the middle of the way west or east of it.
    private func meters(
        _ network: StreetNetwork, to longitude: Double = 16.3 + 1.5 * 0.00135, by vehicle: Vehicle = .car
    ) throws -> Double {
        let from = try place(48.2 + 1.5 * 0.0009, 16.3 + 2 * 0.00135)
        let to = try place(48.2 + 2 * 0.0009, longitude)
        return try #require(network.route(through: [from, to], by: vehicle)).meters
    }

    private static let noLeft = PBFWriter.Relation.restriction(1, "no_left_turn", from: 1201, via: 22, to: 2100)

    @Test func `cars do not turn where it is forbidden, and other vehicles do`() throws {
        #expect(try self.meters(try self.compile(self.town())) < 110)
        let network = try self.compile(self.town([Self.noLeft]))
        // Around a block.
        #expect(try self.meters(network) > 250)
        #expect(try self.meters(network, by: .truck) > 250)
        #expect(try self.meters(network, by: .bicycle) < 110)
        #expect(try self.meters(network, by: .foot) < 110)
        // A turn to the right is allowed.
        #expect(try self.meters(network, to: 16.3 + 2.5 * 0.00135) < 110)
    }

    @Test func `a sign that allows one way forbids all others`() throws {
        let network = try self.compile(
            self.town([.restriction(1, "only_straight_on", from: 1201, via: 22, to: 2201)]))
        #expect(try self.meters(network) > 250)
        #expect(try self.meters(network, to: 16.3 + 2.5 * 0.00135) > 250)
    }

    @Test(arguments: [
        ("no_left_turn", [("except", "psv;motorcar")]), ("none", []),
        ("no_left_turn", [("restriction:motorcar", "none")]), ("left", []), ("no_left_turn", [("day_on", "Monday")]),
    ])
    func `a restriction that does not apply to cars is ignored`(kind: String, tags: [(String, String)]) throws {
        let network = try self.compile(
            self.town([.restriction(1, kind, from: 1201, via: 22, to: 2100, tags)]))
        #expect(try self.meters(network) < 110)
    }

    @Test func `restrictions along other ways or with missing streets are counted`() throws {
        var over = Self.noLeft
        over.members[1] = ("via", 1, 2100)
        let missing = PBFWriter.Relation.restriction(2, "no_left_turn", from: 77, via: 22, to: 2100)
        let input = try self.folder.write("a.osm.pbf", self.town([over, missing]).bytes)
        var lines: [String] = []
        _ = try StreetCompiler.compile(inputs: [input], output: self.folder.file("a.streets")) { lines.append($0) }
        #expect(
            lines.contains(
                "0 turn restrictions; 2 ignored (they pass along other ways, or refer to missing streets)"))
    }

    @Test func `extracts that overlap forbid a turn once`() throws {
        let network = try self.compile(self.town([Self.noLeft]), self.town([Self.noLeft]))
        // The edge that arrives, the three edges on which it may continue (one leads back), and the two that may follow each
        // of them.
        #expect(network.graph.copies.count == 1 + 3 + 3 * 2)
        #expect(try self.meters(network) > 250)
    }

    @Test func `a forbidden turn is not replaced by turning round at the next crossing`() throws {
        let network = try self.compile(self.town([Self.noLeft]))
        let from = try place(48.2 + 1.7 * 0.0009, 16.3 + 2 * 0.00135)
        let to = try place(48.2 + 2 * 0.0009, 16.3 + 1.5 * 0.00135)
        let route = try #require(network.route(through: [from, to], by: .car))
        // Back to the crossing in the north would be 280 m, around the block it is 320 m.
        #expect(route.meters > 300)
        #expect(Set(route.line.map { [$0.latitude, $0.longitude] }).count == route.line.count)
    }

    @Test func `the map and a map matcher see each street once`() throws {
        let plain = try self.compile(self.town())
        let restricted = try self.compile(self.town([Self.noLeft]))
        #expect(plain.map() == restricted.map())
        let here = try place(48.2 + 1.5 * 0.0009, 16.3 + 2 * 0.00135)
        #expect(restricted.segments(near: here, within: 20, atMost: 9, for: .car).count == 1)
        // A driver who turned although it is forbidden is followed.
        let near = try place(48.2 + 2 * 0.0009, 16.3 + 1.5 * 0.00135)
        let positions = try [here, near].map {
            try #require(restricted.segments(near: $0, within: 20, atMost: 1, for: .car).first).position
        }
        let meters = restricted.distances(from: positions[0], to: [positions[1]], within: 500, for: .car)
        #expect(try #require(meters[0]) < 110)
    }

    @Test(arguments: [
        ("members", [PBFWriter.field(8, [1, 1]), PBFWriter.field(9, [2]), PBFWriter.field(10, [1])]),
        ("unknown type", [PBFWriter.field(8, [1]), PBFWriter.field(9, [2]), PBFWriter.field(10, [3])]),
        ("text is missing", [PBFWriter.field(8, [99]), PBFWriter.field(9, [2]), PBFWriter.field(10, [1])]),
        ("within a number", [PBFWriter.field(8, [1]), PBFWriter.field(9, [0x80]), PBFWriter.field(10, [1])]),
    ])
    func `a malformed relation is an error`(reason: String, members: [[UInt8]]) throws {
        var writer = self.town([Self.noLeft])
        writer.relationMembers = members.flatMap(\.self)
        let input = try self.folder.write("a.osm.pbf", writer.bytes)
        #expect {
            try StreetCompiler.compile(inputs: [input], output: self.folder.file("a.streets"))
        } throws: {
            "\($0)".contains("is malformed at byte") && "\($0)".contains(reason)
        }
    }

    @Test func `a relation with several ways of one role forbids each turn`() throws {
        var writer = self.town([Self.noLeft])
        writer.relations[0].members.append(("to", 1, 2200))
        let network = try self.compile(writer)
        #expect(try self.meters(network) > 250)
        #expect(try self.meters(network, to: 16.3 + 2.5 * 0.00135) > 250)
        // If several ways must follow, any of them may be chosen.
        writer.relations[0].tags[1].1 = "only_left_turn"
        let only = try self.compile(writer)
        #expect(try self.meters(only) < 110)
        #expect(try self.meters(only, to: 16.3 + 2.5 * 0.00135) < 110)
    }

    @Test(arguments: [nil, "yes"]) func `after a stop on a street with a restriction, only permitted turns are used`(
        oneway: String?
    ) throws {
        var writer = self.town([Self.noLeft])
        if let oneway, let index = writer.ways.firstIndex(where: { $0.id == 1201 }) {
            writer.ways[index].tags.append(("oneway", oneway))
        }
        let network = try self.compile(writer)
        let (start, stop, end) = try (
            place(48.2 + 1.2 * 0.0009, 16.3 + 2 * 0.00135), place(48.2 + 1.5 * 0.0009, 16.3 + 2 * 0.00135),
            place(48.2 + 2 * 0.0009, 16.3 + 2.5 * 0.00135)
        )
        let route = try #require(network.route(through: [start, stop, end], by: .car))
        #expect(route.meters < 140)
    }

    @Test func `a forbidden turn at two crossings in a row is not replaced by turning round between them`() throws {
        let network = try self.compile(
            self.town([Self.noLeft, .restriction(2, "no_left_turn", from: 2201, via: 32, to: 3100)]))
        let from = try place(48.2 + 1.6 * 0.0009, 16.3 + 2 * 0.00135)
        let to = try place(48.2 + 2 * 0.0009, 16.3 + 1.5 * 0.00135)
        let route = try #require(network.route(through: [from, to], by: .car))
        #expect(Set(route.line.map { [$0.latitude, $0.longitude] }).count == route.line.count)
    }

    @Test func `a route ends on a street that is left only out of the network, after a crossing with a restriction`()
        throws
    {
        var writer = self.town([Self.noLeft])
        // East of the central crossing, cars can only continue to a place without a way back, or turn round.
        writer.nodes.append(.init(id: 99, latitude: 48.2 + 2 * 0.0009, longitude: 16.3 + 4 * 0.00135))
        writer.ways.removeAll { [1301, 2301].contains($0.id) }
        writer.ways.append(.init(id: 2300, tags: [("highway", "residential"), ("oneway", "yes")], nodes: [23, 99]))
        let network = try self.compile(writer)
        #expect(try self.meters(network, to: 16.3 + 2.5 * 0.00135) < 110)
        #expect(try self.meters(network) > 250)
    }

    @Test func `restrictions at a node with more streets than a crossing has are ignored`() throws {
        var writer = PBFWriter()
        writer.nodes.append(.init(id: 1, latitude: 48.2, longitude: 16.3))
        for id in 2...102 as ClosedRange<Int64> {
            writer.nodes.append(.init(id: id, latitude: 48.2 + Double(id) / 10_000, longitude: 16.301))
            writer.ways.append(.init(id: id, tags: [("highway", "residential")], nodes: [1, id]))
            writer.relations.append(.restriction(id, "no_u_turn", from: id, via: 1, to: id))
        }
        #expect(try self.compile(writer).graph.copies.isEmpty)
    }

    @Test func `a relation with more turns than a crossing has is ignored`() throws {
        var relation = Self.noLeft
        relation.members += (0..<100).map { ("to", 1, 10_000 + Int64($0)) }
        #expect(try self.compile(self.town([relation])).graph.copies.isEmpty)
    }

    @Test func `a search from more places than it can distinguish uses the first ones`() throws {
        let network = try self.compile(self.town([Self.noLeft]))
        let costs = TravelCosts(.car)
        let search = RouteSearch(graph: network.graph, costs: costs, landmarkScale: 1, fastest: 130)
        let space = try #require(SearchSpace(nodes: network.graph.nodes.count))
        let starts = [SearchPlace](repeating: .init(edge: 0, metersAlong: 1, extraSeconds: 0), count: 200)
        let end = SearchPlace(edge: network.graph.streetCount - 1, metersAlong: 1, extraSeconds: 0)
        #expect(search.find(from: starts, to: [end], space) != nil)
    }

    // MARK: against a search that knows the restrictions

    /// A directed way, and whether it was entered at a crossing with a restriction for the way before.
    private struct Step: Hashable {
        var half: UInt32
        var isAfter: Bool
    }

    /// The least seconds for a car between the middles of two ways, by a search over directed ways (Dijkstra, without a heap).
    ///
    /// - Parameters:
    ///   - forbidden: pairs of directed ways.
    ///   - restricted: directed ways with a restriction at their end.
    private static func least(
        _ plain: StreetGraph, _ forbidden: Set<[UInt32]>, _ restricted: Set<UInt32>, _ costs: TravelCosts, from: Int,
        to: Int
    ) -> Double {
        func seconds(_ half: UInt32) -> Double {
            costs.seconds(plain.edges[Int(half >> 1)].rule, meters: plain.meters(of: Int(half >> 1)))
        }
        func delay(_ half: UInt32) -> Double {
            Double(costs.delay(plain.edges[Int(half >> 1)].rule, backward: half & 1))
        }
        func end(_ half: UInt32) -> UInt32 {
            half & 1 == 0 ? plain.edges[Int(half >> 1)].to : plain.edges[Int(half >> 1)].from
        }
        let all = (0..<UInt32(plain.edges.count * 2)).filter {
            costs.allows(plain.edges[Int($0 >> 1)].rule, backward: $0 & 1)
        }
        // At the end of the way.
        var known: [Step: Double] = [:]
        for half in all where Int(half >> 1) == from {
            known[Step(half: half, isAfter: false)] = seconds(half) / 2 + delay(half)
        }
        var best = Double.infinity
        var done: Set<Step> = []
        while let (step, cost) = known.filter({ !done.contains($0.key) }).min(by: { $0.value < $1.value }) {
            done.insert(step)
            let half = step.half
            let open = all.filter { end($0 ^ 1) == end(half) && !forbidden.contains([half, $0]) }
            let isDeadEnd = !open.contains { $0 != half ^ 1 }
            for next in open where !step.isAfter || isDeadEnd || next != half ^ 1 {
                if Int(next >> 1) == to { best = min(best, cost + seconds(next) / 2) }
                let onward = Step(half: next, isAfter: restricted.contains(half))
                known[onward] = min(known[onward] ?? .infinity, cost + seconds(next) + delay(next))
            }
        }
        return from == to ? 0 : best
    }

    @Test(arguments: 1...30)
    func `a search finds the fastest way that obeys all restrictions`(_ seed: UInt64) throws {
        var random = Seeded(state: seed)
        var writer = self.town()
        for index in writer.ways.indices where Int.random(in: 0..<5, using: &random) == 0 {
            writer.ways[index].tags.append(("oneway", "yes"))
        }
        let plain = try self.compile(writer).graph
        // Each way becomes one edge, so its two nodes identify it.
        let points = writer.nodes.map { StreetPoint(latitude: $0.latitude, longitude: $0.longitude) }
        func edge(_ way: PBFWriter.Way) throws -> Int {
            let ends = way.nodes.map { id in points[writer.nodes.firstIndex { $0.id == id } ?? 0] }
            return try #require(
                plain.edges.firstIndex {
                    plain.nodes[Int($0.from)] == ends[0] && plain.nodes[Int($0.to)] == ends[1]
                })
        }
        var forbidden: Set<[UInt32]> = []
        var mustFollow: [UInt32: UInt32] = [:]
        var restricted: Set<UInt32> = []
        for id in 1...Int64.random(in: 1...12, using: &random) {
            let node = try #require(writer.nodes.randomElement(using: &random))
            let ways = writer.ways.filter { $0.nodes.contains(node.id) }
            let (from, to) = try (
                #require(ways.randomElement(using: &random)), #require(ways.randomElement(using: &random))
            )
            let arrival = UInt32(try edge(from)) << 1 | (from.nodes[1] == node.id ? 0 : 1)
            func next(_ way: PBFWriter.Way) throws -> UInt32 {
                UInt32(try edge(way)) << 1 | (way.nodes[0] == node.id ? 0 : 1)
            }
            // From one way, several restrictions that each permit only one turn would contradict each other.
            let isOnly = Bool.random(using: &random) && mustFollow[arrival] == nil
            writer.relations.append(
                .restriction(id, isOnly ? "only_left_turn" : "no_left_turn", from: from.id, via: node.id, to: to.id))
            guard isOnly else {
                forbidden.insert([arrival, try next(to)])
                restricted.insert(arrival)
                continue
            }
            mustFollow[arrival] = try next(to)
            let costs = TravelCosts(.car)
            let isOpen = costs.allows(plain.edges[Int(try next(to) >> 1)].rule, backward: try next(to) & 1)
            if isOpen { restricted.insert(arrival) }
            for way in ways where isOpen && way.id != to.id { forbidden.insert([arrival, try next(way)]) }
        }
        let network = try self.compile(writer)
        #expect(network.graph.streetCount == plain.edges.count)
        let costs = TravelCosts(.car)
        let search = RouteSearch(
            graph: network.graph, costs: costs, landmarkScale: network.graph.landmarkScale(costs), fastest: 130)
        let space = try #require(SearchSpace(nodes: network.graph.nodes.count))
        var detours = 0
        for from in plain.edges.indices {
            for to in plain.edges.indices {
                let least = Self.least(plain, forbidden, restricted, costs, from: from, to: to)
                let places = [from, to].map { edge in
                    ([edge] + network.graph.copies(of: edge)).map {
                        SearchPlace(edge: $0, metersAlong: network.graph.meters(of: edge) / 2, extraSeconds: 0)
                    }
                }
                let path = search.find(from: places[0], to: places[1], space)
                #expect((path == nil) == least.isInfinite, "\(from) to \(to)")
                if let path { #expect(abs(path.seconds - least) < 0.01, "\(from) to \(to)") }
                if least > Self.least(plain, [], [], costs, from: from, to: to) { detours += 1 }
            }
        }
        if seed == 1 { #expect(detours > 0) }
    }
}

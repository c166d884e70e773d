// Builds the network of nodes and edges: ways are split where they meet, and everything is sorted by place, so that neighbors
// are in the same pages of the file.

/// A network in memory, with the sections of the file.
struct BuiltNetwork {
    var nodes: [StreetPoint] = []
    var edges: [EdgeRecord] = []
    var edgeNames: [UInt32] = []
    var firstShapes: [UInt32] = [0]
    var shapes: [StreetPoint] = []
    /// The streets of which the last edges are copies, made for turn restrictions.
    var copies: [UInt32] = []
    var firstHalves: [UInt32] = []
    var halves: [UInt32] = []
    /// Relations that were ignored.
    var unclearRestrictions: Set<Int64> = []
    var gaps = StreetPieces.Gaps()
    var landmarkCount = 0
    var landmarks: [UInt16] = []
    var landmarkUnits: [UInt32] = []

    /// The edges that are streets, without the copies.
    var streets: Range<Int> { 0..<self.edges.count - self.copies.count }

    /// The line of a street.
    func line(of edge: Int) -> [StreetPoint] {
        [self.nodes[Int(self.edges[edge].from)]]
            + self.shapes[Int(self.firstShapes[edge])..<Int(self.firstShapes[edge + 1])]
            + [self.nodes[Int(self.edges[edge].to)]]
    }

    /// Calls `body` with the half edges that `kind` may use from a node, or with those that lead to the node.
    @inline(__always)
    func visit(_ node: Int, _ kind: TravelKind, toward: Bool, _ body: (_ half: Int, _ other: Int) -> Void) {
        for index in Int(self.firstHalves[node])..<Int(self.firstHalves[node + 1]) {
            let half = self.halves[index]
            let (edge, backward) = (self.edges[Int(half >> 1)], half & 1 == 1)
            guard StreetRule(bits: edge.rule).allows(kind, backward: backward != toward) else { continue }
            body(Int(toward ? half ^ 1 : half), Int(backward ? edge.from : edge.to))
        }
    }
}

enum NetworkBuilder {
    /// - Parameter places: the nodes of the ways; nodes beside barriers are added.
    static func build(_ ways: StreetWays, _ places: inout NodePlaces) throws(StreetInputError) -> BuiltNetwork {
        var streets = StreetPieces(of: ways, places)
        streets.closeBarriers(&places)
        guard !streets.pieces.isEmpty else { throw .noStreets }
        guard streets.pieces.count < Int(StreetGraph.maxHalves / 2), streets.shapes.count < Int(UInt32.max) else {
            throw .tooLarge(reason: "it has \(streets.pieces.count) edges")
        }
        streets.pieces.sort { ($0.order, $0.from, $0.to, $0.way) < ($1.order, $1.from, $1.to, $1.way) }
        RepeatedPieces.remove(from: &streets.pieces, ways, streets.shapes)
        self.markEnds(of: &streets.pieces, places)
        let turns = TurnCopies(ways.restrictions, in: &streets.pieces, ways, places)
        guard streets.pieces.count + turns.copies.count < Int(StreetGraph.maxHalves / 2) else {
            throw .tooLarge(reason: "it has \(streets.pieces.count + turns.copies.count) edges")
        }
        var network = self.network(ways, places, streets.pieces, streets.shapes, turns)
        network.gaps = streets.gaps
        return network
    }

    /// Marks the ends of pieces that have traffic lights, or at which three or more streets for cars meet.
    private static func markEnds(of pieces: inout [StreetPiece], _ places: NodePlaces) {
        var counts = [UInt8](repeating: 0, count: places.points.count)
        for piece in pieces {
            guard piece.rule.allows(.motor, backward: false) || piece.rule.allows(.motor, backward: true) else {
                continue
            }
            for node in [piece.from, piece.to] where counts[Int(node)] < 3 { counts[Int(node)] += 1 }
        }
        for index in pieces.indices {
            for (node, atStart) in [(Int(pieces[index].from), true), (Int(pieces[index].to), false)] {
                pieces[index].rule.set(StreetRule.lights(atStart: atStart), places.hasLights[node])
                pieces[index].rule.set(StreetRule.crossing(atStart: atStart), counts[node] >= 3)
            }
        }
    }

    private static func network(
        _ ways: StreetWays, _ places: NodePlaces, _ pieces: [StreetPiece], _ shapes: [StreetPoint], _ turns: TurnCopies
    ) -> BuiltNetwork {
        var used = [Bool](repeating: false, count: places.points.count)
        for piece in pieces {
            used[Int(piece.from)] = true
            used[Int(piece.to)] = true
        }
        let points = places.points + turns.nodes.map { places.points[Int($0)] }
        used += turns.nodes.map { _ in true }
        let sorted = used.indices.filter { used[$0] }.map { (PlaceOrder.of(points[$0]), $0) }.sorted { $0 < $1 }
        var number = [UInt32](repeating: 0, count: points.count)
        for (index, entry) in sorted.enumerated() { number[entry.1] = UInt32(index) }

        var network = BuiltNetwork()
        network.nodes = sorted.map { points[$0.1] }
        network.edges.reserveCapacity(pieces.count + turns.copies.count)
        network.shapes.reserveCapacity(shapes.count)
        for piece in pieces {
            let shape = shapes[piece.firstShape..<piece.firstShape + piece.shapeCount]
            var meters = 0.0
            var last = points[Int(piece.from)]
            for point in shape + [points[Int(piece.to)]] {
                meters += last.meters(to: point)
                last = point
            }
            network.edges.append(
                EdgeRecord(
                    from: number[Int(piece.from)], to: number[Int(piece.to)],
                    centimeters: UInt32(clamping: Int64((meters * 100).rounded())), rule: piece.rule.bits))
            network.edgeNames.append(ways.ways[Int(piece.way)].name)
            network.shapes.append(contentsOf: shape)
            network.firstShapes.append(UInt32(network.shapes.count))
        }
        for copy in turns.copies {
            network.edges.append(
                EdgeRecord(
                    from: number[Int(copy.from)], to: number[Int(copy.to)],
                    centimeters: network.edges[Int(copy.piece)].centimeters, rule: copy.rule.bits))
            network.copies.append(copy.piece)
        }
        network.unclearRestrictions = turns.unclear
        network.connect()
        return network
    }
}

extension BuiltNetwork {
    /// Creates the list of each node's half edges.
    fileprivate mutating func connect() {
        var counts = [UInt32](repeating: 0, count: self.nodes.count + 1)
        // A one-way edge is listed at both ends, because components are also searched against its direction.
        for edge in self.edges {
            counts[Int(edge.from) + 1] += 1
            counts[Int(edge.to) + 1] += 1
        }
        for node in 1..<counts.count { counts[node] += counts[node - 1] }
        self.firstHalves = counts
        self.halves = [UInt32](repeating: 0, count: self.edges.count * 2)
        for (index, edge) in self.edges.enumerated() {
            self.halves[Int(counts[Int(edge.from)])] = UInt32(index) << 1
            counts[Int(edge.from)] += 1
            self.halves[Int(counts[Int(edge.to)])] = UInt32(index) << 1 | 1
            counts[Int(edge.to)] += 1
        }
    }
}

/// The Z-order of places: neighbors have similar numbers.
enum PlaceOrder {
    static func of(_ point: StreetPoint) -> UInt64 {
        self.spread(UInt32(bitPattern: point.latitude) ^ 0x8000_0000)
            | self.spread(UInt32(bitPattern: point.longitude) ^ 0x8000_0000) << 1
    }

    /// Puts a 0 after each bit.
    private static func spread(_ value: UInt32) -> UInt64 {
        var value = UInt64(value)
        value = (value | value << 16) & 0x0000_FFFF_0000_FFFF
        value = (value | value << 8) & 0x00FF_00FF_00FF_00FF
        value = (value | value << 4) & 0x0F0F_0F0F_0F0F_0F0F
        value = (value | value << 2) & 0x3333_3333_3333_3333
        value = (value | value << 1) & 0x5555_5555_5555_5555
        return value
    }
}

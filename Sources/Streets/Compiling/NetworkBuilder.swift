// Builds the network of nodes and edges: ways are split where they meet, and everything is sorted by place, so that what is
// near is in the same pages of the file.

/// A network in memory, with the sections of the file.
struct BuiltNetwork {
    var nodes: [StreetPoint] = []
    var edges: [EdgeRecord] = []
    var edgeNames: [UInt32] = []
    var firstShapes: [UInt32] = [0]
    var shapes: [StreetPoint] = []
    /// The last edges are copies of these, because of turn restrictions.
    var copies: [UInt32] = []
    var firstHalves: [UInt32] = []
    var halves: [UInt32] = []
    /// Relations that were ignored.
    var unclearRestrictions: Set<Int64> = []
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

    /// Calls `body` with the half edges that `kind` may use from a node, or with those that lead to it.
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
    /// A longer stretch between two points is no street, in metres.
    private static let longestStep = 100_000.0

    static func build(_ ways: StreetWays, _ places: NodePlaces) throws(StreetInputError) -> BuiltNetwork {
        let nodes = ways.keys.map { UInt32(places.index(of: $0) ?? 0) }
        let isJunction = self.junctions(ways, nodes, count: places.keys.count)
        var (pieces, shapes): ([StreetPiece], [StreetPoint]) = ([], [])
        for way in ways.ways.indices {
            self.split(way, ways, nodes, isJunction, places, into: &pieces, &shapes)
        }
        guard !pieces.isEmpty else { throw .noStreets }
        guard pieces.count < Int(StreetGraph.maxHalves / 2), shapes.count < Int(UInt32.max) else {
            throw .tooLarge(reason: "it has \(pieces.count) edges")
        }
        pieces.sort { ($0.order, $0.from, $0.to, $0.way) < ($1.order, $1.from, $1.to, $1.way) }
        RepeatedPieces.remove(from: &pieces, ways, shapes)
        self.markEnds(of: &pieces, places)
        let turns = TurnCopies(ways.restrictions, in: &pieces, ways, places)
        guard pieces.count + turns.copies.count < Int(StreetGraph.maxHalves / 2) else {
            throw .tooLarge(reason: "it has \(pieces.count + turns.copies.count) edges")
        }
        return self.network(ways, places, pieces, shapes, turns)
    }

    /// Nodes where ways meet, start or end.
    private static func junctions(_ ways: StreetWays, _ nodes: [UInt32], count: Int) -> [Bool] {
        var uses = [UInt8](repeating: 0, count: count)
        for node in nodes where uses[Int(node)] < 2 { uses[Int(node)] += 1 }
        for way in ways.ways.indices {
            let range = ways.keys(of: way).indices
            if let first = range.first, let last = range.last {
                uses[Int(nodes[first])] = 2
                uses[Int(nodes[last])] = 2
            }
        }
        return uses.map { $0 >= 2 }
    }

    private static func split(
        _ way: Int, _ ways: StreetWays, _ nodes: [UInt32], _ isJunction: [Bool], _ places: NodePlaces,
        into pieces: inout [StreetPiece], _ shapes: inout [StreetPoint]
    ) {
        var start: (node: UInt32, firstShape: Int)?
        var last: StreetPoint?
        func close(_ node: UInt32, _ pieces: inout [StreetPiece], _ shapes: [StreetPoint]) {
            guard let from = start, let point = places.point(Int(from.node)) else { return }
            let count = shapes.count - from.firstShape
            guard from.node != node || count > 0 else { return }
            pieces.append(
                StreetPiece(
                    from: from.node, to: node, way: UInt32(way), firstShape: from.firstShape, shapeCount: count,
                    order: PlaceOrder.of(point), rule: ways.ways[way].rule))
        }
        for index in ways.keys(of: way).indices {
            let node = nodes[index]
            guard let point = places.point(Int(node)) else {
                // An extract ends here. What has been read since the last junction is dropped.
                if let from = start { shapes.removeSubrange(from.firstShape...) }
                (start, last) = (nil, nil)
                continue
            }
            if let before = last {
                // Two nodes at one place; a junction is needed as a node of the network even so.
                if before == point, !isJunction[Int(node)] { continue }
                if before.meters(to: point) > self.longestStep {
                    if let from = start { shapes.removeSubrange(from.firstShape...) }
                    start = nil
                }
            }
            last = point
            if isJunction[Int(node)] {
                close(node, &pieces, shapes)
                start = (node, shapes.count)
            } else if start != nil {
                shapes.append(point)
            }
        }
        // The last node of a way is a junction, so nothing is left unless an extract ends.
        if let from = start, shapes.count > from.firstShape { shapes.removeSubrange(from.firstShape...) }
    }

    /// Marks the ends of pieces that have traffic lights, or at which three or more streets for cars meet.
    private static func markEnds(of pieces: inout [StreetPiece], _ places: NodePlaces) {
        var counts = [UInt8](repeating: 0, count: places.keys.count)
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
        var used = [Bool](repeating: false, count: places.keys.count)
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
    /// Lists the half edges of each node.
    fileprivate mutating func connect() {
        var counts = [UInt32](repeating: 0, count: self.nodes.count + 1)
        // A one-way edge is listed at both ends, because components are searched against its direction, too.
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

/// The Z-order of places: neighbours have similar numbers.
private enum PlaceOrder {
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

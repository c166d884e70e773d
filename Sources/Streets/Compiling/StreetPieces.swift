// Splits ways into pieces that become edges: where ways meet, and at barriers.

/// A stretch of a way between two junctions, before it becomes an edge. Nodes are indices of `NodePlaces`.
struct StreetPiece {
    var from: UInt32
    var to: UInt32
    var way: UInt32
    var firstShape: Int
    var shapeCount: Int
    var order: UInt64
    var rule: StreetRule

    var isLoop: Bool { self.from == self.to }
}

/// The pieces of all ways, and what was left out of them.
struct StreetPieces {
    /// Streets and steps that are missing in the network.
    struct Gaps: Hashable {
        /// Barriers that stop somebody who may use the street.
        var barriers = 0
        /// Number of segments that are too long for a street, and how many of them cross the 180th meridian.
        var longSteps = 0
        var meridianSteps = 0
        /// Starts and ends of ways on the 180th meridian.
        var meridianEnds = 0

        /// The gaps as lines of text, for the person who compiles the streets.
        var lines: [String] {
            var lines: [String] = []
            if self.barriers > 0 {
                lines.append("barriers that block traffic for which the street is open: \(self.barriers)")
            }
            if self.meridianSteps + self.meridianEnds > 0 {
                lines.append(
                    "warning: no route crosses longitude 180. Segments across it that were omitted: "
                        + "\(self.meridianSteps); streets that end at it: \(self.meridianEnds)")
            }
            if self.longSteps > 0 {
                lines.append(
                    "warning: segments longer than 100 km that were omitted, because no street is that straight: "
                        + "\(self.longSteps)")
            }
            return lines
        }
    }

    var pieces: [StreetPiece] = []
    private(set) var shapes: [StreetPoint] = []
    private(set) var gaps = Gaps()

    /// Meters. A longer segment is not a street.
    private static let longestStep = 100_000.0
    /// The part of a street that a barrier closes on each side: meters, and the maximum share of the segment.
    private static let barrierMeters = 1.0
    private static let barrierShare = 1.0 / 3
    private static let halfTurn = 180 * StreetPoint.perDegree

    init(of ways: StreetWays, _ places: NodePlaces) {
        let nodes = ways.keys.map { UInt32(places.index(of: $0) ?? 0) }
        let isJunction = Self.junctions(ways, nodes, places)
        for way in ways.ways.indices { self.split(way, ways, nodes, isJunction, places) }
    }

    /// Marks the nodes where ways meet, start or end, and barriers.
    private static func junctions(_ ways: StreetWays, _ nodes: [UInt32], _ places: NodePlaces) -> [Bool] {
        var uses = [UInt8](repeating: 0, count: places.points.count)
        for node in nodes where uses[Int(node)] < 2 { uses[Int(node)] += 1 }
        for way in ways.ways.indices {
            let range = ways.keys(of: way).indices
            if let first = range.first, let last = range.last {
                uses[Int(nodes[first])] = 2
                uses[Int(nodes[last])] = 2
            }
            guard !places.barriers.isEmpty else { continue }
            for index in range where places.barriers[nodes[index]]?.affects(ways.ways[way].rule) == true {
                uses[Int(nodes[index])] = 2
            }
        }
        return uses.map { $0 >= 2 }
    }

    private mutating func split(
        _ way: Int, _ ways: StreetWays, _ nodes: [UInt32], _ isJunction: [Bool], _ places: NodePlaces
    ) {
        var start: (node: UInt32, firstShape: Int)?
        var last: (node: UInt32, point: StreetPoint)?
        for index in ways.keys(of: way).indices {
            let node = nodes[index]
            guard let point = places.point(Int(node)) else {
                // The extract ends here. The nodes since the last junction are dropped.
                if let from = start { self.shapes.removeSubrange(from.firstShape...) }
                (start, last) = (nil, nil)
                continue
            }
            if let before = last {
                // The previous node is at the same place. Even so, a junction must become a node of the network.
                if before.point == point, !isJunction[Int(node)] { continue }
                if before.point.meters(to: point) > Self.longestStep {
                    self.leaveOut(before.point, point)
                    // The segment is left out: the way ends before it and starts again after it.
                    if let start, self.shapes.count > start.firstShape {
                        self.shapes.removeLast()
                        self.add(way, ways, from: start, to: before.node, places)
                    }
                    (start, last) = ((node, self.shapes.count), (node, point))
                    continue
                }
            }
            last = (node, point)
            if isJunction[Int(node)] {
                if let start { self.add(way, ways, from: start, to: node, places) }
                start = (node, self.shapes.count)
            } else if start != nil {
                self.shapes.append(point)
            }
        }
        // The last node of a way is a junction, so no piece is unfinished unless the way leaves the extract.
        if let from = start, self.shapes.count > from.firstShape { self.shapes.removeSubrange(from.firstShape...) }
        for point in [ways.keys(of: way).indices.first, ways.keys(of: way).indices.last] {
            if let point, let point = places.point(Int(nodes[point])), abs(Double(point.longitude)) == Self.halfTurn {
                self.gaps.meridianEnds += 1
            }
        }
    }

    /// Adds a piece with the shape points since its start.
    private mutating func add(
        _ way: Int, _ ways: StreetWays, from start: (node: UInt32, firstShape: Int), to node: UInt32,
        _ places: NodePlaces
    ) {
        let count = self.shapes.count - start.firstShape
        guard let point = places.point(Int(start.node)), start.node != node || count > 0 else { return }
        self.pieces.append(
            StreetPiece(
                from: start.node, to: node, way: UInt32(way), firstShape: start.firstShape, shapeCount: count,
                order: PlaceOrder.of(point), rule: ways.ways[way].rule))
    }

    private mutating func leaveOut(_ from: StreetPoint, _ to: StreetPoint) {
        if abs(Double(from.longitude) - Double(to.longitude)) > Self.halfTurn {
            self.gaps.meridianSteps += 1
        } else {
            self.gaps.longSteps += 1
        }
    }

    // MARK: barriers

    /// Closes streets at barriers: the first meter on each side becomes a piece of its own, for everybody who can pass. All
    /// others can reach the barrier from both sides.
    mutating func closeBarriers(_ places: inout NodePlaces) {
        guard !places.barriers.isEmpty else { return }
        var known: Set<UInt32> = []
        for index in self.pieces.indices {
            for node in [self.pieces[index].from, self.pieces[index].to] {
                guard let barrier = places.barriers[node], barrier.affects(self.pieces[index].rule) else { continue }
                known.insert(node)
                self.pieces[index].rule = barrier.slowing(self.pieces[index].rule)
                let passing = barrier.passing(self.pieces[index].rule)
                if passing != self.pieces[index].rule { self.cut(index, at: node, passing, &places) }
            }
        }
        self.gaps.barriers = known.count
    }

    /// Cuts off the end of a piece that is at a barrier.
    ///
    /// - Parameter rule: of the part that is cut off. The part is removed if nobody may use it.
    private mutating func cut(_ index: Int, at node: UInt32, _ rule: StreetRule, _ places: inout NodePlaces) {
        let piece = self.pieces[index]
        let isStart = piece.from == node
        let shape = self.shapes[piece.firstShape..<piece.firstShape + piece.shapeCount]
        let next = (isStart ? shape.first : shape.last) ?? places.points[Int(isStart ? piece.to : piece.from)]
        let point = places.points[Int(node)]
        let share = min(Self.barrierShare, Self.barrierMeters / point.meters(to: next))
        let other = places.add(point.toward(next, share))
        if isStart { self.pieces[index].from = other } else { self.pieces[index].to = other }
        guard rule.isUsable else { return }
        var end = piece
        (end.shapeCount, end.rule) = (0, rule)
        if isStart { end.to = other } else { end.from = other }
        self.pieces.append(end)
    }
}

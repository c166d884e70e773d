// Represents turn restrictions as nodes and edges, so that a search obeys them without knowing them. If a turn from a
// street is forbidden, motor vehicles on that street reach a copy of the crossing, which has only copies of the edges
// that they may take. These lead to copies of the next crossings, from which there is no way back. Otherwise a U-turn
// there would often be the fastest way around the restriction.

/// The copies that obey restrictions.
struct TurnCopies {
    /// An edge with the line of a piece, for motor vehicles in one direction.
    struct Copy {
        var piece: UInt32
        var from: UInt32
        var to: UInt32
        var rule: StreetRule
    }

    /// Ordered by piece.
    private(set) var copies: [Copy] = []
    /// The nodes that were copied. The copies are numbered after all nodes.
    private(set) var nodes: [UInt32] = []
    /// Relations that refer to missing ways or nodes, or that do not identify the turn they forbid.
    private(set) var unclear: Set<Int64> = []

    /// A restriction needs a copy of each street at its crossing. No real crossing has more streets than this.
    private static let mostStreets = 30

    /// A piece in one direction: its index times two, plus 1 if it is travelled backward.
    private typealias Half = UInt32

    private var firstCopy: UInt32 = 0
    /// The copies of crossings that can be reached from a restricted crossing, by the direction of the piece that leads there.
    private var nodesAfter: [Half: UInt32] = [:]
    private var unfinished: [Half] = []

    /// Marks the directions of pieces that have restrictions at their end.
    init(
        _ restrictions: Set<TurnRestriction>, in pieces: inout [StreetPiece], _ ways: StreetWays, _ places: NodePlaces
    ) {
        let banned = self.banned(by: restrictions, pieces, ways, places)
        self.firstCopy = UInt32(places.points.count)
        let arrivals = banned.keys.sorted()
        var heads: [Half: UInt32] = [:]
        for half in arrivals { heads[half] = self.addNode(Self.end(half, pieces)) }
        let crossings = Set(self.nodes)
        let streets = Self.pieces(at: crossings.union(Self.ends(ofPiecesAt: crossings, pieces)), pieces)
        for half in arrivals {
            guard let node = heads[half] else { continue }
            self.copy(half, from: nil, to: node, pieces)
            for next in Self.departures(from: Self.end(half, pieces), streets, pieces)
            where banned[half]?.contains(next) != true {
                self.copy(next, from: node, to: self.head(after: next, streets, pieces), pieces)
            }
        }
        while let half = self.unfinished.popLast() {
            guard let node = self.nodesAfter[half] else { continue }
            let open = Self.departures(from: Self.end(half, pieces), streets, pieces).filter {
                banned[half]?.contains($0) != true
            }
            // At a dead end, the only way is back.
            let onward = open.contains { $0 != half ^ 1 } ? open.filter { $0 != half ^ 1 } : open
            for next in onward {
                let head = banned[half] == nil ? heads[next] : self.head(after: next, streets, pieces)
                self.copy(next, from: node, to: head, pieces)
            }
        }
        for half in arrivals { pieces[Int(half >> 1)].rule.set(StreetRule.restricted(backward: half & 1 == 1)) }
        self.copies.sort { ($0.piece, $0.from, $0.to) < ($1.piece, $1.from, $1.to) }
    }

    private mutating func addNode(_ original: UInt32) -> UInt32 {
        self.nodes.append(original)
        return self.firstCopy + UInt32(self.nodes.count - 1)
    }

    /// Returns the node at the end of a piece that is entered at a restricted crossing; `nil` for its usual end.
    private mutating func head(after half: Half, _ streets: [UInt32: [UInt32]], _ pieces: [StreetPiece]) -> UInt32? {
        let end = Self.end(half, pieces)
        guard streets[end]?.count ?? 0 <= Self.mostStreets else { return nil }
        if let node = self.nodesAfter[half] { return node }
        let node = self.addNode(end)
        self.nodesAfter[half] = node
        self.unfinished.append(half)
        return node
    }

    private static func ends(ofPiecesAt nodes: Set<UInt32>, _ pieces: [StreetPiece]) -> Set<UInt32> {
        var ends: Set<UInt32> = []
        for piece in pieces where nodes.contains(piece.from) || nodes.contains(piece.to) {
            ends.formUnion([piece.from, piece.to])
        }
        return ends
    }

    /// - Parameters:
    ///   - from, to: the nodes that replace the ends of the piece; `nil` to keep an end.
    private mutating func copy(_ half: Half, from: UInt32?, to: UInt32?, _ pieces: [StreetPiece]) {
        let (piece, backward) = (pieces[Int(half >> 1)], half & 1 == 1)
        var rule = piece.rule
        for kind in TravelKind.allCases {
            rule.set(StreetRule.access(kind, backward: false) | StreetRule.access(kind, backward: true), false)
        }
        rule.set(StreetRule.access(.motor, backward: backward))
        // The line of a copy has the direction of its piece's line.
        let (start, end) = backward ? (to, from) : (from, to)
        self.copies.append(
            Copy(piece: half >> 1, from: start ?? piece.from, to: end ?? piece.to, rule: rule))
    }

    /// Returns the pieces that must not follow each direction of a piece.
    private mutating func banned(
        by restrictions: Set<TurnRestriction>, _ pieces: [StreetPiece], _ ways: StreetWays, _ places: NodePlaces
    ) -> [Half: Set<Half>] {
        var banned: [Half: Set<Half>] = [:]
        var allowed: [Half: Set<Half>] = [:]
        let vias = restrictions.compactMap { places.index(of: $0.via).map { UInt32($0) } }
        let crossings = Self.pieces(at: Set(vias), pieces)
        for restriction in restrictions {
            guard let via = places.index(of: restriction.via).map({ UInt32($0) }), let near = crossings[via],
                near.count <= Self.mostStreets, let from = Self.only(restriction.from, near, pieces, ways),
                let to = Self.only(restriction.to, near, pieces, ways)
            else {
                self.unclear.insert(restriction.id)
                continue
            }
            let arrival = from << 1 | (pieces[Int(from)].to == via ? 0 : 1)
            let next = to << 1 | (pieces[Int(to)].from == via ? 0 : 1)
            guard Self.isOpen(arrival, pieces) else { continue }
            if !restriction.isOnly {
                banned[arrival, default: []].insert(next)
            } else if Self.isOpen(next, pieces) {
                allowed[arrival, default: []].insert(next)
            }
        }
        for (arrival, allowed) in allowed {
            let departures = Self.departures(from: Self.end(arrival, pieces), crossings, pieces)
            banned[arrival, default: []].formUnion(departures.filter { !allowed.contains($0) })
        }
        return banned
    }

    /// Returns the only piece of a way that ends at a crossing. `nil` if there is none, or if there are two: then the way
    /// passes through the crossing, and the restriction does not identify the piece.
    private static func only(_ way: Int64, _ near: [UInt32], _ pieces: [StreetPiece], _ ways: StreetWays) -> UInt32? {
        let found = near.filter { ways.ways[Int(pieces[Int($0)].way)].id == way }
        return found.count == 1 && !pieces[Int(found[0])].isLoop ? found[0] : nil
    }

    private static func pieces(at nodes: Set<UInt32>, _ pieces: [StreetPiece]) -> [UInt32: [UInt32]] {
        var found: [UInt32: [UInt32]] = [:]
        guard !nodes.isEmpty else { return found }
        for (index, piece) in pieces.enumerated() {
            if nodes.contains(piece.from) { found[piece.from, default: []].append(UInt32(index)) }
            if !piece.isLoop, nodes.contains(piece.to) { found[piece.to, default: []].append(UInt32(index)) }
        }
        return found
    }

    /// The directions of pieces that motor vehicles may take from a crossing.
    private static func departures(
        from node: UInt32, _ crossings: [UInt32: [UInt32]], _ pieces: [StreetPiece]
    ) -> [Half] {
        (crossings[node] ?? []).flatMap { [$0 << 1, $0 << 1 | 1] }.filter {
            self.end($0 ^ 1, pieces) == node && self.isOpen($0, pieces)
        }
    }

    private static func end(_ half: Half, _ pieces: [StreetPiece]) -> UInt32 {
        half & 1 == 0 ? pieces[Int(half >> 1)].to : pieces[Int(half >> 1)].from
    }

    private static func isOpen(_ half: Half, _ pieces: [StreetPiece]) -> Bool {
        pieces[Int(half >> 1)].rule.allows(.motor, backward: half & 1 == 1)
    }
}

// Turn restrictions as nodes and edges, so that a search obeys them without knowing them. A way from which a turn is
// forbidden leads motor vehicles to a copy of the crossing, which has copies of the edges that they may take, and no others.

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
    /// The nodes of which copies were made. The copies have the numbers that follow those of all nodes.
    private(set) var nodes: [UInt32] = []
    /// Relations that name ways or nodes that are missing, or that do not say which turn they forbid.
    private(set) var unclear: Set<Int64> = []

    /// A restriction needs a copy of each street at its crossing. No real crossing has more streets.
    private static let mostStreets = 30

    /// A piece in one direction: its index times two, plus 1 if it is travelled backward.
    private typealias Half = UInt32

    /// Marks the directions of pieces that have restrictions at their end.
    init(
        _ restrictions: Set<TurnRestriction>, in pieces: inout [StreetPiece], _ ways: StreetWays, _ places: NodePlaces
    ) {
        let banned = self.banned(by: restrictions, pieces, ways, places)
        let arrivals = banned.keys.sorted()
        var heads: [Half: UInt32] = [:]
        for half in arrivals {
            heads[half] = UInt32(places.keys.count + self.nodes.count)
            self.nodes.append(Self.end(half, pieces))
        }
        let crossings = Self.pieces(at: Set(self.nodes), pieces)
        for (index, half) in arrivals.enumerated() {
            let crossing = UInt32(places.keys.count + index)
            self.copy(half, from: nil, to: crossing, pieces)
            for next in Self.departures(from: self.nodes[index], crossings, pieces)
            where banned[half]?.contains(next) != true {
                self.copy(next, from: crossing, to: heads[next], pieces)
            }
        }
        for half in arrivals { pieces[Int(half >> 1)].rule.set(StreetRule.restricted(backward: half & 1 == 1)) }
        self.copies.sort { ($0.piece, $0.from, $0.to) < ($1.piece, $1.from, $1.to) }
    }

    /// - Parameters:
    ///   - from, to: other nodes than those of the piece.
    private mutating func copy(_ half: Half, from: UInt32?, to: UInt32?, _ pieces: [StreetPiece]) {
        let (piece, backward) = (pieces[Int(half >> 1)], half & 1 == 1)
        var rule = piece.rule
        for kind in TravelKind.allCases {
            rule.set(StreetRule.access(kind, backward: false) | StreetRule.access(kind, backward: true), false)
        }
        rule.set(StreetRule.access(.motor, backward: backward))
        // The line of a copy runs as that of its piece.
        let (start, end) = backward ? (to, from) : (from, to)
        self.copies.append(
            Copy(piece: half >> 1, from: start ?? piece.from, to: end ?? piece.to, rule: rule))
    }

    /// For each direction of a piece the next ones that must not follow.
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

    /// The piece of a way that ends at a crossing; `nil` if there is none or several, because the way passes through.
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

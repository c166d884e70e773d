// Lines of GeoJSON files may overlap. Only their coordinates show that they are the same street. The common part
// becomes one street, so that a bend in it does not count as a crossing.

enum RepeatedPieces {
    /// Removes each piece of a GeoJSON line that has the same ends, shape and rule as an earlier one, also if it runs in the
    /// other direction.
    ///
    /// - Parameter shapes: the points of all pieces. Those of removed pieces remain.
    static func remove(from pieces: inout [StreetPiece], _ ways: StreetWays, _ shapes: [StreetPoint]) {
        // The first piece for each hash. Other pieces with the same hash are stored under the following numbers.
        var known: [Int: Int] = [:]
        var kept = 0
        for index in pieces.indices {
            let piece = pieces[index]
            if ways.ways[Int(piece.way)].id == nil {
                let line = Line(piece, shapes)
                var hash = line.hashValue
                while let other = known[hash], Line(pieces[other], shapes) != line { hash &+= 1 }
                guard known[hash] == nil else { continue }
                known[hash] = kept
            }
            pieces[kept] = piece
            kept += 1
        }
        pieces.removeSubrange(kept...)
    }

    /// A piece in the direction from its smaller node to its larger one.
    private struct Line: Hashable {
        let (from, to): (UInt32, UInt32)
        let shape: [StreetPoint]
        let rule: StreetRule

        init(_ piece: StreetPiece, _ shapes: [StreetPoint]) {
            let shape = shapes[piece.firstShape..<piece.firstShape + piece.shapeCount]
            let isBackward = piece.from > piece.to
            (self.from, self.to) = isBackward ? (piece.to, piece.from) : (piece.from, piece.to)
            self.shape = isBackward ? shape.reversed() : Array(shape)
            self.rule = isBackward ? piece.rule.reversed : piece.rule
        }
    }
}

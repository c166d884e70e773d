// Finds the edges near a place, through the grid of the compiled file.

/// The point of an edge that is nearest to a place.
struct NearEdge {
    var edge: Int
    var point: StreetPoint
    var metersAlong: Double
    /// Meters from the place.
    var meters: Double
}

extension StreetGraph {
    /// - Parameter isUsable: decides by an edge's rule.
    /// - Returns: the nearest first; edges at the same distance in the order of their numbers.
    func nearest(
        _ place: StreetPoint, within meters: Double, atMost: Int, where isUsable: (UInt32) -> Bool
    ) -> [NearEdge] {
        guard atMost > 0, meters >= 0 else { return [] }
        let plane = LocalPlane(place)
        var found: [Int: NearEdge] = [:]
        self.visitEdges(near: plane, within: meters) { edge in
            guard found[edge] == nil, isUsable(self.edges[edge].rule) else { return }
            let near = self.nearest(edge, plane)
            guard near.meters <= meters else { return }
            found[edge] = near
        }
        let sorted = found.values.sorted { ($0.meters, $0.edge) < ($1.meters, $1.edge) }
        return Array(sorted.prefix(atMost))
    }

    private func nearest(_ edge: Int, _ plane: LocalPlane) -> NearEdge {
        let line = self.line(of: edge)
        var best = NearEdge(edge: edge, point: line.start, metersAlong: 0, meters: .infinity)
        var along = 0.0
        var previous = line.start
        for index in 1..<line.count {
            let next = line[index]
            let length = previous.meters(to: next)
            let (meters, share) = plane.nearest(previous, next)
            if meters < best.meters {
                best.meters = meters
                best.metersAlong = along + length * share
                best.point = previous.toward(next, share)
            }
            along += length
            previous = next
        }
        best.metersAlong = min(best.metersAlong, self.meters(of: edge))
        return best
    }
}

// A* with landmarks from places on edges to places on edges.

/// A place on an edge where a search starts or ends.
struct SearchPlace: Hashable {
    var edge: Int
    /// Metres along the edge's line from its start, between 0 and its length.
    var metersAlong: Double
    /// Seconds in addition, because the place is not the nearest street.
    var extraSeconds: Double
}

/// What a search found: half edges between the edge of a start and that of a target.
struct FoundPath {
    var seconds: Double
    /// Indices of the start and the target in the lists of the query.
    var start: Int
    var target: Int
    /// Complete edges between them, in order.
    var halves: [UInt32]
    /// The edge of the start is left, and that of the target entered, backward. Both have the same meaning if start and target
    /// are on one edge and `halves` is empty and `isDirect`.
    var leavesBackward: Bool
    var entersBackward: Bool
    /// Start and target are on one edge, which is used from one to the other.
    var isDirect: Bool
}

struct RouteSearch {
    let graph: StreetGraph
    let costs: TravelCosts
    /// The least ratio of the vehicle's seconds and those of the landmarks.
    let landmarkScale: Float
    /// km/h.
    let fastest: Double

    /// A search that has visited this many nodes gives up.
    static let maxVisited = 2_000_000
    /// The most ways to leave the places where a search starts. More would not fit into `SearchLabel.via`.
    private static let maxStarts = 128

    private struct Start {
        var node: Int
        var seconds: Float
        var place: Int
        var backward: Bool
    }

    /// - Returns: `nil` if no target can be reached.
    func find(
        from starts: [SearchPlace], to targets: [SearchPlace], _ space: SearchSpace, maxVisited: Int = Self.maxVisited
    ) -> FoundPath? {
        let direct = self.direct(starts, targets)
        let (leaving, entering) = (Array(self.leaving(starts).prefix(Self.maxStarts)), self.entering(targets))
        guard !entering.isEmpty, !leaving.isEmpty else { return direct }
        let bounds = LandmarkBounds(
            self.graph, self.costs.kind, scale: self.landmarkScale, fastest: self.fastest,
            starts: leaving.map(\.node), targets: entering.map { Int($0.node) })
        let longest = direct.map { Float($0.seconds) } ?? .infinity
        var run = SearchRun(self.graph, self.costs, bounds, to: entering, fasterThan: longest, space)
        // The search owns the heap meanwhile, so that Swift need not check for other accesses.
        swap(&run.heap, &space.heap)
        defer { swap(&run.heap, &space.heap) }
        for start in leaving {
            run.start(
                at: UInt32(start.node), seconds: start.seconds,
                from: UInt32(self.graph.street(starts[start.place].edge)))
        }
        run.run(maxVisited: maxVisited)
        space.visited += run.visited
        guard let target = run.best.target, let way = run.way(to: target) else { return direct }
        let start = leaving[way.start]
        return FoundPath(
            seconds: Double(run.best.seconds), start: start.place, target: target.place, halves: way.halves,
            leavesBackward: start.backward, entersBackward: target.backward, isDirect: false)
    }

    /// The way along one edge, if a start and a target are on the same.
    private func direct(_ starts: [SearchPlace], _ targets: [SearchPlace]) -> FoundPath? {
        var best: FoundPath?
        for (startIndex, start) in starts.enumerated() {
            for (targetIndex, target) in targets.enumerated() where target.edge == start.edge {
                let backward = target.metersAlong < start.metersAlong
                let rule = self.graph.edges[start.edge].rule
                let meters = abs(target.metersAlong - start.metersAlong)
                // Nobody travels to be in the same place.
                guard meters == 0 || self.costs.allowsPart(rule, backward: backward ? 1 : 0) else { continue }
                let seconds =
                    start.extraSeconds + target.extraSeconds + self.costs.seconds(rule, meters: meters)
                guard seconds < best?.seconds ?? .infinity else { continue }
                best = FoundPath(
                    seconds: seconds, start: startIndex, target: targetIndex, halves: [], leavesBackward: backward,
                    entersBackward: backward, isDirect: true)
            }
        }
        return best
    }

    private func leaving(_ places: [SearchPlace]) -> [Start] {
        places.enumerated().flatMap { index, place -> [Start] in
            let edge = self.graph.edges[place.edge]
            return [false, true].compactMap { backward in
                guard self.costs.allows(edge.rule, backward: backward ? 1 : 0) else { return nil }
                let meters = backward ? place.metersAlong : self.graph.meters(of: place.edge) - place.metersAlong
                let seconds =
                    place.extraSeconds + self.costs.seconds(edge.rule, meters: max(0, meters))
                    + Double(self.costs.delay(edge.rule, backward: backward ? 1 : 0))
                guard seconds.isFinite else { return nil }
                return Start(
                    node: Int(backward ? edge.from : edge.to), seconds: Float(seconds), place: index,
                    backward: backward)
            }
        }
    }

    private func entering(_ places: [SearchPlace]) -> [SearchTarget] {
        places.enumerated().flatMap { index, place -> [SearchTarget] in
            let edge = self.graph.edges[place.edge]
            return [false, true].compactMap { backward in
                guard self.costs.allowsPart(edge.rule, backward: backward ? 1 : 0) else { return nil }
                let meters = backward ? self.graph.meters(of: place.edge) - place.metersAlong : place.metersAlong
                let seconds = place.extraSeconds + self.costs.seconds(edge.rule, meters: max(0, meters))
                guard seconds.isFinite else { return nil }
                return SearchTarget(
                    node: backward ? edge.to : edge.from, seconds: Float(seconds),
                    street: UInt32(self.graph.street(place.edge)), place: index, backward: backward)
            }
        }
    }
}

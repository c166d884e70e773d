// A* with landmarks from places on edges to places on edges.

/// A place on an edge where a search starts or ends.
struct SearchPlace: Hashable {
    var edge: Int
    /// Meters along the edge's line from its start, between 0 and its length.
    var metersAlong: Double
    /// Extra seconds, because the place is not on the nearest street.
    var extraSeconds: Double
}

/// The result of a search: the half edges between the edge of a start and that of a target.
struct FoundPath {
    var seconds: Double
    /// Indices of the start and the target in the lists of the query.
    var start: Int
    var target: Int
    /// Complete edges between them, in order.
    var halves: [UInt32]
    /// Whether the path leaves the edge of the start backward, and whether it enters the edge of the target backward. If
    /// `isDirect`, both are equal: start and target are on one edge, and `halves` is empty.
    var leavesBackward: Bool
    var entersBackward: Bool
    /// Whether the path runs along a single edge from the start to the target.
    var isDirect: Bool
}

struct RouteSearch {
    let graph: StreetGraph
    let costs: TravelCosts
    /// The smallest ratio of the vehicle's seconds to those of the landmarks.
    let landmarkScale: Float
    /// km/h.
    let fastest: Double

    /// A search that has visited this many nodes gives up.
    static let maxVisited = 2_000_000
    /// The maximum number of ways to leave the places where a search starts. More would not fit into `SearchLabel.via`.
    private static let maxStarts = 128

    private struct Start {
        var node: Int
        var seconds: Float
        var place: Int
        var backward: Bool
    }

    private struct Target {
        var node: UInt32
        var seconds: Float
        var place: Int
        var backward: Bool
    }

    /// - Returns: `nil` if no target can be reached.
    func find(
        from starts: [SearchPlace], to targets: [SearchPlace], _ space: SearchSpace, maxVisited: Int = Self.maxVisited
    ) -> FoundPath? {
        var best = self.direct(starts, targets)
        let (leaving, entering) = (Array(self.leaving(starts).prefix(Self.maxStarts)), self.entering(targets))
        guard !entering.isEmpty, !leaving.isEmpty else { return best }
        let bounds = LandmarkBounds(
            self.graph, self.costs.kind, scale: self.landmarkScale, fastest: self.fastest,
            starts: leaving.map(\.node), targets: entering.map { Int($0.node) })
        var bestSeconds = best.map { Float($0.seconds) } ?? .infinity
        var bestTarget: Target?
        space.begin()
        let (labels, stamp) = (space.labels, space.stamp)
        // The search owns the heap meanwhile, which saves Swift's checks for overlapping accesses.
        var heap = SearchHeap()
        swap(&heap, &space.heap)
        defer { swap(&heap, &space.heap) }
        for (index, start) in leaving.enumerated() {
            let label = labels[start.node]
            guard label.stamp != stamp || start.seconds < label.cost else { continue }
            let bound = bounds.seconds(self.graph, start.node)
            labels[start.node] = SearchLabel(
                stamp: stamp, cost: start.seconds, bound: bound, via: StreetGraph.maxHalves + UInt32(index))
            heap.push(start.seconds + bound, UInt32(start.node))
        }
        guard let firstHalves = self.graph.firstHalves.baseAddress, let edges = self.graph.edges.baseAddress else {
            return best
        }
        let (halves, costs) = (self.graph.halves, self.costs)
        var visited = 0
        costs.secondsPerCentimeter.withUnsafeBufferPointer { table in
            guard let perCentimeter = table.baseAddress else { return }
            while let (key, node) = heap.pop(), key < bestSeconds, visited < maxVisited {
                let label = labels[Int(node)]
                // A better label of this node has already been visited.
                if key > label.cost + label.bound { continue }
                visited += 1
                space.visited += 1
                for target in entering where target.node == node && label.cost + target.seconds < bestSeconds {
                    (bestSeconds, bestTarget) = (label.cost + target.seconds, target)
                }
                for index in Int(firstHalves[Int(node)])..<Int(firstHalves[Int(node) + 1]) {
                    let half = halves[index]
                    let (edge, backward) = (edges[Int(half >> 1)], half & 1)
                    guard costs.allows(edge.rule, backward: backward) else { continue }
                    let cost =
                        label.cost
                        + costs.seconds(edge.rule, centimeters: Float(edge.centimeters), perCentimeter)
                        + costs.delay(edge.rule, backward: backward)
                    let next = backward == 0 ? edge.to : edge.from
                    let known = labels[Int(next)]
                    guard cost < bestSeconds, known.stamp != stamp || cost < known.cost else { continue }
                    let bound = known.stamp == stamp ? known.bound : bounds.seconds(self.graph, Int(next))
                    labels[Int(next)] = SearchLabel(stamp: stamp, cost: cost, bound: bound, via: half)
                    heap.push(cost + bound, next)
                }
            }
        }
        guard let bestTarget else { return best }
        if let path = self.path(to: bestTarget, seconds: bestSeconds, leaving, labels) { best = path }
        return best
    }

    /// The path along one edge, if a start and a target are on the same edge.
    private func direct(_ starts: [SearchPlace], _ targets: [SearchPlace]) -> FoundPath? {
        var best: FoundPath?
        for (startIndex, start) in starts.enumerated() {
            for (targetIndex, target) in targets.enumerated() where target.edge == start.edge {
                let backward = target.metersAlong < start.metersAlong
                let rule = self.graph.edges[start.edge].rule
                let meters = abs(target.metersAlong - start.metersAlong)
                // A route between equal places is useless.
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

    private func entering(_ places: [SearchPlace]) -> [Target] {
        places.enumerated().flatMap { index, place -> [Target] in
            let edge = self.graph.edges[place.edge]
            return [false, true].compactMap { backward in
                guard self.costs.allowsPart(edge.rule, backward: backward ? 1 : 0) else { return nil }
                let meters = backward ? self.graph.meters(of: place.edge) - place.metersAlong : place.metersAlong
                let seconds = place.extraSeconds + self.costs.seconds(edge.rule, meters: max(0, meters))
                guard seconds.isFinite else { return nil }
                return Target(
                    node: backward ? edge.to : edge.from, seconds: Float(seconds), place: index, backward: backward)
            }
        }
    }

    private func path(
        to target: Target, seconds: Float, _ leaving: [Start], _ labels: UnsafeMutablePointer<SearchLabel>
    ) -> FoundPath? {
        var halves: [UInt32] = []
        var node = target.node
        while halves.count <= self.graph.nodes.count {
            let via = labels[Int(node)].via
            if via >= StreetGraph.maxHalves {
                let start = leaving[Int(via - StreetGraph.maxHalves)]
                return FoundPath(
                    seconds: Double(seconds), start: start.place, target: target.place, halves: halves.reversed(),
                    leavesBackward: start.backward, entersBackward: target.backward, isDirect: false)
            }
            halves.append(via)
            let edge = self.graph.edges[Int(via >> 1)]
            node = via & 1 == 0 ? edge.from : edge.to
        }
        return nil
    }
}

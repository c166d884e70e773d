// The lengths of the shortest paths from one position to several others nearby (Dijkstra), for a map matcher. Turn
// restrictions are ignored, because the matcher follows what drivers really did.

struct DistanceSearch {
    let graph: StreetGraph
    /// `nil` for somebody who may use every street in both directions.
    let costs: TravelCosts?

    /// Meters. No longer path is searched for.
    static let maxMeters = 20_000.0
    /// A search that has visited this many nodes gives up on the positions that it has not reached.
    static let maxVisited = 50_000

    private struct Target {
        var node: UInt32
        var meters: Float
        var index: Int
    }

    /// - Returns: one length in meters for each position of `to`.
    func find(from: StreetPosition, to: [StreetPosition], within meters: Double, _ space: SearchSpace) -> [Double?] {
        var lengths = [Double?](repeating: nil, count: to.count)
        guard let start = self.place(from) else { return lengths }
        let limit = Float(min(max(0, meters), Self.maxMeters))
        let entering = to.indices.flatMap { self.entering(to[$0], $0) }
        for (index, target) in to.enumerated() where target.edge == from.edge {
            lengths[index] = self.direct(start, target, limit)
        }
        space.begin()
        let (labels, stamp) = (space.labels, space.stamp)
        func offer(_ node: UInt32, _ cost: Float) {
            let known = labels[Int(node)]
            guard cost <= limit, known.stamp != stamp || cost < known.cost else { return }
            labels[Int(node)] = SearchLabel(stamp: stamp, cost: cost, bound: 0, via: 0)
            space.heap.push(cost, node)
        }
        let edge = self.graph.edges[start.edge]
        if self.allows(edge.rule, 0) { offer(edge.to, Float(self.graph.meters(of: start.edge) - start.metersAlong)) }
        if self.allows(edge.rule, 1) { offer(edge.from, Float(start.metersAlong)) }
        let wanted = Set(entering.map(\.node))
        // Targets to which not all paths have been started yet.
        var left = wanted.count
        var visited = 0
        while left > 0, visited < Self.maxVisited, let (cost, node) = space.heap.pop() {
            guard cost == labels[Int(node)].cost else { continue }
            visited += 1
            if wanted.contains(node) {
                left -= 1
                for target in entering where target.node == node {
                    let sum = Double(cost + target.meters)
                    if sum <= Double(limit), sum < lengths[target.index] ?? .infinity { lengths[target.index] = sum }
                }
            }
            for index in Int(self.graph.firstHalves[Int(node)])..<Int(self.graph.firstHalves[Int(node) + 1]) {
                let half = self.graph.halves[index]
                let edge = self.graph.edges[Int(half >> 1)]
                guard Int(half >> 1) < self.graph.streetCount, self.allows(edge.rule, half & 1) else { continue }
                offer(half & 1 == 0 ? edge.to : edge.from, cost + Float(edge.centimeters) / 100)
            }
        }
        return lengths
    }

    private func allows(_ rule: UInt32, _ backward: UInt32) -> Bool {
        self.costs?.allowsPart(rule, backward: backward) ?? true
    }

    /// - Returns: `nil` for an edge that is not in the file.
    private func place(_ position: StreetPosition) -> SearchPlace? {
        guard position.edge < self.graph.streetCount, !position.metersAlong.isNaN else { return nil }
        let edge = Int(position.edge)
        return SearchPlace(
            edge: edge, metersAlong: min(max(0, position.metersAlong), self.graph.meters(of: edge)), extraSeconds: 0)
    }

    private func direct(_ start: SearchPlace, _ target: StreetPosition, _ limit: Float) -> Double? {
        guard let target = self.place(target) else { return nil }
        let meters = abs(target.metersAlong - start.metersAlong)
        let backward: UInt32 = target.metersAlong < start.metersAlong ? 1 : 0
        guard meters <= Double(limit), meters == 0 || self.allows(self.graph.edges[start.edge].rule, backward) else {
            return nil
        }
        return meters
    }

    private func entering(_ position: StreetPosition, _ index: Int) -> [Target] {
        guard let place = self.place(position) else { return [] }
        let edge = self.graph.edges[place.edge]
        var targets: [Target] = []
        if self.allows(edge.rule, 0) {
            targets.append(Target(node: edge.from, meters: Float(place.metersAlong), index: index))
        }
        if self.allows(edge.rule, 1) {
            let meters = self.graph.meters(of: place.edge) - place.metersAlong
            targets.append(Target(node: edge.to, meters: Float(meters), index: index))
        }
        return targets
    }
}

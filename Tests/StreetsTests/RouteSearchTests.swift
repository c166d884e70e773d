import EnrouteWire
import Testing

@testable import Streets

/// A* with landmarks against Dijkstra.
@Suite struct RouteSearchTests {
    private let folder: TemporaryPlace

    init() throws { self.folder = try TemporaryPlace() }

    /// The least seconds between two positions, by a plain search over all edges (Bellman and Ford).
    private static func least(_ graph: StreetGraph, _ costs: TravelCosts, _ from: SearchPlace, _ to: SearchPlace)
        -> Double
    {
        var seconds = [Double](repeating: .infinity, count: graph.nodes.count)
        func part(_ edge: Int, _ from: Double, _ to: Double) -> Double? {
            let rule = graph.edges[edge].rule
            guard from == to || costs.allows(rule, backward: to < from ? 1 : 0) else { return nil }
            return costs.seconds(rule, meters: abs(to - from))
        }
        let start = graph.edges[from.edge]
        let length = graph.meters(of: from.edge)
        if costs.allows(start.rule, backward: 0), let cost = part(from.edge, from.metersAlong, length) {
            seconds[Int(start.to)] = cost + Double(costs.delay(start.rule, backward: 0))
        }
        if costs.allows(start.rule, backward: 1), let cost = part(from.edge, from.metersAlong, 0) {
            seconds[Int(start.from)] = min(
                seconds[Int(start.from)], cost + Double(costs.delay(start.rule, backward: 1)))
        }
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for (index, edge) in graph.edges.enumerated() {
                for backward: UInt32 in 0...1 where costs.allows(edge.rule, backward: backward) {
                    let (a, b) = backward == 0 ? (edge.from, edge.to) : (edge.to, edge.from)
                    let sum =
                        seconds[Int(a)] + costs.seconds(edge.rule, meters: graph.meters(of: index))
                        + Double(costs.delay(edge.rule, backward: backward))
                    if sum < seconds[Int(b)] - 1e-9 {
                        seconds[Int(b)] = sum
                        hasChanged = true
                    }
                }
            }
        }
        let target = graph.edges[to.edge]
        var best = from.edge == to.edge ? part(to.edge, from.metersAlong, to.metersAlong) ?? .infinity : .infinity
        if costs.allows(target.rule, backward: 0), let cost = part(to.edge, 0, to.metersAlong) {
            best = min(best, seconds[Int(target.from)] + cost)
        }
        if costs.allows(target.rule, backward: 1), let cost = part(to.edge, graph.meters(of: to.edge), to.metersAlong) {
            best = min(best, seconds[Int(target.to)] + cost)
        }
        return best
    }

    @Test(arguments: 1...20)
    func `a search with landmarks finds the fastest route for every vehicle`(_ seed: UInt64) throws {
        let network = try Town.network(Town.random(seed: seed), in: self.folder)
        let graph = network.graph
        let space = try #require(SearchSpace(nodes: graph.nodes.count))
        var random = Seeded(state: seed)
        var found = 0
        for vehicle in Vehicle.allCases {
            let costs = TravelCosts(vehicle)
            let search = RouteSearch(
                graph: graph, costs: costs, landmarkScale: graph.landmarkScale(costs), fastest: 130)
            for _ in 0..<12 {
                let places = (0..<2).map { _ in
                    let edge = Int.random(in: 0..<graph.edges.count, using: &random)
                    return SearchPlace(
                        edge: edge, metersAlong: .random(in: 0...graph.meters(of: edge), using: &random),
                        extraSeconds: 0)
                }
                let least = Self.least(graph, costs, places[0], places[1])
                let path = search.find(from: [places[0]], to: [places[1]], space)
                #expect((path == nil) == least.isInfinite)
                if let path {
                    found += 1
                    #expect(abs(path.seconds - least) < 0.01 + least * 1e-4, "\(vehicle)")
                }
            }
        }
        #expect(found > 20)
    }

    @Test func `a search gives up after a number of nodes`() throws {
        let network = try Town.network(Town.random(seed: 1), in: self.folder)
        let graph = network.graph
        let space = try #require(SearchSpace(nodes: graph.nodes.count))
        let search = RouteSearch(graph: graph, costs: TravelCosts(.foot), landmarkScale: 0, fastest: 5)
        let ends = [0, graph.edges.count - 1].map { SearchPlace(edge: $0, metersAlong: 1, extraSeconds: 0) }
        #expect(search.find(from: [ends[0]], to: [ends[1]], space) != nil)
        #expect(search.find(from: [ends[0]], to: [ends[1]], space, maxVisited: 5) == nil)
    }
}

// The labels of one search, and its steps. Where turns are restricted, the way to a node decides what it costs to leave it
// again: turning round takes time. So a node has two labels then: its fastest arrival, and its fastest one by another street.
// Leaving by a street costs the first label, or, if that would be turning round, the second one or the first and the turn.

/// A way onto the street of a destination, or a destination itself.
struct SearchTarget {
    var node: UInt32
    var seconds: Float
    /// Of the destination.
    var street: UInt32
    var place: Int
    var backward: Bool
}

struct SearchRun {
    let graph: StreetGraph
    let costs: TravelCosts
    let bounds: LandmarkBounds
    let targets: [SearchTarget]
    private let labels: UnsafeMutablePointer<SearchLabel>
    private let others: UnsafeMutablePointer<OtherLabel>?
    private let stamp: UInt32
    var heap = SearchHeap()
    private(set) var visited = 0
    /// The best way to a target so far.
    private(set) var best: (seconds: Float, target: SearchTarget?)

    /// By start.
    private var startStreets: [UInt32] = []

    /// No street matters.
    private static let noStreet = UInt32.max

    /// - Parameter longest: seconds; a slower way is not searched for.
    init(
        _ graph: StreetGraph, _ costs: TravelCosts, _ bounds: LandmarkBounds, to targets: [SearchTarget],
        fasterThan longest: Float, _ space: SearchSpace
    ) {
        (self.graph, self.costs, self.bounds, self.targets) = (graph, costs, bounds, targets)
        space.begin()
        (self.labels, self.stamp) = (space.labels, space.stamp)
        // Without restrictions, the fastest way never turns round.
        self.others = costs.turnSeconds > 0 && !graph.copies.isEmpty ? space.others : nil
        self.best = (longest, nil)
    }

    /// - Parameters:
    ///   - node: where the street of a start is left.
    ///   - seconds: from the start to the node.
    mutating func start(at node: UInt32, seconds: Float, from street: UInt32) {
        self.startStreets.append(street)
        self.arrive(node, seconds, via: StreetGraph.maxHalves + UInt32(self.startStreets.count - 1))
    }

    mutating func run(maxVisited: Int) {
        guard let firstHalves = self.graph.firstHalves.baseAddress, let edges = self.graph.edges.baseAddress else {
            return
        }
        let (halves, costs) = (self.graph.halves, self.costs)
        costs.secondsPerCentimeter.withUnsafeBufferPointer { table in
            guard let perCentimeter = table.baseAddress else { return }
            while let (key, node) = self.heap.pop(), key < self.best.seconds, self.visited < maxVisited {
                let label = self.labels[Int(node)]
                let isOther = key > label.cost + label.bound
                // A better label of this node was visited already.
                if isOther, self.other(node).map({ $0.cost + label.bound != key }) ?? true { continue }
                self.visited += 1
                let street = self.others == nil ? Self.noStreet : self.street(label.via)
                let cost = isOther ? self.other(node)?.cost ?? .infinity : label.cost
                for target in self.targets where target.node == node {
                    guard let sum = self.leave(node, cost, by: target.street, from: street, isOther),
                        sum + target.seconds < self.best.seconds
                    else { continue }
                    self.best = (sum + target.seconds, target)
                }
                for index in Int(firstHalves[Int(node)])..<Int(firstHalves[Int(node) + 1]) {
                    let half = halves[index]
                    let (edge, backward) = (edges[Int(half >> 1)], half & 1)
                    guard costs.allows(edge.rule, backward: backward) else { continue }
                    var left = cost
                    if street != Self.noStreet {
                        guard let sum = self.leave(node, cost, by: self.street(half), from: street, isOther) else {
                            continue
                        }
                        left = sum
                    }
                    let sum =
                        left + costs.seconds(edge.rule, centimeters: Float(edge.centimeters), perCentimeter)
                        + costs.delay(edge.rule, backward: backward)
                    if sum < self.best.seconds { self.arrive(backward == 0 ? edge.to : edge.from, sum, via: half) }
                }
            }
        }
    }

    /// The cost of leaving a node by a street; `nil` if another label of the node decides it.
    ///
    /// - Parameters:
    ///   - cost: of the label.
    ///   - street: of the node's first label.
    ///   - isOther: with its second label, which only serves to leave by that street.
    @inline(__always)
    private func leave(_ node: UInt32, _ cost: Float, by next: UInt32, from street: UInt32, _ isOther: Bool) -> Float? {
        if isOther { return next == street ? cost : nil }
        return next == street ? min(cost + self.costs.turnSeconds, self.other(node)?.cost ?? .infinity) : cost
    }

    @inline(__always)
    private mutating func arrive(_ node: UInt32, _ cost: Float, via: UInt32) {
        let known = self.labels[Int(node)]
        guard known.stamp == self.stamp else {
            let bound = self.bounds.seconds(self.graph, Int(node))
            self.labels[Int(node)] = SearchLabel(stamp: self.stamp, cost: cost, bound: bound, via: via)
            return self.heap.push(cost + bound, node)
        }
        if cost < known.cost {
            self.labels[Int(node)] = SearchLabel(stamp: self.stamp, cost: cost, bound: known.bound, via: via)
            self.heap.push(cost + known.bound, node)
            if let others, self.street(known.via) != self.street(via) {
                others[Int(node)] = OtherLabel(stamp: self.stamp, cost: known.cost, via: known.via)
                self.heap.push(known.cost + known.bound, node)
            }
        } else if let others, cost < known.cost + self.costs.turnSeconds, self.street(known.via) != self.street(via),
            cost < self.other(node)?.cost ?? .infinity
        {
            others[Int(node)] = OtherLabel(stamp: self.stamp, cost: cost, via: via)
            self.heap.push(cost + known.bound, node)
        }
    }

    @inline(__always)
    private func other(_ node: UInt32) -> OtherLabel? {
        guard let label = self.others?[Int(node)], label.stamp == self.stamp else { return nil }
        return label
    }

    /// The street of a half edge or of a start.
    @inline(__always)
    private func street(_ via: UInt32) -> UInt32 {
        via < StreetGraph.maxHalves
            ? UInt32(self.graph.street(Int(via >> 1))) : self.startStreets[Int(via - StreetGraph.maxHalves)]
    }

    /// The way to a target: half edges in order, and the number of the start. `nil` if it is longer than the network, which
    /// only a damaged file can cause.
    func way(to target: SearchTarget) -> (halves: [UInt32], start: Int)? {
        var halves: [UInt32] = []
        var (node, next) = (target.node, target.street)
        while halves.count <= self.graph.nodes.count {
            let label = self.labels[Int(node)]
            var via = label.via
            if self.others != nil, next == self.street(via), let other = self.other(node),
                other.cost < label.cost + self.costs.turnSeconds
            {
                via = other.via
            }
            if via >= StreetGraph.maxHalves { return (halves.reversed(), Int(via - StreetGraph.maxHalves)) }
            halves.append(via)
            next = self.street(via)
            let edge = self.graph.edges[Int(via >> 1)]
            node = via & 1 == 0 ? edge.from : edge.to
        }
        return nil
    }
}

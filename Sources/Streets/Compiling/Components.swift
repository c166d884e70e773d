// Marks the edges from which all other edges can be reached and which can be reached from all. A route must not start
// or end in a courtyard that is cut off only by a gap in the data.

extension BuiltNetwork {
    /// A strongly connected part with fewer nodes is an island, unless it is the largest.
    private static let fewestNodes = 500

    /// Sets `StreetRule.connected` for each kind of travel.
    mutating func markConnected() {
        for kind in TravelKind.allCases {
            let part = self.parts(kind)
            var sizes: [UInt32: Int] = [:]
            for part in part { sizes[part, default: 0] += 1 }
            let largest = sizes.values.max() ?? 0
            for index in self.edges.indices {
                let edge = self.edges[index]
                let (from, to) = (part[Int(edge.from)], part[Int(edge.to)])
                guard from == to, let size = sizes[from], size == largest || size >= Self.fewestNodes else { continue }
                let rule = StreetRule(bits: edge.rule)
                guard rule.allows(kind, backward: false) || rule.allows(kind, backward: true) else { continue }
                self.edges[index].rule |= StreetRule.connected(kind)
                // A street with a turn restriction may be connected through its copies alone.
                if index >= self.streets.count {
                    self.edges[Int(self.copies[index - self.streets.count])].rule |= StreetRule.connected(kind)
                }
            }
        }
    }

    /// Returns the number of the strongly connected part of each node (Tarjan 1972, without recursion).
    func parts(_ kind: TravelKind) -> [UInt32] {
        let count = self.nodes.count
        let none = UInt32.max
        var part = [UInt32](repeating: none, count: count)
        var order = [UInt32](repeating: none, count: count)
        var low = [UInt32](repeating: 0, count: count)
        var open: [UInt32] = []
        var (nextOrder, nextPart): (UInt32, UInt32) = (0, 0)
        /// The nodes on the path, and which of their half edges is next.
        var path: [(node: UInt32, half: UInt32)] = []
        for root in 0..<count where order[root] == none {
            path.append((UInt32(root), self.firstHalves[root]))
            while let (node, half) = path.last {
                let index = Int(node)
                if order[index] == none {
                    (order[index], low[index]) = (nextOrder, nextOrder)
                    nextOrder += 1
                    open.append(node)
                }
                if half < self.firstHalves[index + 1] {
                    path[path.count - 1].half += 1
                    let taken = self.halves[Int(half)]
                    let edge = self.edges[Int(taken >> 1)]
                    guard StreetRule(bits: edge.rule).allows(kind, backward: taken & 1 == 1) else { continue }
                    let next = Int(taken & 1 == 1 ? edge.from : edge.to)
                    if order[next] == none {
                        path.append((UInt32(next), self.firstHalves[next]))
                    } else if part[next] == none {
                        low[index] = min(low[index], order[next])
                    }
                    continue
                }
                path.removeLast()
                if let parent = path.last { low[Int(parent.node)] = min(low[Int(parent.node)], low[index]) }
                guard low[index] == order[index] else { continue }
                while let member = open.popLast() {
                    part[Int(member)] = nextPart
                    if member == node { break }
                }
                nextPart += 1
            }
        }
        return part
    }
}

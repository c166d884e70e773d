// Selects landmarks at the edge of the network, each as far as possible from the others, and calculates the travel times
// between them and all nodes.

extension BuiltNetwork {
    /// Fills `landmarks`, for each kind of travel.
    mutating func selectLandmarks(count: Int) {
        self.landmarkCount = count
        self.landmarks = []
        self.landmarkUnits = []
        self.landmarks.reserveCapacity(TravelKind.allCases.count * self.nodes.count * count * 2)
        for kind in TravelKind.allCases { self.addLandmarks(count, kind) }
    }

    private mutating func addLandmarks(_ count: Int, _ kind: TravelKind) {
        let costs = TravelCosts.fastest(kind)
        // By half edge.
        let seconds = self.edges.flatMap { edge in
            [UInt32(0), 1].map { backward in
                Float(costs.seconds(edge.rule, meters: Double(edge.centimeters) / 100))
                    + costs.delay(edge.rule, backward: backward)
            }
        }
        var distances: [(from: [Float], to: [Float])] = []
        // The smallest distance of each node from the landmarks selected so far.
        var nearest = [Float](repeating: .infinity, count: self.nodes.count)
        if let first = self.start(kind) {
            var landmark = self.farthest(self.distances(from: first, kind, seconds, toward: false)) ?? first
            for _ in 0..<count {
                let from = self.distances(from: landmark, kind, seconds, toward: false)
                distances.append((from, self.distances(from: landmark, kind, seconds, toward: true)))
                for node in nearest.indices { nearest[node] = min(nearest[node], from[node]) }
                landmark = self.farthest(nearest) ?? landmark
            }
        }
        let longest =
            distances.flatMap { [$0.from, $0.to] }.map { $0.lazy.filter(\.isFinite).max() ?? 0 }.max() ?? 0
        let unit = max(0.001, longest / Float(Landmarks.unreachable - 1))
        self.landmarkUnits.append(unit.bitPattern)
        for node in self.nodes.indices {
            for landmark in 0..<count {
                let values = landmark < distances.count ? distances[landmark] : ([], [])
                for value in [values.0, values.1] {
                    self.landmarks.append(
                        node < value.count && value[node].isFinite
                            ? UInt16(min(Float(Landmarks.unreachable - 1), value[node] / unit))
                            : Landmarks.unreachable)
                }
            }
        }
    }

    /// A node of the largest part for a kind of travel.
    private func start(_ kind: TravelKind) -> Int? {
        let part = self.parts(kind)
        var sizes: [UInt32: Int] = [:]
        for part in part { sizes[part, default: 0] += 1 }
        guard let largest = sizes.max(by: { ($0.value, $1.key) < ($1.value, $0.key) }) else { return nil }
        return part.firstIndex(of: largest.key)
    }

    private func farthest(_ distances: [Float]) -> Int? {
        distances.indices.filter { distances[$0].isFinite }.max { distances[$0] < distances[$1] }
    }

    /// The seconds from a node to all others, or from all others to it (Dijkstra).
    ///
    /// - Parameter seconds: of each half edge.
    func distances(from start: Int, _ kind: TravelKind, _ seconds: [Float], toward: Bool) -> [Float] {
        var distances = [Float](repeating: .infinity, count: self.nodes.count)
        distances[start] = 0
        var heap = SearchHeap()
        heap.push(0, UInt32(start))
        while let (cost, node) = heap.pop() {
            guard cost == distances[Int(node)] else { continue }
            self.visit(Int(node), kind, toward: toward) { half, other in
                let sum = cost + seconds[half]
                guard sum < distances[other] else { return }
                distances[other] = sum
                heap.push(sum, UInt32(other))
            }
        }
        return distances
    }
}

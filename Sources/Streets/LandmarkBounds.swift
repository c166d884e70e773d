// Lower bounds of travel times from the distances of landmarks (ALT: Goldberg and Harrelson 2005, "Computing the shortest
// path: A* search meets graph theory"). For a landmark L: d(v, t) >= d(L, t) - d(L, v), and d(v, t) >= d(v, L) - d(t, L).

enum Landmarks {
    /// The number of landmarks that `enroute streets build` selects for each kind of travel.
    static let usualCount = 12
    static let maxCount = 32
    /// A node that is not connected to a landmark.
    static let unreachable = UInt16.max
    /// The number of landmarks that a search uses: those with the highest bounds at its start.
    static let activeCount = 8
}

/// The bounds for one search.
struct LandmarkBounds {
    private struct Active {
        /// Index of the landmark's value `from` at node 0; `to` follows it.
        var index = 0
        /// The least distance from the landmark to a target, and the greatest from a target to the landmark, in units.
        var toTargets: Float = 0
        var fromTargets: Float = 0
    }

    private let values: UnsafePointer<UInt16>?
    /// Values per node.
    private let stride: Int
    /// Seconds of this vehicle per unit.
    private let secondsPerUnit: Float
    private var active = InlineArray<8, Active>(repeating: Active())
    private var activeCount = 0
    private let plane: StraightBound?

    /// - Parameters:
    ///   - starts, targets: nodes.
    ///   - scale: the smallest ratio of the vehicle's seconds to those of the landmarks.
    init(_ graph: StreetGraph, _ kind: TravelKind, scale: Float, fastest: Double, starts: [Int], targets: [Int]) {
        let count = graph.landmarksPerKind
        self.stride = count * 2
        let unit = Float(bitPattern: graph.landmarkUnits[kind.rawValue])
        self.secondsPerUnit = unit.isFinite && unit > 0 ? unit * scale : 0
        let base = kind.rawValue * graph.nodes.count * count * 2
        self.values = graph.landmarks.baseAddress.map { $0 + base }
        var known: [(active: Active, bound: Float)] = []
        if let values = self.values {
            for landmark in 0..<count {
                var active = Active(index: landmark * 2, toTargets: .infinity, fromTargets: 0)
                for target in targets {
                    let to = values[target * self.stride + active.index]
                    let from = values[target * self.stride + active.index + 1]
                    if to != Landmarks.unreachable { active.toTargets = min(active.toTargets, Float(to)) }
                    active.fromTargets = max(
                        active.fromTargets, from == Landmarks.unreachable ? .infinity : Float(from))
                }
                // The landmark reaches none of the targets.
                guard active.toTargets.isFinite else { continue }
                let bounds = starts.map { Self.units(active, values + $0 * count * 2) }
                known.append((active, bounds.max() ?? 0))
            }
        }
        known.sort { $0.bound > $1.bound }
        self.activeCount = min(known.count, Landmarks.activeCount)
        for index in 0..<self.activeCount { self.active[index] = known[index].active }
        // Landmarks cover only the largest part of the network.
        self.plane = known.isEmpty ? StraightBound(targets.map { graph.nodes[$0] }, fastest: fastest) : nil
    }

    @inline(__always)
    private static func units(_ active: Active, _ node: UnsafePointer<UInt16>) -> Float {
        let (to, from) = (node[active.index], node[active.index + 1])
        // Values are rounded down, so a difference may be too large by one.
        let first = to == Landmarks.unreachable ? 0 : active.toTargets - Float(to) - 1
        let second = from == Landmarks.unreachable ? 0 : Float(from) - active.fromTargets - 1
        return max(0, max(first, second))
    }

    /// Returns a lower bound of the seconds from a node to the nearest target.
    @inline(__always)
    func seconds(_ graph: StreetGraph, _ node: Int) -> Float {
        guard let values = self.values, self.activeCount > 0 else {
            return self.plane?.seconds(graph.nodes[node]) ?? 0
        }
        let node = values + node * self.stride
        var units: Float = 0
        for index in 0..<self.activeCount { units = max(units, Self.units(self.active[index], node)) }
        return units * self.secondsPerUnit
    }
}

/// A lower bound: the time along the straight line at the highest speed.
private struct StraightBound {
    private let target: LocalPlane
    private let radius: Double
    private let secondsPerMeter: Double

    /// - Parameter fastest: km/h.
    init?(_ targets: [StreetPoint], fastest: Double) {
        guard let first = targets.first, fastest > 0 else { return nil }
        self.target = LocalPlane(first)
        self.radius = targets.map { first.meters(to: $0) }.max() ?? 0
        // The error of the plane is smaller than this within a country.
        self.secondsPerMeter = 0.95 * 3.6 / fastest
    }

    func seconds(_ point: StreetPoint) -> Float {
        let (x, y) = self.target.place(point)
        return Float(max(0, (x * x + y * y).squareRoot() - self.radius) * self.secondsPerMeter)
    }
}

// The streets of a compiled file: routes for a vehicle, and distances for a map matcher.

package import EnrouteWire
internal import Synchronization

/// A compiled street file, mapped into memory. Thread-safe. Routes take up to some 10 ms of CPU time: do not calculate them on
/// an event loop.
package final class StreetNetwork: Sendable {
    let graph: StreetGraph
    /// By `Vehicle.allCases`.
    private let searches: [Vehicle: RouteSearch]
    /// The memory of completed searches.
    private let spaces = Mutex<[SearchSpace]>([])

    /// Meters. A place farther from the nearest street has no route.
    package static let longestSnap = 300.0
    /// A search starts on at most this many streets, which may be up to `snapTolerance` meters farther away than the nearest
    /// one.
    static let snapCandidates = 4
    static let snapTolerance = 25.0
    /// The additional seconds per meter for a street that is not the nearest.
    static let snapSecondsPerMeter = 1.0
    /// The maximum number of searches whose memory is kept for the next one: 16 bytes per node.
    private static let maxSpaces = 4

    /// Opens a file that `enroute streets build` created. Reads the whole file once.
    package init(path: String) throws(StreetFileError) {
        let graph = try StreetGraph(path: path)
        self.graph = graph
        self.searches = Dictionary(
            uniqueKeysWithValues: Vehicle.allCases.map { vehicle in
                let costs = TravelCosts(vehicle)
                return (
                    vehicle,
                    RouteSearch(
                        graph: graph, costs: costs, landmarkScale: graph.landmarkScale(costs),
                        fastest: VehicleSpeeds.of(vehicle).fastest)
                )
            })
    }

    /// The number of directed edges and of nodes, including the copies for turn restrictions.
    package var edgeCount: Int { self.graph.halves.count }
    package var nodeCount: Int { self.graph.nodes.count }
    /// The attribution that the data's license requires to be shown.
    package var attribution: String { self.graph.attribution }

    /// The fastest route through places.
    ///
    /// - Parameters:
    ///   - places: at least two.
    ///   - vehicle: `nil` for an unknown one, which counts as a car.
    /// - Returns: `nil` if a place is more than `longestSnap` from a street that the vehicle may use, or if there is no way.
    package func route(through places: [Coordinate], by vehicle: Vehicle?) -> StreetRoute? {
        guard places.count >= 2, let search = self.searches[vehicle ?? .car] else { return nil }
        let snapped = places.map { self.snap($0, search.costs) }
        guard !snapped.contains(where: \.isEmpty) else { return nil }
        return self.withSpace { space in
            var sum = RouteSum(self.graph)
            var starts = snapped[0]
            for targets in snapped.dropFirst() {
                guard let path = search.find(from: starts, to: targets, space) else { return nil }
                sum.add(path, from: starts[path.start], to: targets[path.target])
                // The next part may start on the street or on one of its copies, as its first turn requires.
                let street = self.graph.street(targets[path.target].edge)
                starts = targets.filter { self.graph.street($0.edge) == street }
                for index in starts.indices { starts[index].extraSeconds = 0 }
            }
            return sum.route
        }
    }

    /// The streets near a place, the nearest first: for each edge its nearest point.
    ///
    /// - Parameters:
    ///   - meters: the longest distance; at most 2 km.
    ///   - vehicle: `nil` for all streets that somebody may use.
    package func segments(
        near place: Coordinate, within meters: Double, atMost: Int, for vehicle: Vehicle?
    ) -> [NearSegment] {
        let costs = vehicle.flatMap { self.searches[$0]?.costs }
        let found = self.graph.nearest(StreetPoint(place), within: meters, atMost: atMost) { rule in
            costs.map { $0.allowsPart(rule, backward: 0) || $0.allowsPart(rule, backward: 1) } ?? true
        }
        return found.compactMap { near in
            guard let place = near.point.coordinate else { return nil }
            let position = StreetPosition(edge: UInt32(near.edge), metersAlong: near.metersAlong)
            return NearSegment(position: position, place: place, meters: near.meters)
        }
    }

    /// Returns the lengths in meters of the shortest paths from a position to others.
    ///
    /// - Parameters:
    ///   - meters: the longest path that is searched for; at most 20 km.
    ///   - vehicle: `nil` to permit every street in both directions.
    /// - Returns: one length for each position of `to`; `nil` if there is no path, if it is longer, or if the position is not
    ///   in this file.
    package func distances(
        from: StreetPosition, to: [StreetPosition], within meters: Double, for vehicle: Vehicle?
    ) -> [Double?] {
        let search = DistanceSearch(graph: self.graph, costs: vehicle.flatMap { self.searches[$0]?.costs })
        return self.withSpace { search.find(from: from, to: to, within: meters, $0) }
            ?? to.map { _ in nil }
    }

    /// The usable streets nearest to a place, in a part of the network that is large enough.
    private func snap(_ place: Coordinate, _ costs: TravelCosts) -> [SearchPlace] {
        let connected = StreetRule.connected(costs.kind)
        let found = self.graph.nearest(StreetPoint(place), within: Self.longestSnap, atMost: Self.snapCandidates) {
            rule in
            rule & connected != 0 && (costs.allowsPart(rule, backward: 0) || costs.allowsPart(rule, backward: 1))
        }
        guard let first = found.first else { return [] }
        let obeysTurns = costs.kind == .motor
        return found.prefix { $0.meters <= first.meters + Self.snapTolerance }.flatMap { near in
            // Some copies only lead out of the network, because they have no way back. A route may still end on them.
            ([near.edge] + (obeysTurns ? Array(self.graph.copies(of: near.edge)) : [])).map { edge in
                SearchPlace(
                    edge: edge, metersAlong: near.metersAlong,
                    extraSeconds: (near.meters - first.meters) * Self.snapSecondsPerMeter)
            }
        }
    }

    private func withSpace<Result>(_ body: (SearchSpace) -> Result?) -> Result? {
        let stored = self.spaces.withLock { $0.popLast() }
        guard let space = stored ?? SearchSpace(nodes: self.graph.nodes.count) else { return nil }
        defer {
            self.spaces.withLock { if $0.count < Self.maxSpaces { $0.append(space) } }
        }
        return body(space)
    }
}

extension StreetGraph {
    /// The smallest ratio of a vehicle's seconds to those of the landmarks for the same edge. It remains correct even
    /// if constants change after a file was compiled.
    func landmarkScale(_ costs: TravelCosts) -> Float {
        let first = costs.kind.rawValue * TravelCosts.numberCount
        let ratios = costs.numbers.enumerated().map { index, number in
            let landmark = Float(bitPattern: self.landmarkCosts[first + index])
            return landmark.isFinite && landmark > 0 ? number / landmark : .infinity
        }
        // Local traffic is a factor applied to seconds per meter; the others are seconds.
        let speed = (ratios.prefix(StreetRule.speedCount).min() ?? 0) * min(1, ratios.last ?? 0)
        let scale = min(speed, ratios[StreetRule.speedCount], ratios[StreetRule.speedCount + 1])
        return scale.isFinite ? max(0, scale) : 0
    }
}

/// Adds the parts of a route.
private struct RouteSum {
    private let graph: StreetGraph
    private var seconds = 0.0
    private var meters = 0.0
    private var points: [StreetPoint] = []

    init(_ graph: StreetGraph) { self.graph = graph }

    mutating func add(_ path: FoundPath, from start: SearchPlace, to target: SearchPlace) {
        self.seconds += path.seconds
        if path.isDirect {
            self.add(start.edge, from: start.metersAlong, to: target.metersAlong)
            return
        }
        self.add(start.edge, from: start.metersAlong, to: path.leavesBackward ? 0 : self.graph.meters(of: start.edge))
        for half in path.halves {
            let edge = Int(half >> 1)
            let length = self.graph.meters(of: edge)
            self.add(edge, from: half & 1 == 0 ? 0 : length, to: half & 1 == 0 ? length : 0)
        }
        let length = self.graph.meters(of: target.edge)
        self.add(target.edge, from: path.entersBackward ? length : 0, to: target.metersAlong)
    }

    private mutating func add(_ edge: Int, from: Double, to: Double) {
        self.meters += abs(to - from)
        for point in self.graph.line(on: edge, from: from, to: to) where point != self.points.last {
            self.points.append(point)
        }
    }

    var route: StreetRoute {
        StreetRoute(seconds: self.seconds, meters: self.meters, line: self.points.compactMap(\.coordinate))
    }
}

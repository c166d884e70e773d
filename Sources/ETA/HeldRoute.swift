// The route ahead of one rider between two calculations: where it starts and ends, and whether the rider is still on it.

internal import EnrouteWire
internal import Routing
internal import Tracking

/// A route as it was calculated.
struct HeldRoute: Hashable {
    private let route: RemainingRoute
    /// The number of stops that the route passes first; `nil` for none.
    let stopsBefore: Int64?
    private let line: RouteLine
    /// Where the rider is, in meters from the start of the line.
    private var along = 0.0

    /// Meters. A start or destination that is closer to the end of the line is not added to it.
    private static let nearEnd = 5.0

    private init?(_ route: RemainingRoute?, _ stopsBefore: Int64?) {
        guard let route, let line = route.line else { return nil }
        (self.route, self.stopsBefore, self.line) = (route, stopsBefore, line)
    }

    /// Creates the route of an estimate that was published.
    ///
    /// - Parameter age: seconds since it was calculated.
    init?(_ estimate: ArrivalEstimate, age: Double) {
        self.init(estimate.route, estimate.stopsBefore)
        self.along = self.route.meters(after: age)
    }

    /// Creates the route from a provider's line, which starts and ends on streets. A cached line may have been
    /// calculated for a place nearby. So the line is cut, or extended to the rider and the destination.
    ///
    /// - Returns: `nil` without a line, and for a line that starts or ends somewhere else.
    init?(_ answer: RouteAnswer, from start: Coordinate, to end: Coordinate, stopsBefore: Int64?) {
        guard let places = answer.line, let whole = RouteLine(places) else { return nil }
        // A route with stops may pass the start again later, so only a route without stops is cut.
        let spot = whole.nearest(to: start, near: 0)
        let isDirect = stopsBefore == nil
        var rest = isDirect ? whole.places(from: spot) : places
        guard let first = rest.first, let last = rest.last, Self.meters(start, first) <= RouteAnswer.farthestEnd,
            Self.meters(last, end) <= RouteAnswer.farthestEnd
        else { return nil }
        if Self.meters(start, first) > Self.nearEnd { rest.insert(start, at: 0) }
        if Self.meters(last, end) > Self.nearEnd { rest.append(end) }
        guard let line = RouteLine(rest) else { return nil }
        let share = whole.meters > 0 ? min(1, line.meters / whole.meters) : 1
        self.init(RemainingRoute(line, seconds: answer.seconds * share), stopsBefore)
    }

    /// Records where the rider is.
    ///
    /// - Returns: the meters ahead of the rider; `nil` if the rider has left the route.
    mutating func follow(_ place: Coordinate) -> Double? {
        let spot = self.line.nearest(to: place, near: self.along)
        guard spot.away <= RemainingRoute.leftMeters else { return nil }
        self.along = spot.along
        return self.line.meters - spot.along
    }

    /// The part that is ahead of the rider.
    func ahead(of place: Coordinate) -> RemainingRoute? { self.route.ahead(of: place, near: self.along) }

    /// The part that is ahead of the rider, with another time in seconds.
    func ahead(of place: Coordinate, taking seconds: Double) -> HeldRoute? {
        guard let rest = self.ahead(of: place) else { return nil }
        let seconds = Int64(max(0, seconds).rounded())
        return HeldRoute(
            RemainingRoute(polyline: rest.polyline, meters: rest.meters, seconds: seconds), self.stopsBefore)
    }

    private static func meters(_ a: Coordinate, _ b: Coordinate) -> Double { Point(a).meters(to: Point(b)) }
}

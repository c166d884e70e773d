// The arrival at a job whose rider makes other stops first. The time counts the path through those stops. If the location
// or the length of one of them is unknown, only the number of stops is known.

/// The stops of a rider, in the order they are made.
package struct MultiStopRoute: Hashable, Sendable {
    /// Seconds assumed for handing over a delivery. Not measured.
    package static let usualStop = 180.0

    package struct Stop: Hashable, Sendable {
        /// `nil` if the job was created without a destination, or if it is unknown how long the stop takes.
        package var destination: Point?
        /// Seconds the rider spends at the stop.
        package var seconds: Double

        package init(destination: Point?, seconds: Double = MultiStopRoute.usualStop) {
            (self.destination, self.seconds) = (destination, seconds)
        }
    }

    /// How a rider gets to a stop.
    package enum Path: Hashable, Sendable {
        /// The points to pass, the destination last, and the seconds spent at the stops before it.
        case through([Point], standingSeconds: Double)
        /// This many stops come first, and the location or the length of at least one of them is unknown.
        case afterStops(Int)
        /// The stop itself has no known destination.
        case unknown
    }

    package var stops: [Stop]

    package init(stops: [Stop]) { self.stops = stops }

    /// The path from the rider's position to a stop.
    ///
    /// - Parameter index: an index of `stops`.
    package func path(to index: Int) -> Path {
        guard let destination = self.stops[index].destination else { return .unknown }
        let before = self.stops[..<index]
        let points = before.compactMap(\.destination)
        guard points.count == before.count else { return .afterStops(before.count) }
        return .through(points + [destination], standingSeconds: before.reduce(0) { $0 + $1.seconds })
    }
}

extension TravelEstimator {
    /// Seconds from `start` to the end of a path; `nil` when the path is not known.
    ///
    /// - Parameter streetSeconds: of a route in a street network through all points; `nil` without one.
    package func seconds(
        along path: MultiStopRoute.Path, from start: Point, streetSeconds: Double? = nil
    ) -> Double? {
        guard case .through(let points, let standingSeconds) = path else { return nil }
        if let streetSeconds {
            return standingSeconds + self.seconds(from: start, through: points, streetSeconds: streetSeconds)
        }
        var (total, from) = (standingSeconds, start)
        for point in points {
            total += self.seconds(from: from, to: point)
            from = point
        }
        return total
    }
}

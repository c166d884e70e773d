// A rider with several jobs: who is second is not told how long the straight way would take, but by way of whoever is
// first; and where that way is not known, that it comes after another stop.

/// The stops of a rider's round, in the order they are made.
package struct MultiStopRoute: Hashable, Sendable {
    /// s that a stop takes, where nothing else is known.
    package static let usualStop = 180.0

    package struct Stop: Hashable, Sendable {
        /// `nil` when the job was created without.
        package var destination: Point?
        /// s to be spent there.
        package var seconds: Double

        package init(destination: Point?, seconds: Double = MultiStopRoute.usualStop) {
            (self.destination, self.seconds) = (destination, seconds)
        }
    }

    package enum Way: Hashable, Sendable {
        /// Places to pass, the destination last, and s spent at those before it.
        case by([Point], standingSeconds: Double)
        /// So many stops come before, and where not all of them are is not known.
        case afterStops(Int)
        /// Nobody knows where it ends.
        case nowhere
    }

    package var stops: [Stop]

    package init(stops: [Stop]) { self.stops = stops }

    /// How the rider gets to a stop from where it is.
    ///
    /// - Parameter index: of `stops`.
    package func way(to index: Int) -> Way {
        guard let destination = self.stops[index].destination else { return .nowhere }
        let before = self.stops[..<index]
        let places = before.compactMap(\.destination)
        guard places.count == before.count else { return .afterStops(before.count) }
        return .by(places + [destination], standingSeconds: before.reduce(0) { $0 + $1.seconds })
    }
}

extension TravelEstimator {
    /// s from the last reading to the end of a way; `nil` before the first reading, or for a way that is not known.
    package func seconds(by way: MultiStopRoute.Way, from start: Point) -> Double? {
        guard case .by(let places, let standingSeconds) = way else { return nil }
        var (total, from) = (standingSeconds, start)
        for place in places {
            total += self.seconds(from: from, to: place)
            from = place
        }
        return total
    }
}

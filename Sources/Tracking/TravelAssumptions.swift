// What the built-in estimator assumes about each vehicle. The values were fitted to recorded trips with a destination, split
// by the person who recorded them (Sources/ETA/README.md). They describe progress along the straight line to the destination,
// so they include bends, waiting and, for vehicles, the search for a place to stop.

package import EnrouteWire

/// The usual progress of a vehicle, and how much arrivals scatter around the estimate.
package struct TravelAssumptions: Hashable, Sendable {
    /// Usual progress over two kilometers in m/s.
    package let speed: Double
    /// Usual progress is proportional to this power of the distance.
    let distanceExponent: Double
    /// The weight of this rider's own progress, 0 to 1.
    let ownWeight: Double
    /// The weight of the usual progress in the rider's own, as seconds travelled before the trip.
    let priorSeconds: Double
    /// Seconds at the end of a trip, for instance to search for the door.
    let lastSeconds: Double
    /// The range of the arrival, as multiples of the estimate: 10 % of the trips are shorter, and 10 % longer.
    package let range: ClosedRange<Double>
    /// Usual meters of straight line per second of a route in a street network.
    let streetSpeed: Double
    /// Seconds by which the range is extended at both ends: close to the destination, a red light matters more than a share of
    /// the remaining time.
    let rangeSeconds: Double

    /// - Parameter vehicle: `nil` for an unknown one, which counts as a car.
    package static func of(_ vehicle: Vehicle?) -> TravelAssumptions {
        switch vehicle {
        case .foot: self.foot
        case .bicycle, .cargoBike: self.bicycle
        case .moped, .car, .van, .truck, nil: self.car
        }
    }

    private static let foot = TravelAssumptions(
        speed: 0.84, distanceExponent: -0.3, ownWeight: 0.87, priorSeconds: 120, lastSeconds: 0,
        range: 0.633...1.418, streetSpeed: 1.05, rangeSeconds: 0)
    private static let bicycle = TravelAssumptions(
        speed: 2.53, distanceExponent: 0, ownWeight: 1, priorSeconds: 123, lastSeconds: 14, range: 0.687...1.742,
        streetSpeed: 3.3, rangeSeconds: 0)
    private static let car = TravelAssumptions(
        speed: 5, distanceExponent: 0.65, ownWeight: 0.63, priorSeconds: 128, lastSeconds: 60, range: 0.65...1.7,
        streetSpeed: 6.5, rangeSeconds: 45)
}

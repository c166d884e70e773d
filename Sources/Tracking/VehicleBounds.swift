// What each vehicle can do. A declared vehicle bounds the readings that are accepted at once. Evidence overrules it, because a
// courier may take the bus. The bounds of an unknown vehicle include everything from a walker to a fast train.

package import EnrouteWire

/// The bounds of the movement of a vehicle.
package struct VehicleBounds: Hashable, Sendable {
    /// m/s. Readings that imply a higher speed are accepted only with evidence. The rider's measured speed raises this bound.
    package let usualMetersPerSecond: Double
    /// Readings jump this far in m without a reason, because receivers are inaccurate and do not report it.
    package let jitterMeters: Double
    /// How much the velocity changes on its own, in m/s² (the process noise of `PositionFilter`): turns, starts and stops.
    package let unrest: Double
    /// m/s². A Float, like the next one, because each trip stores these bounds several times.
    let storedAcceleration: Float
    let storedCalmUnrest: Float

    /// m/s². A rider speeds up by at most this.
    package var acceleration: Double { Double(self.storedAcceleration) }
    /// `unrest` of a slow rider with a vague phone. A slow rider with an unknown vehicle is probably a walker.
    package var calmUnrest: Double { Double(self.storedCalmUnrest) }

    /// - Parameter calmUnrest: `nil` if it is the same.
    package init(
        usualMetersPerSecond: Double, acceleration: Double, jitterMeters: Double, unrest: Double,
        calmUnrest: Double? = nil
    ) {
        (self.usualMetersPerSecond, self.jitterMeters, self.unrest) = (usualMetersPerSecond, jitterMeters, unrest)
        (self.storedAcceleration, self.storedCalmUnrest) = (Float(acceleration), Float(calmUnrest ?? unrest))
    }

    /// - Parameter vehicle: `nil` for an unknown one.
    package static func of(_ vehicle: Vehicle?) -> VehicleBounds {
        switch vehicle {
        case .foot: self.foot
        case .bicycle, .cargoBike: self.bicycle
        case .moped: self.moped
        case .car, .van: self.car
        case .truck: self.truck
        case nil: self.unknown
        }
    }

    private static let foot = VehicleBounds(usualMetersPerSecond: 8, acceleration: 3, jitterMeters: 50, unrest: 0.35)
    private static let bicycle = VehicleBounds(
        usualMetersPerSecond: 20, acceleration: 3, jitterMeters: 60, unrest: 0.9)
    private static let moped = VehicleBounds(usualMetersPerSecond: 32, acceleration: 4, jitterMeters: 80, unrest: 1.5)
    private static let car = VehicleBounds(usualMetersPerSecond: 60, acceleration: 5, jitterMeters: 100, unrest: 2)
    private static let truck = VehicleBounds(usualMetersPerSecond: 40, acceleration: 3, jitterMeters: 100, unrest: 1.5)
    private static let unknown = VehicleBounds(
        usualMetersPerSecond: 60, acceleration: 5, jitterMeters: 100, unrest: 2, calmUnrest: 0.7)
}

// Decides when a rider is about two minutes away from its destination, so that people who do not look at a map can be
// notified.

package import EnrouteWire

/// Detects that one rider is near one destination. A value.
package struct Nearness: Hashable, Sendable {
    /// Seconds before the arrival.
    package static let seconds = 120.0
    /// m. Nobody who is farther away arrives in two minutes, so most readings need only this check.
    static let farthest = 5_000.0
    /// ms after which a near rider is reported again. Before, it may have been on its way to another stop.
    static let interval: Int64 = 15_000

    private var reportedAt: Int64?

    package init() {}

    /// - Parameters:
    ///   - reading: where the rider is shown.
    ///   - metersToGo: the straight line to the destination.
    ///   - vehicle: `nil` if it is unknown.
    /// - Returns: the seconds to the arrival if they should be reported now, otherwise `nil`.
    package mutating func observe(
        _ reading: Reading, to destination: Point, metersToGo: Double, vehicle: Vehicle?
    ) -> Double? {
        guard metersToGo <= Self.farthest else { return nil }
        if let reportedAt, reading.at >= reportedAt, reading.at - reportedAt < Self.interval { return nil }
        // How the rider moved ten minutes ago says little about the last two minutes of the trip.
        let seconds = TravelEstimator(vehicle: vehicle).seconds(from: reading.point, to: destination)
        guard seconds <= Self.seconds else { return nil }
        self.reportedAt = reading.at
        return seconds
    }
}

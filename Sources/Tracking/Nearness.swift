// Decides when a rider is about two minutes away from its destination: when to say so to whoever does not look at a map.

package import EnrouteWire

/// The nearness of one rider to one destination. A value.
package struct Nearness: Hashable, Sendable {
    /// Seconds before the arrival.
    package static let seconds = 120.0
    /// m. Nobody who is farther away arrives in two minutes, and most readings need no other check.
    static let farthest = 5_000.0
    /// A rider that is near is reported again after so many ms, because it may have been on its way to another stop before.
    static let interval: Int64 = 15_000

    private var reportedAt: Int64?

    package init() {}

    /// - Parameters:
    ///   - reading: where the rider is shown.
    ///   - metersToGo: the straight line to the destination.
    ///   - vehicle: `nil` if it is unknown.
    /// - Returns: in how many seconds the rider arrives, if that is to be reported now.
    package mutating func observe(
        _ reading: Reading, to destination: Point, metersToGo: Double, vehicle: Vehicle?
    ) -> Double? {
        guard metersToGo <= Self.farthest else { return nil }
        if let reportedAt, reading.at >= reportedAt, reading.at - reportedAt < Self.interval { return nil }
        // What a rider did ten minutes ago says little about its last two.
        let seconds = TravelEstimator(vehicle: vehicle).seconds(from: reading.point, to: destination)
        guard seconds <= Self.seconds else { return nil }
        self.reportedAt = reading.at
        return seconds
    }
}

// The bounds for validating readings, and the time at which a reading was received.

extension LocationValidator {
    package struct Bounds: Hashable, Sendable {
        /// Bounds for every rider, instead of those of its vehicle; `nil` to use the vehicle's.
        package var vehicle: VehicleBounds?
        /// Nobody travels faster, in m/s: 360 km/h.
        package var fastestMetersPerSecond = 100.0
        /// Maximum accuracy radius, in m. A larger one cannot distinguish neighboring streets.
        package var widestAccuracyMeters = 200.0
        /// How much a phone's clock may be ahead, in ms. The script that publishes locations uses the same value.
        package var furthestAheadMilliseconds: Int64 = 30_000
        /// Maximum age of a reading, in ms. The gateway uses the same value.
        package var oldestMilliseconds: Int64 = 60_000
        /// ms. Held readings replace the shown one when they have agreed with each other for this time. It grows with the
        /// distance d that the rider cannot have travelled, as d^1.5, up to the maximum at `farMeters`, because large errors
        /// of receivers are rarer and last longer. The maximum is shorter than the age at which followers see a position as
        /// stale.
        package var agreementMilliseconds: ClosedRange<Int64> = 2_000...20_000
        package var farMeters = 320.0
        /// ms. If a trip has just started, readings far away from its first ones must agree for this time.
        package var provenMilliseconds: Int64 = 15_000
        /// s. An older position says less about the next one, so the time of agreement is shorter in proportion.
        package var provingSeconds = 5.0

        package init() {}
    }

    /// When a reading was received: by the monotonic clock, for its age, and by the wall clock, for comparison with
    /// phones.
    package struct Receipt: Hashable, Sendable {
        /// ns of a monotonic clock.
        package var monotonic: UInt64
        /// ms since the epoch.
        package var wall: Int64

        package init(monotonic: UInt64, wall: Int64) { (self.monotonic, self.wall) = (monotonic, wall) }
    }
}

// What the validator believes, and when a reading was received.

extension LocationValidator {
    package struct Bounds: Hashable, Sendable {
        /// The bounds of every rider, instead of those of its vehicle; `nil` for those.
        package var vehicle: VehicleBounds?
        /// Nobody travels faster, in m/s: 360 km/h.
        package var fastestMetersPerSecond = 100.0
        /// Maximum accuracy radius, in m. A larger one cannot distinguish neighbouring streets.
        package var widestAccuracyMeters = 200.0
        /// How much a phone's clock may be ahead, in ms. The script that publishes locations uses the same value.
        package var furthestAheadMilliseconds: Int64 = 30_000
        /// Maximum age of a reading, in ms. The gateway uses the same value.
        package var oldestMilliseconds: Int64 = 60_000
        /// Held readings replace the one that is shown when they agree with each other for this time, in ms. It grows with
        /// the distance d that the rider cannot have travelled, as d^1.5 up to the longest at `farMeters`, because large
        /// errors of receivers are rarer and last longer. The longest is shorter than the age at which followers see that
        /// a position is stale.
        package var agreementMilliseconds: ClosedRange<Int64> = 2_000...20_000
        package var farMeters = 320.0
        /// Readings far away from those of a trip that has just started must agree for this time, in ms.
        package var provenMilliseconds: Int64 = 15_000
        /// A position older than this, in s, proves less about the next one: the agreement is shorter in proportion.
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

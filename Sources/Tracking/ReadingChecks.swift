// Checks a reading on its own, before it is compared with the readings before it: its coordinates, its time and its accuracy.

extension LocationValidator.Bounds {
    /// Half of the seventh decimal, in degrees, as in Coordinate.
    private static let smallestDegrees = 5e-8

    /// Whether a reading that was received this many ms after its capture is neither too old nor from the future.
    func isTimely(_ late: Int64) -> Bool {
        (-self.furthestAheadMilliseconds...self.oldestMilliseconds).contains(late)
    }

    /// Returns the reason to refuse a reading whatever the readings before it were, or `nil`.
    ///
    /// - Parameter reading: its time is changed to that of the gateway's clock.
    func refusal(
        of reading: inout Reading, _ skew: ClockSkew, _ received: LocationValidator.Receipt
    ) -> FixRefusal? {
        guard !reading.isMocked else { return .mocked }
        let point = reading.point
        // NaN fails every range check.
        guard (-90...90).contains(point.latitude), (-180...180).contains(point.longitude) else { return .outOfRange }
        guard max(abs(point.latitude), abs(point.longitude)) >= Self.smallestDegrees else { return .zeroZero }
        let corrected = reading.at.addingReportingOverflow(skew.offset)
        let late = received.wall.subtractingReportingOverflow(corrected.partialValue)
        guard !corrected.overflow, !late.overflow, late.partialValue >= -self.furthestAheadMilliseconds else {
            return skew.uncorrected == nil ? .future : .clock
        }
        guard late.partialValue <= self.oldestMilliseconds else { return skew.uncorrected == nil ? .stale : .clock }
        reading.at = corrected.partialValue
        if let accuracy = reading.accuracyMeters, !(0...self.widestAccuracyMeters).contains(accuracy) {
            return .inaccurate
        }
        return nil
    }
}

// Decides whether a reading may move the marker. A phone's position jumps between houses, arrives twice, arrives late
// after a tunnel, or is on another continent. Followers see none of that. An implausible reading is held. When the
// following ones agree with it, the marker was wrong. No accepted reading is older than the one that is shown, so a
// late batch never moves the marker back.

/// Validates the readings of one rider for one job, in the order they arrive.
package struct LocationValidator: Sendable {
    package struct Bounds: Hashable, Sendable {
        /// Maximum plausible speed between two accepted readings, in m/s.
        package var fastestMetersPerSecond = 60.0
        /// Maximum accuracy radius, in m. A larger one cannot distinguish neighbouring streets.
        package var widestAccuracyMeters = 200.0
        /// How much a phone's clock may be ahead, in ms. The script that publishes locations uses the same value.
        package var furthestAheadMilliseconds: Int64 = 30_000
        /// Maximum age of a reading, in ms. The gateway uses the same value.
        package var oldestMilliseconds: Int64 = 60_000
        /// Held readings that agree with each other for this time, in ms, replace the one that is shown.
        package var agreementMilliseconds: Int64 = 10_000

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

    /// A held reading, until the next one decides.
    private struct Doubt {
        /// Since when held readings agree, ms by the phone's clock.
        var since: Int64
        var reading: Reading
    }

    private let bounds: Bounds
    package private(set) var counts = VerdictCounts()
    /// The reading that followers see.
    package private(set) var shown: Reading?
    /// When it was received, in ns. Its age is counted from here.
    package private(set) var shownAt: UInt64?
    package private(set) var skew = ClockSkew()
    private var doubt: Doubt?

    package init(bounds: Bounds = Bounds()) { self.bounds = bounds }

    /// - Parameter isTravelling: whether travel mode is on.
    package mutating func validate(_ reading: Reading, isTravelling: Bool = true, received: Receipt) -> FixVerdict {
        let verdict = self.verdict(reading, isTravelling, received)
        self.counts.count(verdict)
        guard case .accepted = verdict else { return verdict }
        (self.shown, self.shownAt) = (reading, received.monotonic)
        return verdict
    }

    /// Validates the readings of one message in the order they were captured, because plausibility depends on the
    /// distance between them. Afterwards `shown` is the newest accepted one, the only one to publish.
    ///
    /// - Returns: the verdicts, in the order of `readings`.
    package mutating func validate(
        _ readings: [Reading], isTravelling: Bool = true, received: Receipt
    ) -> [FixVerdict] {
        var verdicts = [FixVerdict](repeating: .held, count: readings.count)
        for index in readings.indices.sorted(by: { readings[$0].at < readings[$1].at }) {
            verdicts[index] = self.validate(readings[index], isTravelling: isTravelling, received: received)
        }
        return verdicts
    }

    /// Forgets the reading that is shown: for another rider, or a new trip.
    package mutating func reset() {
        (self.shown, self.shownAt, self.doubt) = (nil, nil, nil)
        self.skew = ClockSkew()
    }

    /// Continues from a later reading that followers saw from another session of the rider or another gateway. Does
    /// nothing if that reading is not later.
    ///
    /// - Parameter at: when that reading was received, ns of this gateway's clock.
    package mutating func resume(from reading: Reading, at: UInt64) {
        guard reading.at > self.shown?.at ?? .min else { return }
        (self.shown, self.shownAt, self.doubt) = (reading, at, nil)
    }

    /// Redis refused a reading that was accepted here, because it has newer data.
    package mutating func overrule(_ reason: FixRefusal) { self.counts.overrule(reason) }

    private mutating func verdict(_ reading: Reading, _ isTravelling: Bool, _ received: Receipt) -> FixVerdict {
        guard isTravelling else { return .refused(.travelModeOff) }
        let point = reading.point
        // NaN is in no range.
        guard (-90...90).contains(point.latitude), (-180...180).contains(point.longitude) else {
            return .refused(.outOfRange)
        }
        guard max(abs(point.latitude), abs(point.longitude)) >= Self.smallestDegrees else { return .refused(.zeroZero) }
        let late = received.wall.subtractingReportingOverflow(reading.at)
        guard !late.overflow, late.partialValue >= -self.bounds.furthestAheadMilliseconds else {
            return .refused(.future)
        }
        // Before the age is checked, because old readings reveal a wrong clock.
        self.skew.observe(lateMilliseconds: late.partialValue, now: received.monotonic)
        guard late.partialValue <= self.bounds.oldestMilliseconds else { return .refused(.stale) }
        if let accuracy = reading.accuracyMeters, !(0...self.bounds.widestAccuracyMeters).contains(accuracy) {
            return .refused(.inaccurate)
        }
        guard let shown = self.shown else { return .accepted(.onward) }
        guard reading.at != shown.at, reading.at != self.doubt?.reading.at else { return .refused(.duplicate) }
        guard reading.at > shown.at else { return .refused(.outOfOrder) }
        if self.isWithinReach(reading, of: shown) {
            self.settle(by: reading)
            return .accepted(.onward)
        }
        return self.weigh(reading)
    }

    /// Decides about the held reading: it was wrong if this one is out of its reach.
    private mutating func settle(by reading: Reading) {
        guard let doubt = self.doubt else { return }
        self.doubt = nil
        guard !self.isWithinReach(reading, of: doubt.reading) else { return }
        self.counts.count(.refused(.implausibleSpeed))
    }

    /// Decides about a reading that is out of reach of the one that is shown.
    private mutating func weigh(_ reading: Reading) -> FixVerdict {
        guard let doubt = self.doubt, reading.at > doubt.reading.at else {
            guard self.doubt == nil else { return .refused(.outOfOrder) }
            self.doubt = Doubt(since: reading.at, reading: reading)
            return .held
        }
        guard self.isWithinReach(reading, of: doubt.reading) else {
            self.settle(by: reading)
            self.doubt = Doubt(since: reading.at, reading: reading)
            return .held
        }
        guard reading.at - doubt.since >= self.bounds.agreementMilliseconds else {
            self.doubt?.reading = reading
            return .held
        }
        self.doubt = nil
        return .accepted(.anew)
    }

    /// Readings are at least a second apart. A shorter time is jitter and says nothing about speed.
    private func isWithinReach(_ reading: Reading, of earlier: Reading) -> Bool {
        let seconds = max(1, Double(reading.at - earlier.at) / 1000)
        return earlier.point.meters(to: reading.point) <= seconds * self.bounds.fastestMetersPerSecond
    }

    /// As in Coordinate: half of the seventh decimal, in degrees.
    private static let smallestDegrees = 5e-8
}

// Whether a reading may move the marker. A phone's position jumps between houses, comes twice, comes late after a tunnel,
// or comes from another continent; a follower is shown none of that. One implausible reading is held, not believed: when
// the following ones agree with it, it was the marker that stood wrong. Nothing that is accepted is older than what is
// shown, so a late batch moves the marker on or not at all.

/// Judges the readings of one rider for one job, in the order they come.
package struct LocationValidator: Sendable {
    package struct Bounds: Hashable, Sendable {
        /// From one accepted reading to the next, m/s: no car gets from one to the other faster.
        package var fastestMetersPerSecond = 60.0
        /// A larger radius of confidence tells no street from the next, m.
        package var widestAccuracyMeters = 200.0
        /// By how much a phone's clock may be ahead of ours, ms; the script that publishes has the same.
        package var furthestAheadMilliseconds: Int64 = 30_000
        /// Readings from longer ago are of no use to anybody, ms; the gateway has the same.
        package var oldestMilliseconds: Int64 = 60_000
        /// Readings that agree with each other for so long are believed against the one that is shown, ms.
        package var agreementMilliseconds: Int64 = 10_000

        package init() {}
    }

    /// When a reading came: by the clock that freshness is counted with, and by the one that is compared with phones.
    package struct Receipt: Hashable, Sendable {
        /// ns of a clock that never goes back.
        package var monotonic: UInt64
        /// ms since the epoch.
        package var wall: Int64

        package init(monotonic: UInt64, wall: Int64) { (self.monotonic, self.wall) = (monotonic, wall) }
    }

    /// Implausible, and kept until the next one.
    private struct Doubt {
        /// Since when readings have agreed, ms by the phone's clock.
        var since: Int64
        var reading: Reading
    }

    private let bounds: Bounds
    package private(set) var counts = VerdictCounts()
    /// What the marker shows.
    package private(set) var shown: Reading?
    /// When that came, ns; what freshness is counted from.
    package private(set) var shownAt: UInt64?
    package private(set) var skew = ClockSkew()
    private var doubt: Doubt?

    package init(bounds: Bounds = Bounds()) { self.bounds = bounds }

    /// - Parameter isTravelling: travel mode is on.
    package mutating func validate(_ reading: Reading, isTravelling: Bool = true, received: Receipt) -> FixVerdict {
        let verdict = self.verdict(reading, isTravelling, received)
        self.counts.count(verdict)
        guard case .accepted = verdict else { return verdict }
        (self.shown, self.shownAt) = (reading, received.monotonic)
        return verdict
    }

    /// Readings that came in one message, in whatever order: judged as they were taken, because the way between them is
    /// what tells whether they can be. `shown` is the newest of those that were accepted, the only one to send on.
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

    /// Another rider, or the same one anew: what comes next has nothing to do with what is shown.
    package mutating func reset() {
        (self.shown, self.shownAt, self.doubt) = (nil, nil, nil)
        self.skew = ClockSkew()
    }

    /// Followers were shown a later reading by somebody else: another session of the rider, another gateway. From now on
    /// the marker goes on from there. What is shown stays when it is as late.
    ///
    /// - Parameter at: when that reading came, ns of this gateway's clock.
    package mutating func resume(from reading: Reading, at: UInt64) {
        guard reading.at > self.shown?.at ?? .min else { return }
        (self.shown, self.shownAt, self.doubt) = (reading, at, nil)
    }

    /// A reading that was accepted is refused after all, by Redis, which knows more.
    package mutating func overrule(_ reason: FixRefusal) { self.counts.overrule(reason) }

    private mutating func verdict(_ reading: Reading, _ isTravelling: Bool, _ received: Receipt) -> FixVerdict {
        guard isTravelling else { return .refused(.travelModeOff) }
        let point = reading.point
        // What is no number is in no range.
        guard (-90...90).contains(point.latitude), (-180...180).contains(point.longitude) else {
            return .refused(.outOfRange)
        }
        guard max(abs(point.latitude), abs(point.longitude)) >= Self.smallestDegrees else { return .refused(.zeroZero) }
        let late = received.wall.subtractingReportingOverflow(reading.at)
        guard !late.overflow, late.partialValue >= -self.bounds.furthestAheadMilliseconds else {
            return .refused(.future)
        }
        // Before its age is judged: it is what a clock that is wrong is recognised by.
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

    /// Another reading decides: when it is out of reach of the one that was held, nobody was there.
    private mutating func settle(by reading: Reading) {
        guard let doubt = self.doubt else { return }
        self.doubt = nil
        guard !self.isWithinReach(reading, of: doubt.reading) else { return }
        self.counts.count(.refused(.implausibleSpeed))
    }

    /// A reading out of reach of the one that is shown.
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

    /// Readings follow each other by a second or more; what is closer together is jitter, not speed.
    private func isWithinReach(_ reading: Reading, of earlier: Reading) -> Bool {
        let seconds = max(1, Double(reading.at - earlier.at) / 1000)
        return earlier.point.meters(to: reading.point) <= seconds * self.bounds.fastestMetersPerSecond
    }

    /// As Coordinate has it: half of the seventh decimal, degrees.
    private static let smallestDegrees = 5e-8
}

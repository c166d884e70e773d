// Decides whether a reading may move the marker. A phone's position jumps between houses, arrives twice, arrives late after a
// tunnel, or is on another continent. Followers see none of that. An implausible reading is held. If the following ones agree
// with it for long enough, the marker was wrong; the farther away they are, the longer they must agree. No accepted reading is
// older than the one that is shown, so a late batch never moves the marker back.

package import EnrouteWire

/// Validates the readings of one rider for one job, in the order they arrive.
package struct LocationValidator: Sendable {
    /// Readings that are held and agree with each other.
    private struct Doubt {
        var first: Reading
        var last: Reading
        /// ms for which they must agree.
        var needed: Int64
    }

    private let bounds: Bounds
    /// The bounds within which a reading is accepted at once. A higher measured speed widens them.
    private var vehicle = VehicleBounds.of(nil)
    package private(set) var counts = VerdictCounts()
    /// The reading that followers see.
    package private(set) var shown: Reading?
    /// When it was received, in ns. Its age is counted from here.
    package private(set) var shownAt: UInt64?
    package private(set) var skew = ClockSkew()
    /// A correction of the phone's clock that the rider and operations have not been notified of: ms to add to its times.
    private var clockNotice: Int64?
    /// ms. Since when the readings that were shown have agreed with each other.
    private var shownSince: Int64 = 0
    /// The number of readings shown since then, up to `provenReadings`.
    private var shownCount = 0
    /// The shown reading came from another device.
    private var isTakenOver = false
    /// The speed between the last accepted readings, in m/s.
    private var speed = 0.0
    private var course = SteadyCourse()
    /// The shown reading is not where the course leads. It may be a jump, so the way back needs evidence too.
    private var isOffCourse = false
    private var doubt: Doubt?

    package init(bounds: Bounds = Bounds()) {
        self.bounds = bounds
        self.setVehicle(nil)
    }

    /// - Parameter vehicle: as the service declared it; `nil` if unknown.
    package mutating func setVehicle(_ vehicle: Vehicle?) { self.vehicle = self.bounds.vehicle ?? .of(vehicle) }

    /// - Parameter isTravelling: whether travel mode is on.
    /// - Returns: the verdict. If it is `accepted`, `shown` is the reading with its time and its speed corrected.
    package mutating func validate(_ reading: Reading, isTravelling: Bool = true, received: Receipt) -> FixVerdict {
        if isTravelling { self.observeClock(reading, received) }
        return self.judge(reading, isTravelling, received)
    }

    /// Validates the readings of one message in the order they were captured, because plausibility depends on the
    /// distance between them. Afterwards `shown` is the newest accepted one, the only one to publish.
    ///
    /// - Returns: the verdicts, in the order of `readings`.
    package mutating func validate(
        _ readings: [Reading], isTravelling: Bool = true, received: Receipt
    ) -> [FixVerdict] {
        var verdicts = [FixVerdict](repeating: .held, count: readings.count)
        let order = readings.indices.sorted(by: { readings[$0].at < readings[$1].at })
        if isTravelling, let newest = order.last { self.observeClock(readings[newest], received) }
        for index in order { verdicts[index] = self.judge(readings[index], isTravelling, received) }
        return verdicts
    }

    /// Returns a correction of the phone's clock once, after it has proven itself: ms to add to the phone's times.
    package mutating func takeClockNotice() -> Int64? {
        guard let notice = self.clockNotice else { return nil }
        self.clockNotice = nil
        return notice
    }

    /// Forgets the reading that is shown: for another rider, or a new trip.
    package mutating func reset() {
        (self.shown, self.shownAt, self.doubt, self.clockNotice) = (nil, nil, nil, nil)
        (self.skew, self.speed, self.shownSince, self.shownCount) = (ClockSkew(), 0, 0, 0)
        (self.course, self.isOffCourse) = (SteadyCourse(), false)
        self.isTakenOver = false
    }

    /// The rider chose another device to report from now on. Its readings move the marker as soon as they agree for the
    /// shortest time, because the shown reading is that of the first device.
    package mutating func takeOver() { self.isTakenOver = true }

    /// Continues from a later reading that followers saw from another session of the rider or another gateway. Does
    /// nothing if that reading is not later.
    ///
    /// - Parameter at: when that reading was received, ns of this gateway's clock.
    /// - Returns: whether that reading is later.
    @discardableResult
    package mutating func resume(from reading: Reading, at: UInt64) -> Bool {
        guard reading.at > self.shown?.at ?? .min else { return false }
        (self.shown, self.shownAt, self.doubt) = (reading, at, nil)
        // How it was validated is unknown, so it is trusted.
        (self.shownSince, self.speed, self.course, self.isOffCourse) = (0, 0, SteadyCourse(), false)
        return true
    }

    /// Redis refused a reading that was accepted here, because it has newer data.
    package mutating func overrule(_ reason: FixRefusal) { self.counts.overrule(reason) }

    private mutating func observeClock(_ reading: Reading, _ received: Receipt) {
        let late = received.wall.subtractingReportingOverflow(reading.at)
        guard !late.overflow else { return }
        let delay = late.partialValue.subtractingReportingOverflow(self.skew.offset)
        let isRefused =
            delay.overflow || !self.bounds.isTimely(delay.partialValue)
            || received.wall - delay.partialValue <= self.shown?.at ?? .min
        let notice = self.skew.observe(
            at: reading.at, late: late.partialValue, now: received.monotonic, shownAt: self.shown?.at,
            isRefused: isRefused)
        guard let notice else { return }
        self.clockNotice = notice
        self.counts.count(.refused(.clock))
    }

    private mutating func judge(_ reading: Reading, _ isTravelling: Bool, _ received: Receipt) -> FixVerdict {
        var reading = reading
        let verdict = self.verdict(&reading, isTravelling, received)
        self.counts.count(verdict)
        guard case .accepted(let acceptance) = verdict else { return verdict }
        self.show(reading, acceptance, received)
        return verdict
    }

    /// - Parameter reading: its time is changed to that of the gateway's clock.
    private mutating func verdict(_ reading: inout Reading, _ isTravelling: Bool, _ received: Receipt) -> FixVerdict {
        guard isTravelling else { return .refused(.travelModeOff) }
        if let reason = self.bounds.refusal(of: &reading, self.skew, received) { return .refused(reason) }
        guard let shown = self.shown else { return .accepted(.onward) }
        guard reading.at != shown.at, reading.at != self.doubt?.last.at else { return .refused(.duplicate) }
        guard reading.at > shown.at else { return .refused(.outOfOrder) }
        let meters = shown.point.meters(to: reading.point)
        let isWithinReach =
            meters <= self.reach(from: shown, to: reading)
            || meters <= Self.seconds(from: shown, to: reading) * self.bounds.fastestMetersPerSecond
                && !self.isOffCourse && self.course.leads(to: reading)
        guard let doubt = self.doubt else {
            if isWithinReach { return .accepted(.onward) }
            self.hold(reading, shown, meters)
            return .held
        }
        return self.weigh(reading, against: doubt, shown, meters, isWithinReach)
    }

    /// The distance in m within which a reading is accepted at once. Readings count as at least one second apart, because
    /// shorter times are jitter and say nothing about speed. Inaccurate readings may be farther away, because the filter gives
    /// them little weight.
    private func reach(from shown: Reading, to reading: Reading) -> Double {
        let seconds = Self.seconds(from: shown, to: reading)
        let speed = max(self.speed, shown.speedMetersPerSecond ?? 0)
        let top = max(
            self.vehicle.usualMetersPerSecond, min(speed * Self.leeway, self.bounds.fastestMetersPerSecond))
        let inaccuracy = Self.accuracy(shown) + Self.accuracy(reading)
        let travelled = min(top, speed + self.vehicle.acceleration * seconds) * seconds
        return max(
            min(max(top, Self.jumpMetersPerSecond) * seconds, travelled + self.vehicle.jitterMeters + inaccuracy),
            inaccuracy * Self.accuracyLeeway)
    }

    /// Holds a reading that is out of reach, until the next ones agree with it or contradict it.
    private mutating func hold(_ reading: Reading, _ shown: Reading, _ meters: Double) {
        let seconds = Self.seconds(from: shown, to: reading)
        let expected = self.speed * seconds + Self.accuracy(shown) + Self.accuracy(reading)
        let proof = min(1, self.bounds.provingSeconds / seconds)
        let range = self.bounds.agreementMilliseconds
        let share = max(0, meters - expected) / self.bounds.farMeters
        let wanted = share * share.squareRoot() * Double(range.upperBound) * proof
        // A marker that is only a few seconds old is no better evidence than the readings that contradict it for as long. A
        // few readings are enough to rule out a short error.
        let proven = self.shownCount < Self.provenReadings ? range.lowerBound : self.bounds.provenMilliseconds
        // If the rider is back on its course, it never was where the marker is.
        let most =
            self.isTakenOver || self.course.leads(to: reading)
            ? range.lowerBound : min(range.upperBound, max(proven, shown.at - self.shownSince))
        self.doubt = Doubt(
            first: reading, last: reading, needed: Int64(min(Double(most), max(wanted, Double(range.lowerBound)))))
    }

    /// Validates a reading while others are held.
    private mutating func weigh(
        _ reading: Reading, against doubt: Doubt, _ shown: Reading, _ meters: Double, _ isWithinReach: Bool
    ) -> FixVerdict {
        guard reading.at > doubt.last.at else {
            guard isWithinReach else { return .refused(.outOfOrder) }
            self.doubt = nil
            return .accepted(.onward)
        }
        let seconds = Self.seconds(from: doubt.last, to: reading)
        let fromDoubt = doubt.last.point.meters(to: reading.point)
        let agrees = fromDoubt <= seconds * self.bounds.fastestMetersPerSecond + self.vehicle.jitterMeters
        if agrees, !isWithinReach || fromDoubt < meters {
            self.doubt?.last = reading
            return reading.at - doubt.first.at >= doubt.needed ? .accepted(.anew) : .held
        }
        if fromDoubt > seconds * Self.jumpMetersPerSecond { self.counts.count(.refused(.implausibleSpeed)) }
        self.doubt = nil
        if isWithinReach { return .accepted(.onward) }
        self.hold(reading, shown, meters)
        return .held
    }

    /// Followers see this reading from now on.
    private mutating func show(_ reading: Reading, _ acceptance: FixVerdict.Acceptance, _ received: Receipt) {
        var reading = reading
        let before = acceptance == .anew ? self.doubt?.first : self.shown
        let told = reading.speedMetersPerSecond
        if let before {
            let seconds = Self.seconds(from: before, to: reading)
            let step = min(before.point.meters(to: reading.point) / seconds, self.bounds.fastestMetersPerSecond)
            let share = acceptance == .anew ? 1 : min(1, seconds / Self.memorySeconds)
            self.speed += (step - self.speed) * share
            let most = max(self.speed, step) * Self.toldLeeway + Self.toldMargin
            if let told, told > most { reading.speedMetersPerSecond = most }
            // After a silence any reading within reach is accepted, so the readings before it do not support it.
            if seconds > Self.silenceSeconds { (self.shownSince, self.shownCount) = (reading.at, 0) }
        } else {
            if let told { reading.speedMetersPerSecond = min(told, self.bounds.fastestMetersPerSecond) }
            self.shownSince = reading.at
        }
        if acceptance == .anew {
            (self.shownSince, self.shownCount, self.doubt) = (before?.at ?? reading.at, 0, nil)
            self.isOffCourse = !self.course.leads(to: reading)
        } else if let before {
            if self.isOffCourse { self.isOffCourse = !self.course.leads(to: reading) }
            self.course.observe(from: before, to: reading)
        }
        self.shownCount = min(self.shownCount + 1, Self.provenReadings)
        self.isTakenOver = false
        (self.shown, self.shownAt) = (reading, received.monotonic)
    }

    private static func seconds(from earlier: Reading, to later: Reading) -> Double {
        max(1, Double(later.at - earlier.at) / 1000)
    }

    private static func accuracy(_ reading: Reading) -> Double { reading.accuracyMeters ?? 0 }

    /// s. A longer time between two readings is a silence.
    private static let silenceSeconds = 10.0
    /// A receiver with a short error sends fewer wrong readings than this.
    private static let provenReadings = 4
    /// m/s. No accepted jump is faster, unless the rider or its vehicle is.
    private static let jumpMetersPerSecond = 60.0
    /// Two inaccurate readings may be apart by this factor of the sum of their accuracy radii.
    private static let accuracyLeeway = 1.5
    /// A rider may exceed its measured speed by this factor.
    private static let leeway = 1.2
    /// Seconds over which the speed is averaged.
    private static let memorySeconds = 4.0
    /// A phone's reported speed is limited to this factor of the speed between its positions, plus a margin in m/s.
    private static let toldLeeway = 1.5
    private static let toldMargin = 8.0
}

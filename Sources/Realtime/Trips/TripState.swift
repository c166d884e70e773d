// The state of one rider's trip for one job: decides which of its fixes are published. A value; TripValidators, RiderSession
// and LocationRoutes query Redis and answer the rider.

package import EnrouteWire
internal import Jobs
internal import LiveState
package import Tracking

/// The verdict on one report.
package enum ReportVerdict: Hashable, Sendable {
    /// Publish this fix, the newest accepted one of the report.
    case publish(Fix)
    /// The fix is implausible on its own. It is neither shown nor refused; the next fix decides.
    case held
    /// All fixes were refused, the newest of them for this reason.
    case refused(FixRefusal)
}

/// The verdict on a report, and what the report shows about an earlier one.
package struct ValidatedReport: Hashable, Sendable {
    package var verdict: ReportVerdict
    /// The report refutes a fix that was held, from this or an earlier report: the rider was not there.
    package var refutes = false
    /// The phone's clock is corrected by so many ms; `nil` if the rider has been notified of it, and without a correction.
    package var clockCorrection: Int64?

    package init(verdict: ReportVerdict, refutes: Bool = false, clockCorrection: Int64? = nil) {
        (self.verdict, self.refutes, self.clockCorrection) = (verdict, refutes, clockCorrection)
    }
}

/// The state of a trip.
struct TripState: Sendable {
    private(set) var validator: LocationValidator
    /// The verdicts that have already been counted.
    private var noted = VerdictCounts()
    private var geofence: Geofence?
    /// The current proximity state; `nil` while the rider is not near the destination.
    var proximity: ProximityState? { self.geofence?.current.map(ProximityState.init) }
    /// Where the trip goes, as far as it is known.
    var destination: Point? { self.geofence?.destination }
    private var unavailability: Unavailability
    /// The unavailable reason last published to followers.
    private(set) var noticedReason: UnavailableReason?
    /// It is unknown whether the last reason was published.
    private var noticeMayBeLost = false
    /// The straight distance in meters from the last position to the destination; `nil` if either is unknown.
    private(set) var metersToGo: Double?
    private(set) var speedMetersPerSecond = 0.0
    /// The last position that Redis accepted, for phones that report no speed.
    private var lastPlace: (at: Int64, point: Point)?
    /// The last position was received by at least one connection.
    private(set) var isFollowed = false

    /// 0 to 100; `nil` if the phone does not report it.
    private(set) var batteryPercent: Int?

    /// - Parameter freshFor: the age at which the last position shown becomes stale, ns.
    init(bounds: LocationValidator.Bounds, freshFor: UInt64 = ViewFacts.freshness) {
        self.validator = LocationValidator(bounds: bounds)
        self.unavailability = Unavailability(freshFor: freshFor)
    }

    /// - Parameters:
    ///   - fixes: the valid fixes of one report. Together with `invalidFixes`, there is at least one.
    ///   - invalidFixes: the fixes of the report whose coordinates are invalid.
    mutating func validate(_ fixes: [Fix], invalidFixes: [InvalidFix] = [], received: LocationValidator.Receipt)
        -> ValidatedReport
    {
        let refuted = self.validator.counts.refused(.implausibleSpeed)
        let verdict = self.verdict(fixes, invalidFixes, received)
        return ValidatedReport(
            verdict: verdict, refutes: self.validator.counts.refused(.implausibleSpeed) > refuted,
            clockCorrection: self.validator.takeClockNotice())
    }

    private mutating func verdict(
        _ fixes: [Fix], _ invalidFixes: [InvalidFix], _ received: LocationValidator.Receipt
    ) -> ReportVerdict {
        guard fixes.count + invalidFixes.count > 1 else {
            switch self.validator.validate(
                fixes.first.map { Reading($0) } ?? Reading(invalidFixes[0]), received: received)
            {
            case .accepted: return .publish(self.corrected(fixes[0]))
            case .held: return .held
            case .refused(let reason): return .refused(reason)
            }
        }
        let readings = fixes.map { Reading($0) } + invalidFixes.map { Reading($0) }
        let verdicts = Array(zip(readings, self.validator.validate(readings, received: received)))
        func newest(_ isMeant: (FixVerdict) -> Bool) -> FixVerdict? {
            verdicts.filter { isMeant($0.1) }.max { $0.0.at < $1.0.at }?.1
        }
        // A fix with invalid coordinates is never accepted, so each accepted reading is one of `fixes`.
        let accepted = zip(fixes, verdicts).filter { if case .accepted = $0.1.1 { true } else { false } }.map(\.0)
        if let fix = accepted.max(by: { $0.at < $1.at }) { return .publish(self.corrected(fix)) }
        if newest({ $0 == .held }) != nil { return .held }
        guard case .refused(let reason)? = newest({ _ in true }) else { return .held }
        return .refused(reason)
    }

    /// The fix that was accepted last, with the time and the speed that the validator corrected.
    private func corrected(_ fix: Fix) -> Fix {
        guard let shown = self.validator.shown else { return fix }
        var corrected = fix
        (corrected.at, corrected.speedMetersPerSecond) = (shown.at, shown.speedMetersPerSecond)
        return corrected
    }

    /// A report arrived, whatever its verdict.
    ///
    /// - Parameter battery: the phone's battery level, 0 to 1.
    mutating func reportReceived(battery: Double?) {
        self.unavailability.connection(isOpen: true)
        self.batteryPercent = battery.map { Int(($0 * 100).rounded()) }
        self.unavailability.battery(percent: self.batteryPercent)
    }

    /// Redis refused a position that this gateway accepted.
    mutating func overrule(_ reason: FixRefusal) { self.validator.overrule(reason) }

    /// Travel mode was switched, so earlier positions no longer count for validation.
    mutating func restart() {
        self.validator.reset()
        self.unavailability.stopped()
        self.isStarted = false
        (self.noticedReason, self.isFollowed, self.metersToGo, self.lastPlace) = (nil, false, nil, nil)
    }

    /// Redis accepted a position, and `listeners` connections received it.
    ///
    /// - Returns: a new proximity state.
    package mutating func published(_ fix: Fix, listeners: Int, now: UInt64) -> ProximityState? {
        let reading = Reading(fix)
        self.isFollowed = listeners > 0
        self.speedMetersPerSecond = reading.speedMetersPerSecond ?? self.speed(to: reading.point, at: reading.at)
        self.lastPlace = (reading.at, reading.point)
        self.metersToGo = self.geofence.map { reading.point.meters(to: $0.destination) }
        self.started(now: now)
        self.unavailability.accepted(now: now)
        return self.geofence?.observe(reading).map(ProximityState.init)
    }

    /// The speed in m/s since the last position; 0 for the first one, and after a pause in which anything may have happened.
    private func speed(to point: Point, at: Int64) -> Double {
        guard let last = self.lastPlace, at > last.at, at - last.at <= Self.longestDerived else { return 0 }
        return last.point.meters(to: point) / (Double(at - last.at) / 1000)
    }

    /// The longest time between two positions from which a speed is derived, ms.
    private static let longestDerived: Int64 = 30_000

    // MARK: unavailable locations

    /// Travel mode is on, at the latest since now.
    mutating func started(now: UInt64) {
        guard !self.isStarted else { return }
        self.isStarted = true
        self.unavailability.started(now: now)
        self.unavailability.connection(isOpen: true)
    }

    /// Travel mode was switched on. Earlier unavailable reasons no longer apply.
    ///
    /// - Returns: whether travel mode was not known to be on.
    mutating func startTravel(now: UInt64) -> Bool {
        guard !self.isStarted else { return false }
        self.started(now: now)
        (self.noticedReason, self.noticeMayBeLost) = (nil, false)
        return true
    }

    private var isStarted = false

    package mutating func reported(_ reason: UnavailableReason, now: UInt64) {
        self.started(now: now)
        self.unavailability.report(reason, now: now)
    }

    mutating func refused(now: UInt64) { self.unavailability.refused(now: now) }

    /// The session ended, or a REST reporter became silent.
    mutating func disconnected() { self.unavailability.connection(isOpen: false) }

    /// The unavailable reason to publish if it differs from the last published one: a reason, or `nil` if the location is
    /// available again.
    ///
    /// - Parameters:
    ///   - now: ns; a later time returns what will apply then.
    ///   - isOver: a position has arrived.
    mutating func takeUnavailabilityNotice(now: UInt64, isOver: Bool) -> UnavailableReason?? {
        let reason = self.unavailability.reason(now: now)
        guard reason != self.noticedReason || self.noticeMayBeLost, reason != nil || isOver else { return .none }
        (self.noticedReason, self.noticeMayBeLost) = (reason, false)
        return .some(reason)
    }

    /// The last reason may not have been published, so it is returned again.
    mutating func noticeWasLost() { self.noticeMayBeLost = true }

    /// Continues from what followers have been shown by any gateway, as it was read from Redis.
    ///
    /// - Parameter now: ns of this gateway's clock.
    mutating func resume(from view: JobView, now: UInt64) {
        let destination = view.record.destination.map { Point($0) }
        if destination != self.geofence?.destination { self.geofence = destination.map { Geofence(destination: $0) } }
        if view.isTracking { self.noticedReason = view.unavailable }
        guard let location = view.snapshot.location else { return }
        let age = UInt64(clamping: view.snapshot.positionAgeMilliseconds ?? 0) * 1_000_000
        let shownAt = now - min(now, age)
        self.validator.resume(from: Reading(location.fix), at: shownAt)
        self.unavailability.resumed(shownAt: shownAt)
    }

    /// The verdicts since the last call.
    mutating func newCounts() -> [(verdict: FixVerdictName, count: Int)] {
        let (before, counts) = (self.noted, self.validator.counts)
        guard counts != before else { return [] }
        self.noted = counts
        // The usual case: readings were accepted, and nothing else.
        if counts.refused == before.refused, counts.held == before.held, counts.accepted > before.accepted {
            return [(.accepted, counts.accepted - before.accepted)]
        }
        return FixVerdictName.allCases.compactMap { name in
            let count = name.count(in: counts) - name.count(in: before)
            return count == 0 ? nil : (name, count)
        }
    }
}

extension ProximityState {
    package init(_ proximity: Proximity) {
        self =
            switch proximity {
            case .approaching: .approaching
            case .arrived: .arrived
            case .left: .left
            }
    }
}

/// Verdicts by the names under which they are counted.
enum FixVerdictName: Hashable, Sendable, CaseIterable {
    case accepted, held
    case refused(FixRefusal)

    static let allCases: [FixVerdictName] = [.accepted, .held] + FixRefusal.allCases.map { .refused($0) }

    var text: String {
        switch self {
        case .accepted: "accepted"
        case .held: "held"
        case .refused(let reason): reason.rawValue
        }
    }

    func count(in counts: VerdictCounts) -> Int {
        switch self {
        case .accepted: counts.accepted
        case .held: counts.held
        case .refused(let reason): counts.refused(reason)
        }
    }
}

// One rider's trip for one job, as far as its reports tell: which of them may move the marker. A value; who asks Redis
// and answers the rider is TripValidators, RiderSession and LocationRoutes.

package import EnrouteWire
internal import Jobs
internal import LiveState
package import Tracking

/// What becomes of one report.
package enum ReportVerdict: Hashable, Sendable {
    /// This one goes on: the newest of its readings that count.
    case publish(Fix)
    /// Implausible by itself: nobody is shown it, nor is it refused. The next one decides.
    case held
    /// None of its readings counts, the newest of them for this reason.
    case refused(FixRefusal)
}

/// The same, and what it says of a report before it.
package struct ValidatedReport: Hashable, Sendable {
    package var verdict: ReportVerdict
    /// A reading that was held, before or in the same report, is refuted: nobody was there.
    package var refutes = false

    package init(verdict: ReportVerdict, refutes: Bool = false) {
        (self.verdict, self.refutes) = (verdict, refutes)
    }
}

/// What is known of a trip.
struct TripState: Sendable {
    private(set) var validator: LocationValidator
    /// What was noted of its verdicts already.
    private var noted = VerdictCounts()
    private var geofence: Geofence?
    /// What the place suggests at the moment; `nil` while it is away from its destination.
    var proximity: ProximityState? { self.geofence?.current.map(ProximityState.init) }
    private var unavailability: Unavailability
    /// What followers were told last of a silence.
    private(set) var noticedReason: UnavailableReason?
    /// It is not known whether they were.
    private var noticeMayBeLost = false
    /// Metres, straight, from the last position to the destination; `nil` when one of the two is not known.
    private(set) var metersToGo: Double?
    private(set) var speedMetersPerSecond = 0.0
    /// Somebody heard the last position.
    private(set) var isFollowed = false

    /// 0 to 100; `nil` when the phone does not say.
    private(set) var batteryPercent: Int?

    /// - Parameter freshFor: after so long what followers were shown last is called old, ns.
    init(bounds: LocationValidator.Bounds, freshFor: UInt64 = ViewFacts.freshness) {
        self.validator = LocationValidator(bounds: bounds)
        self.unavailability = Unavailability(freshFor: freshFor)
    }

    /// - Parameters:
    ///   - fixes: of one report; with `invalidFixes` one or more.
    ///   - invalidFixes: those that are no place.
    mutating func validate(_ fixes: [Fix], invalidFixes: [InvalidFix] = [], received: LocationValidator.Receipt)
        -> ValidatedReport
    {
        let refuted = self.validator.counts.refused(.implausibleSpeed)
        let verdict = self.verdict(fixes, invalidFixes, received)
        return ValidatedReport(verdict: verdict, refutes: self.validator.counts.refused(.implausibleSpeed) > refuted)
    }

    private mutating func verdict(
        _ fixes: [Fix], _ invalidFixes: [InvalidFix], _ received: LocationValidator.Receipt
    ) -> ReportVerdict {
        guard fixes.count + invalidFixes.count > 1 else {
            switch self.validator.validate(
                fixes.first.map { Reading($0) } ?? Reading(invalidFixes[0]), received: received)
            {
            case .accepted: return .publish(fixes[0])
            case .held: return .held
            case .refused(let reason): return .refused(reason)
            }
        }
        let readings = fixes.map { Reading($0) } + invalidFixes.map { Reading($0) }
        let verdicts = Array(zip(readings, self.validator.validate(readings, received: received)))
        func newest(_ isMeant: (FixVerdict) -> Bool) -> FixVerdict? {
            verdicts.filter { isMeant($0.1) }.max { $0.0.at < $1.0.at }?.1
        }
        // What is no place is accepted by nobody, so whatever is accepted is one of the fixes.
        let accepted = zip(fixes, verdicts).filter { if case .accepted = $0.1.1 { true } else { false } }.map(\.0)
        if let fix = accepted.max(by: { $0.at < $1.at }) { return .publish(fix) }
        if newest({ $0 == .held }) != nil { return .held }
        guard case .refused(let reason)? = newest({ _ in true }) else { return .held }
        return .refused(reason)
    }

    /// A report came, whatever becomes of it.
    ///
    /// - Parameter battery: what the phone says of it, 0 to 1.
    mutating func reportReceived(battery: Double?) {
        self.unavailability.connection(isOpen: true)
        self.batteryPercent = battery.map { Int(($0 * 100).rounded()) }
        self.unavailability.battery(percent: self.batteryPercent)
    }

    /// Redis refused what was accepted here.
    mutating func overrule(_ reason: FixRefusal) { self.validator.overrule(reason) }

    /// Travel mode was switched: what was shown is no measure of what comes.
    mutating func restart() {
        self.validator.reset()
        self.unavailability.stopped()
        self.isStarted = false
        (self.noticedReason, self.isFollowed, self.metersToGo) = (nil, false, nil)
    }

    /// Redis took a position, and so many heard it.
    ///
    /// - Returns: what its place suggests from now on.
    package mutating func published(_ fix: Fix, listeners: Int, now: UInt64) -> ProximityState? {
        let reading = Reading(fix)
        self.isFollowed = listeners > 0
        self.speedMetersPerSecond = reading.speedMetersPerSecond ?? 0
        self.metersToGo = self.geofence.map { reading.point.meters(to: $0.destination) }
        self.started(now: now)
        self.unavailability.accepted(now: now)
        return self.geofence?.observe(reading).map(ProximityState.init)
    }

    // MARK: why nothing is seen

    /// Travel mode is on, since now at the latest.
    mutating func started(now: UInt64) {
        guard !self.isStarted else { return }
        self.isStarted = true
        self.unavailability.started(now: now)
        self.unavailability.connection(isOpen: true)
    }

    /// Travel mode was switched on: whatever was the matter before is not any more.
    ///
    /// - Returns: whether it was not known to be on.
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

    /// Its session is gone, or it fell silent.
    mutating func disconnected() { self.unavailability.connection(isOpen: false) }

    /// What followers are to be told of a silence, if it is another than they were told: why, or `nil` that it is over.
    ///
    /// - Parameters:
    ///   - now: ns; later than now, to know what will be so then.
    ///   - isOver: a position has come.
    mutating func takeUnavailabilityNotice(now: UInt64, isOver: Bool) -> UnavailableReason?? {
        let reason = self.unavailability.reason(now: now)
        guard reason != self.noticedReason || self.noticeMayBeLost, reason != nil || isOver else { return .none }
        (self.noticedReason, self.noticeMayBeLost) = (reason, false)
        return .some(reason)
    }

    /// What was taken last may not have been told: it is taken again.
    mutating func noticeWasLost() { self.noticeMayBeLost = true }

    /// What followers have been shown by whomever, as it was read.
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

    /// What is to be noted since the last time.
    mutating func takeCounts() -> [(verdict: FixVerdictName, count: Int)] {
        let (before, counts) = (self.noted, self.validator.counts)
        guard counts != before else { return [] }
        self.noted = counts
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

/// Verdicts by their names, to be counted under.
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

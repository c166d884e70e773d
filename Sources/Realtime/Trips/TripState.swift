// The state of one rider's trip for one job: decides which of its fixes are published. A value; TripValidators, RiderSession
// and LocationRoutes query Redis and answer the rider.

package import EnrouteWire
internal import Jobs
internal import LiveState
package import Tracking

/// A rider's trip for one job.
struct TripState: Sendable {
    private(set) var validator: LocationValidator
    /// What followers see of the accepted fixes.
    private var movement: ShownMovement
    private var noted = NotedVerdicts()
    private var geofence: Geofence?
    /// The current proximity state; `nil` while the rider is not near the destination.
    var proximity: ProximityState? { self.geofence?.current.map(ProximityState.init) }
    /// Where the trip goes, as far as it is known.
    var destination: Point? { self.geofence?.destination }
    private var nearness = Nearness()
    private var unavailability: Unavailability
    /// The unavailable reason last published to followers.
    private(set) var noticedReason: UnavailableReason?
    /// It is unknown whether the last reason was published.
    private var noticeMayBeLost = false
    /// The straight distance in meters from the last position to the destination; `nil` if either is unknown.
    private(set) var metersToGo: Double?
    /// The rider's own speed in m/s; `nil` until a position shows it.
    private(set) var speed: Double?
    /// The usual speed of the vehicle in m/s.
    var usualSpeed: Double { TravelAssumptions.of(self.movement.vehicle).speed }
    /// The last position that Redis accepted, for phones that report no speed.
    private var lastPlace: (at: Int64, point: Point)?
    /// The last position was received by at least one connection.
    private(set) var isFollowed = false

    /// 0 to 100; `nil` if the phone does not report it.
    private(set) var batteryPercent: Int?

    /// - Parameters:
    ///   - freshFor: the age at which the last position shown becomes stale, ns.
    ///   - streets: where followers see the rider on its street; `nil` if none are loaded.
    init(
        bounds: LocationValidator.Bounds, freshFor: UInt64 = ViewFacts.freshness, streets: (any StreetSource)? = nil
    ) {
        self.validator = LocationValidator(bounds: bounds)
        self.movement = ShownMovement(bounds: bounds.vehicle, streets: streets)
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
            case .accepted(let acceptance): return .publish(self.shown([(fixes[0], acceptance)]) ?? fixes[0])
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
        let accepted = zip(fixes, verdicts).compactMap { fix, verdict in
            if case .accepted(let acceptance) = verdict.1 { (fix, acceptance) } else { nil }
        }
        if let fix = self.shown(accepted.sorted { $0.0.at < $1.0.at }) { return .publish(fix) }
        if newest({ $0 == .held }) != nil { return .held }
        guard case .refused(let reason)? = newest({ _ in true }) else { return .held }
        return .refused(reason)
    }

    /// - Parameter accepted: the fixes that were accepted, in the order they were captured.
    /// - Returns: what followers see of the last one, with the time and the speed that the validator corrected.
    private mutating func shown(_ accepted: [(fix: Fix, acceptance: FixVerdict.Acceptance)]) -> Fix? {
        guard let shown = self.validator.shown, let last = accepted.last else { return nil }
        let correction = shown.at.subtractingReportingOverflow(last.fix.at).partialValue
        var result: Fix?
        for (index, (fix, acceptance)) in accepted.enumerated() {
            var corrected = fix
            corrected.at = fix.at.addingReportingOverflow(correction).partialValue
            if fix.at == last.fix.at { corrected.speedMetersPerSecond = shown.speedMetersPerSecond }
            result = self.movement.show(
                corrected, isAnew: acceptance == .anew,
                isMatched: accepted.count - index <= ShownMovement.mostMatched)
        }
        return result
    }

    /// The rider chose another device to report.
    mutating func takeOver() { self.validator.takeOver() }

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
        self.movement.reset()
        self.unavailability.stopped()
        self.isStarted = false
        (self.noticedReason, self.isFollowed, self.metersToGo, self.lastPlace) = (nil, false, nil, nil)
        self.speed = nil
        self.nearness = Nearness()
    }

    /// Redis accepted a position, and `listeners` connections received it.
    ///
    /// - Returns: the new proximity state if it changed, otherwise `nil`.
    mutating func published(_ fix: Fix, listeners: Int, now: UInt64) -> ProximityState? {
        let reading = Reading(fix)
        self.isFollowed = listeners > 0
        self.speed = reading.speedMetersPerSecond ?? self.speed(to: reading.point, at: reading.at)
        self.lastPlace = (reading.at, reading.point)
        self.metersToGo = self.geofence.map { reading.point.meters(to: $0.destination) }
        self.started(now: now)
        self.unavailability.accepted(now: now)
        return self.geofence?.observe(reading).map(ProximityState.init)
    }

    /// The seconds until the rider arrives, if they are to be reported now.
    ///
    /// - Parameter fix: the one that was just published.
    mutating func near(_ fix: Fix) -> Double? {
        guard let metersToGo, let destination else { return nil }
        return self.nearness.observe(
            Reading(fix), to: destination, metersToGo: metersToGo, vehicle: self.movement.vehicle)
    }

    /// The speed in m/s since the last position; `nil` for the first one, and after a pause in which anything may have
    /// happened.
    private func speed(to point: Point, at: Int64) -> Double? {
        guard let last = self.lastPlace, at > last.at, at - last.at <= Self.longestDerived else { return nil }
        return last.point.meters(to: point) / (Double(at - last.at) / 1000)
    }

    /// The longest time between two positions from which a speed is derived, ms.
    private static let longestDerived: Int64 = 30_000

    // MARK: unavailable locations

    /// Travel mode is on. It may have been switched on earlier.
    mutating func started(now: UInt64) {
        guard !self.isStarted else { return }
        self.isStarted = true
        self.unavailability.started(now: now)
        self.unavailability.connection(isOpen: true)
    }

    /// Travel mode was switched on.
    ///
    /// - Parameter resumes: the trip continues, and a published unavailable reason applies until a position arrives.
    /// - Returns: whether a new trip starts, to which earlier unavailable reasons do not apply.
    mutating func startTravel(resumes: Bool = false, now: UInt64) -> Bool {
        guard !self.isStarted else { return false }
        self.started(now: now)
        guard !resumes else { return false }
        (self.noticedReason, self.noticeMayBeLost) = (nil, false)
        return true
    }

    private var isStarted = false

    mutating func reported(_ reason: UnavailableReason, now: UInt64) {
        self.started(now: now)
        self.unavailability.report(reason, now: now)
    }

    mutating func refused(_ reason: FixRefusal, now: UInt64) {
        self.unavailability.refused(now: now, isMocked: reason == .mocked)
    }

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

    /// Another session or gateway published this reason.
    mutating func noticed(_ reason: UnavailableReason) { self.noticedReason = reason }

    /// The last reason may not have been published, so it is returned again.
    mutating func noticeWasLost() { self.noticeMayBeLost = true }

    /// Whether this position is newer than all that this session or gateway knows.
    ///
    /// - Parameter positionAt: when it was captured, ms since the epoch; `nil` without a position.
    func isOlder(than positionAt: Int64?) -> Bool {
        guard let positionAt else { return false }
        return positionAt > self.validator.shown?.at ?? .min
    }

    /// Continues from what followers have been shown by any gateway, as it was read from Redis.
    ///
    /// - Parameter now: ns of this gateway's clock.
    mutating func resume(from view: JobView, now: UInt64) {
        let destination = view.record.destination.map { Point($0) }
        if destination != self.geofence?.destination {
            // A new destination has not been approached yet.
            let proximity = self.geofence == nil ? view.proximity.map { Proximity($0) } : nil
            self.geofence = destination.map { Geofence(destination: $0, proximity: proximity) }
        }
        if view.isTracking { self.noticedReason = view.unavailable }
        self.validator.setVehicle(view.vehicle)
        self.movement.setVehicle(view.vehicle)
        guard let location = view.snapshot.location else { return }
        let age = UInt64(clamping: view.snapshot.positionAgeMilliseconds ?? 0) * 1_000_000
        let shownAt = now - min(now, age)
        // The filter starts again from what another session or gateway has shown.
        if self.validator.resume(from: Reading(location.fix), at: shownAt) { self.movement.reset() }
        if view.isPositionOfOtherDevice { self.validator.takeOver() }
        self.unavailability.resumed(shownAt: shownAt)
    }

    /// The verdicts since the last call.
    mutating func newCounts() -> [(verdict: FixVerdictName, count: Int)] {
        self.noted.update(to: self.validator.counts)
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

extension Proximity {
    fileprivate init(_ state: ProximityState) {
        self =
            switch state {
            case .approaching: .approaching
            case .arrived: .arrived
            case .left: .left
            }
    }
}

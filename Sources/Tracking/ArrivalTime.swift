// Decides which arrival time followers receive, and when it is calculated again. Between two calculations it counts
// down. A result that hardly differs is ignored, to avoid jitter. An overdue or failed calculation is reported as such,
// never as a negative number. The arrival is independent of the tracking state: a failing provider does not affect the
// marker (AC-007), and the last estimate of a silent rider becomes doubtful (AC-005).

/// The arrival at one job's destination. Times are ns of a monotonic clock.
package struct ArrivalTime: Sendable {
    /// What followers see.
    package enum State: Hashable, Sendable {
        /// Seconds from now, 0 for any moment.
        case ok(seconds: Double)
        case recalculating
        case unavailable
    }

    package struct Bounds: Hashable, Sendable {
        /// Time between two calculations while the job is followed. One minute makes at most 60 queries an hour.
        package var interval = UInt64.seconds(60)
        /// Minimum time between two calculations, whatever the rider does.
        package var shortestInterval = UInt64.seconds(10)
        /// Meters. A rider who is this much farther from the destination than at the closest point since the calculation is
        /// assumed to take another route. On a known route, distances are measured along it.
        package var deviationMeters = 250.0
        /// Timeout of a calculation.
        package var longestCalculation = UInt64.seconds(10)
        /// Delays before a failed calculation is repeated: the first one and the maximum.
        package var firstRetry = UInt64.seconds(10)
        package var lastRetry = UInt64.seconds(60)
        /// How long the last successful calculation is counted down without a newer one.
        package var goodFor = UInt64.seconds(180)
        /// After this time without a location, the arrival time is doubtful.
        package var freshFor = ViewFacts.freshness
        /// After this time without a location, there is nothing to calculate from.
        package var longestSilence = UInt64.seconds(300)
        /// A new estimate is ignored if it differs by less than both of these: seconds, and a share of the remaining
        /// time. Once the arrival is overdue, one within these seconds is still "any moment".
        package var jitterSeconds = 30.0
        package var jitterShare = 0.1

        package init() {}
    }

    /// Identifies a calculation, so a late result is recognized.
    package struct Calculation: Hashable, Sendable {
        /// Why a calculation is due.
        package enum Reason: Hashable, Sendable {
            /// The interval is over.
            case due
            /// The rider takes another route than assumed, or uses another vehicle.
            case deviation
            /// The predicted time has passed, and the rider has not arrived. Close to the destination no provider knows
            /// more than the built-in estimator, which is used alone.
            case overdue
            /// The rider is close to the destination, possibly sooner than predicted. The built-in estimator is used alone,
            /// and its result counts only if it is earlier: a rider who waits is soon `due` or `overdue`.
            case near
        }

        package let reason: Reason
        fileprivate let number: Int
        fileprivate let began: UInt64
    }

    private let bounds: Bounds
    /// The arrival time that followers see.
    private var arrivesAt: UInt64?
    /// When the last successful calculation started. Its result is counted from then.
    private var calculatedAt: UInt64?
    private var running: Calculation?
    private var numbers = 0
    private var failures = 0
    /// When the last calculation started or was found to have failed.
    private var triedAt: UInt64?
    /// When a calculation was last due in which a provider may be queried.
    private var askedAt: UInt64?
    /// The shortest distance to the destination since the last calculation, in m.
    private var nearestMeters: Double?
    private var isAlongRoute = false
    private var deviates = false
    private var isNear = false
    private var seenAt: UInt64?

    package init(bounds: Bounds = Bounds()) { self.bounds = bounds }

    /// Records an accepted reading.
    ///
    /// - Parameters:
    ///   - isAlongRoute: whether `metersToGo` is measured along the calculated route, which may lead away from the destination
    ///     for a while. Otherwise it is the straight line.
    ///   - isNear: the rider is about to arrive.
    package mutating func observe(
        metersToGo: Double, isAlongRoute: Bool = false, isNear: Bool = false, now: UInt64
    ) {
        // After a silence, the rider may have taken any route.
        if let seenAt = self.seenAt, now > seenAt + self.bounds.freshFor { self.deviates = true }
        self.seenAt = now
        if isAlongRoute != self.isAlongRoute { (self.isAlongRoute, self.nearestMeters) = (isAlongRoute, nil) }
        self.isNear = isNear
        self.nearestMeters = min(self.nearestMeters ?? metersToGo, metersToGo)
        if let nearest = self.nearestMeters, metersToGo > nearest + self.bounds.deviationMeters { self.deviates = true }
    }

    /// The rider has left the route that was calculated, or uses another vehicle.
    package mutating func deviated() { self.deviates = true }

    /// The destination changed, so earlier results are invalid.
    package mutating func redirected() {
        (self.arrivesAt, self.calculatedAt, self.running) = (nil, nil, nil)
        (self.triedAt, self.askedAt) = (nil, nil)
        (self.nearestMeters, self.deviates, self.isNear, self.failures) = (nil, false, false, 0)
    }

    /// Nothing is known about the arrival any longer, for example because a stop of unknown length comes first.
    package mutating func invalidated() { (self.arrivesAt, self.calculatedAt) = (nil, nil) }

    /// Starts a calculation if one is due. The caller ends it with `succeeded`, `failed` or `ceded`.
    ///
    /// - Returns: `nil` if none is due, nobody follows, or there is no current location.
    package mutating func start(isFollowed: Bool, now: UInt64) -> Calculation? {
        self.expire(now)
        guard isFollowed, self.isFresh(now), self.running == nil, let reason = self.reason(now) else { return nil }
        self.numbers += 1
        let calculation = Calculation(reason: reason, number: self.numbers, began: now)
        (self.running, self.triedAt) = (calculation, now)
        if reason == .due { self.askedAt = self.scheduled(now) }
        return calculation
    }

    /// Whether the result of a calculation is still awaited: it is not too late, and the destination is still the same.
    package func isRunning(_ calculation: Calculation) -> Bool { calculation == self.running }

    /// Records that a provider is queried although the interval is not over.
    package mutating func asked(_ calculation: Calculation) {
        guard calculation == self.running, calculation.reason != .due else { return }
        self.askedAt = calculation.began
    }

    /// - Parameter seconds: the time from the start of the calculation to the arrival.
    /// - Returns: whether followers see another arrival time than before.
    @discardableResult
    package mutating func succeeded(_ calculation: Calculation, seconds: Double, now: UInt64) -> Bool {
        guard calculation == self.running, seconds.isFinite else {
            self.failed(calculation, now: now)
            return false
        }
        self.running = nil
        let isLater = self.arrivesAt.map { Self.arrival(after: seconds, from: calculation.began) >= $0 } ?? false
        guard calculation.reason != .near || !isLater else { return false }
        return self.accept(seconds: seconds, from: calculation.began, now: now)
    }

    /// Another gateway calculates for this job. `adopt` receives its result; otherwise this gateway soon tries again.
    package mutating func ceded(_ calculation: Calculation, now: UInt64) {
        guard calculation == self.running else { return }
        (self.running, self.triedAt) = (nil, now)
        self.askedAt = now - min(now, self.bounds.interval - self.bounds.shortestInterval)
    }

    /// Adopts the result of another gateway.
    ///
    /// - Parameters:
    ///   - seconds: from the start of its calculation to the arrival.
    ///   - began: when its calculation started, by this gateway's clock.
    package mutating func adopt(seconds: Double, from began: UInt64, now: UInt64) {
        guard seconds.isFinite, began <= now, began >= self.calculatedAt ?? 0 else { return }
        self.triedAt = max(self.triedAt ?? 0, began)
        // A result that comes before the interval is over was calculated without a provider.
        if began + self.bounds.shortestInterval >= self.askedAt.map({ $0 + self.bounds.interval }) ?? 0 {
            self.askedAt = began
        }
        _ = self.accept(seconds: seconds, from: began, now: now)
    }

    private static func arrival(after seconds: Double, from began: UInt64) -> UInt64 {
        began + UInt64.seconds(min(max(0, seconds), self.longestSeconds))
    }

    private mutating func accept(seconds: Double, from began: UInt64, now: UInt64) -> Bool {
        (self.failures, self.calculatedAt) = (0, began)
        (self.nearestMeters, self.deviates) = (nil, false)
        let arrival = Self.arrival(after: seconds, from: began)
        let remaining = Double(arrival) / 1e9 - Double(now) / 1e9
        if let shown = self.arrivesAt, shown <= now {
            // Followers see "any moment" already. A rider who waits at the door stays about to arrive.
            guard remaining > self.bounds.jitterSeconds else { return false }
        } else if let shown = self.arrivesAt {
            let difference = abs(Double(arrival) / 1e9 - Double(shown) / 1e9)
            // A difference of a few seconds matters only close to the arrival.
            guard difference > min(self.bounds.jitterSeconds, max(0, remaining) * self.bounds.jitterShare) else {
                return false
            }
        }
        self.arrivesAt = arrival
        return true
    }

    package mutating func failed(_ calculation: Calculation, now: UInt64) {
        guard calculation == self.running else { return }
        self.running = nil
        self.failures += 1
        self.triedAt = now
    }

    package func state(now: UInt64) -> State {
        guard let seenAt = self.seenAt else { return self.failures > 0 ? .unavailable : .recalculating }
        guard now <= seenAt + self.bounds.longestSilence else { return .unavailable }
        guard self.isFresh(now) else { return .recalculating }
        guard let arrivesAt = self.arrivesAt, let calculatedAt = self.calculatedAt else {
            return self.failures > 0 ? .unavailable : .recalculating
        }
        guard now <= calculatedAt + self.bounds.goodFor else {
            return self.failures > 0 ? .unavailable : .recalculating
        }
        return .ok(seconds: arrivesAt > now ? Double(arrivesAt - now) / 1e9 : 0)
    }

    /// Returns until when, without further input, `start` returns `nil` and `state` only counts down. Called after `start`.
    package func isSettledUntil(now: UInt64) -> UInt64 {
        guard self.running == nil, self.failures == 0, case .ok = self.state(now: now), let seenAt = self.seenAt,
            let calculatedAt = self.calculatedAt, let triedAt = self.triedAt, let askedAt = self.askedAt
        else { return now }
        var end = min(
            seenAt + self.bounds.freshFor, calculatedAt + self.bounds.goodFor, askedAt + self.bounds.interval)
        if self.deviates || self.isNear { end = min(end, triedAt + self.bounds.shortestInterval) }
        if let arrivesAt { end = min(end, max(arrivesAt, triedAt + self.bounds.shortestInterval)) }
        return max(now, end)
    }

    /// One day. Longer times are cut off here.
    private static let longestSeconds = 86_400.0

    private func isFresh(_ now: UInt64) -> Bool { self.seenAt.map { now <= $0 + self.bounds.freshFor } ?? false }

    /// Ends a calculation whose result never arrived.
    private mutating func expire(_ now: UInt64) {
        guard let running = self.running, now > running.began + self.bounds.longestCalculation else { return }
        self.failed(running, now: now)
    }

    /// The reason to calculate now, or `nil`.
    private func reason(_ now: UInt64) -> Calculation.Reason? {
        guard let triedAt = self.triedAt, let askedAt = self.askedAt else { return .due }
        if self.failures > 0 {
            let doublings = min(self.failures - 1, 8)
            return now >= triedAt + min(self.bounds.lastRetry, self.bounds.firstRetry << UInt64(doublings)) ? .due : nil
        }
        if now >= askedAt + self.bounds.interval { return .due }
        guard now >= triedAt + self.bounds.shortestInterval else { return nil }
        if self.deviates { return .deviation }
        guard let arrivesAt = self.arrivesAt else { return nil }
        // Otherwise it would show "any moment" for the rest of the interval.
        if arrivesAt <= now { return .overdue }
        return self.isNear && arrivesAt > now + self.bounds.shortestInterval ? .near : nil
    }

    /// Ticks are a little late. Intervals are counted from the time a calculation was due, so delays do not add up.
    private func scheduled(_ now: UInt64) -> UInt64 {
        guard let askedAt = self.askedAt, now >= askedAt + self.bounds.interval,
            now < askedAt + self.bounds.interval + self.bounds.shortestInterval
        else { return now }
        return askedAt + self.bounds.interval
    }
}

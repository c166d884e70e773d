// What followers are told of the arrival, and when it is calculated anew. Between two calculations it counts down, so it
// never stands still; a calculation that says nearly the same is not shown, so it does not tremble; one that is overdue or
// failed shows as such, and never as a number below zero. Independent of whether the rider is seen: a failing service leaves
// the marker alone (AC-007), and a silent rider leaves the last estimate to be called into question (AC-005).

/// The arrival at one job's destination. Times are ns of a clock that never goes back.
package struct ArrivalTime: Sendable {
    /// What is shown.
    package enum State: Hashable, Sendable {
        /// s from now, 0 for any moment.
        case ok(seconds: Double)
        case recalculating
        case unavailable
    }

    package struct Bounds: Hashable, Sendable {
        /// From one calculation to the next while followed: the story's minute, which makes 60 questions an hour.
        package var interval = UInt64.seconds(60)
        /// The next one comes no sooner, whatever the rider does.
        package var shortestInterval = UInt64.seconds(10)
        /// m further from the destination than at the nearest since the calculation: the rider takes another way.
        package var deviationMeters = 250.0
        /// A calculation that is still out after so long has failed.
        package var longestCalculation = UInt64.seconds(10)
        /// A calculation that failed is tried again after the first, at last after the second.
        package var firstRetry = UInt64.seconds(10)
        package var lastRetry = UInt64.seconds(60)
        /// The last good one is counted down for so long, while no other comes.
        package var goodFor = UInt64.seconds(180)
        /// A rider unseen for longer is not where it was: what is told is called into question.
        package var freshFor = ViewFacts.freshness
        /// A rider unseen for longer: there is nothing to calculate from.
        package var longestSilence = UInt64.seconds(300)
        /// A new estimate that differs by no more than either, s and share of what remains, is not shown.
        package var jitterSeconds = 30.0
        package var jitterShare = 0.1

        package init() {}
    }

    /// A number to tell one calculation from the next: an answer that comes too late is known by it.
    package struct Calculation: Hashable, Sendable {
        /// Why now.
        package enum Reason: Hashable, Sendable {
            /// The minute is over.
            case due
            /// The rider goes elsewhere than it was thought.
            case deviation
            /// The time that was told has come, and the rider has not: near the door, where no service knows more than
            /// the built-in estimator, which is to be asked alone.
            case overdue
        }

        package let reason: Reason
        fileprivate let number: Int
        fileprivate let began: UInt64
    }

    private let bounds: Bounds
    /// When the rider arrives, as it is shown.
    private var arrivesAt: UInt64?
    /// When the last good calculation began; what it said is true of that moment.
    private var calculatedAt: UInt64?
    private var running: Calculation?
    private var numbers = 0
    private var failures = 0
    /// When the last calculation began or was found to have failed.
    private var triedAt: UInt64?
    /// When the last one that a service may be asked for was due.
    private var askedAt: UInt64?
    /// Nearest to the destination since the last calculation, m, and now.
    private var nearestMeters: Double?
    private var deviates = false
    private var seenAt: UInt64?

    package init(bounds: Bounds = Bounds()) { self.bounds = bounds }

    /// A reading was accepted.
    ///
    /// - Parameter metersToGo: straight to the destination.
    package mutating func observe(metersToGo: Double, now: UInt64) {
        // Back from a silence in which anything may have happened.
        if let seenAt = self.seenAt, now > seenAt + self.bounds.freshFor { self.deviates = true }
        self.seenAt = now
        self.nearestMeters = min(self.nearestMeters ?? metersToGo, metersToGo)
        if let nearest = self.nearestMeters, metersToGo > nearest + self.bounds.deviationMeters { self.deviates = true }
    }

    /// The destination is another: nothing that was calculated is true of it.
    package mutating func redirected() {
        (self.arrivesAt, self.calculatedAt, self.running) = (nil, nil, nil)
        (self.triedAt, self.askedAt) = (nil, nil)
        (self.nearestMeters, self.deviates, self.failures) = (nil, false, 0)
    }

    /// Whether to calculate now; whoever is given a calculation ends it with `succeeded`, `failed` or `ceded`.
    ///
    /// - Returns: `nil` when it is not time, nobody follows, or the rider is not seen.
    package mutating func begin(isFollowed: Bool, now: UInt64) -> Calculation? {
        self.expire(now)
        guard isFollowed, self.isFresh(now), self.running == nil, let reason = self.reason(now) else { return nil }
        self.numbers += 1
        let calculation = Calculation(reason: reason, number: self.numbers, began: now)
        (self.running, self.triedAt) = (calculation, now)
        if reason != .overdue { self.askedAt = self.scheduled(now) }
        return calculation
    }

    /// - Parameter seconds: from when the calculation began to the arrival.
    package mutating func succeeded(_ calculation: Calculation, seconds: Double, now: UInt64) {
        guard calculation == self.running, seconds.isFinite else { return self.failed(calculation, now: now) }
        self.running = nil
        self.take(seconds: seconds, from: calculation.began, now: now)
    }

    /// Another gateway calculates for this job; what it finds comes by `adopt`, or this one asks again soon.
    package mutating func ceded(_ calculation: Calculation, now: UInt64) {
        guard calculation == self.running else { return }
        (self.running, self.triedAt) = (nil, now)
        self.askedAt = now - min(now, self.bounds.interval - self.bounds.shortestInterval)
    }

    /// What another gateway has calculated.
    ///
    /// - Parameters:
    ///   - seconds: from then to the arrival.
    ///   - began: when that was, by this gateway's clock.
    package mutating func adopt(seconds: Double, from began: UInt64, now: UInt64) {
        guard seconds.isFinite, began <= now, began >= self.calculatedAt ?? 0 else { return }
        (self.triedAt, self.askedAt) = (max(self.triedAt ?? 0, began), max(self.askedAt ?? 0, began))
        self.take(seconds: seconds, from: began, now: now)
    }

    private mutating func take(seconds: Double, from began: UInt64, now: UInt64) {
        (self.failures, self.calculatedAt) = (0, began)
        (self.nearestMeters, self.deviates) = (nil, false)
        let arrival = began + UInt64.seconds(min(max(0, seconds), Self.longestSeconds))
        if let shown = self.arrivesAt, shown > now {
            let remaining = Double(arrival) / 1e9 - Double(now) / 1e9
            let difference = abs(Double(arrival) / 1e9 - Double(shown) / 1e9)
            // Close to the end a few seconds are what matters; far from it, nobody sees them.
            guard difference > min(self.bounds.jitterSeconds, max(0, remaining) * self.bounds.jitterShare) else {
                return
            }
        }
        self.arrivesAt = arrival
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

    /// s: a day; who has further to go is not told when.
    private static let longestSeconds = 86_400.0

    private func isFresh(_ now: UInt64) -> Bool { self.seenAt.map { now <= $0 + self.bounds.freshFor } ?? false }

    /// A calculation whose end nobody has told of.
    private mutating func expire(_ now: UInt64) {
        guard let running = self.running, now > running.began + self.bounds.longestCalculation else { return }
        self.failed(running, now: now)
    }

    /// Why to calculate now, if so.
    private func reason(_ now: UInt64) -> Calculation.Reason? {
        guard let triedAt = self.triedAt, let askedAt = self.askedAt else { return .due }
        if self.failures > 0 {
            let doublings = min(self.failures - 1, 8)
            return now >= triedAt + min(self.bounds.lastRetry, self.bounds.firstRetry << UInt64(doublings)) ? .due : nil
        }
        if now >= askedAt + self.bounds.interval { return .due }
        guard now >= triedAt + self.bounds.shortestInterval else { return nil }
        if self.deviates { return .deviation }
        // It would say any moment for the rest of the minute.
        return self.arrivesAt.map { $0 <= now } ?? false ? .overdue : nil
    }

    /// Ticks come a little late; minutes are counted from when one was due, so that this does not add up.
    private func scheduled(_ now: UInt64) -> UInt64 {
        guard let askedAt = self.askedAt, now >= askedAt + self.bounds.interval,
            now < askedAt + self.bounds.interval + self.bounds.shortestInterval
        else { return now }
        return askedAt + self.bounds.interval
    }
}

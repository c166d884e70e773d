// When a rider may report next: no faster than the gateway publishes, no sooner than it asked for, and not before a wait that it
// named. Whatever the recording has in between is passed over: the newest reading wins.

import EnrouteWire

/// The pace of one connection's reports. Times are of the monotonic clock.
struct ReportPace: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Whether the interval that the gateway asks for is kept.
    let heedsRate: Bool
    /// Between two reports, at least: what comes faster the gateway conflates.
    private(set) var leastInterval = Self.usualLeastInterval
    /// What the gateway asked for.
    private(set) var askedInterval = Duration.zero
    private var reportedAt: Instant?
    private var heldUntil: Instant?

    /// Two a second, where the gateway does not say.
    static let usualLeastInterval = Duration.milliseconds(500)
    /// Where a refusal names no time.
    static let usualWait = Duration.seconds(1)
    /// The longest interval and the longest wait that are believed.
    static let longest = Duration.seconds(60)

    init(heedsRate: Bool) { self.heedsRate = heedsRate }

    /// The gateway said what it takes.
    mutating func heard(_ limits: Limits) {
        guard limits.positionsPerSecond > 0 else { return }
        self.leastInterval = .seconds(1) / limits.positionsPerSecond
    }

    /// The gateway asked for a report every so many seconds.
    mutating func asked(seconds: Double) {
        guard seconds.isFinite, seconds >= 0 else { return }
        self.askedInterval = min(.seconds(min(seconds, 60)), Self.longest)
    }

    /// A message was lost to a limit.
    mutating func refused(retryInMilliseconds: Int64?, at now: Instant) {
        let wait = retryInMilliseconds.map { Duration.milliseconds(min(max($0, 0), 60_000)) } ?? Self.usualWait
        self.heldUntil = max(self.heldUntil ?? now, now + wait)
    }

    mutating func reported(at now: Instant) { self.reportedAt = now }

    /// How long until the next report; zero or less: now.
    ///
    /// - Parameter isLast: where the trip ends is not withheld for the interval that was asked for.
    func wait(at now: Instant, isLast: Bool) -> Duration {
        let interval = self.heedsRate && !isLast ? max(self.leastInterval, self.askedInterval) : self.leastInterval
        let paced = self.reportedAt.map { $0 + interval - now } ?? .zero
        let held = self.heldUntil.map { $0 - now } ?? .zero
        return max(paced, held, .zero)
    }
}

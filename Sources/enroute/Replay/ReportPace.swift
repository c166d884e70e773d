// When a rider may send its next report: not faster than the gateway publishes, not more often than the gateway requests, and not
// before the delay of a refusal is over. Fixes in between are skipped: the newest one replaces them.

import EnrouteWire

/// The pace of one connection's reports. Times are of a monotonic clock.
struct ReportPace: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Whether to use the interval that the gateway requests.
    let followsRequestedRate: Bool
    /// Minimum interval between two reports; the gateway conflates faster ones.
    private(set) var minInterval = Self.defaultMinInterval
    /// The interval that the gateway requests.
    private(set) var requestedInterval = Duration.zero
    private var reportedAt: Instant?
    private var delayedUntil: Instant?

    /// Used until the gateway has sent its limits: two reports a second.
    static let defaultMinInterval = Duration.milliseconds(500)
    /// The delay after a refusal without one.
    static let defaultDelay = Duration.seconds(1)
    /// The longest interval and the longest delay that are accepted.
    static let longest = Duration.seconds(60)

    init(followsRequestedRate: Bool) { self.followsRequestedRate = followsRequestedRate }

    /// Updates the minimum interval from the gateway's limits.
    mutating func received(_ limits: Limits) {
        guard limits.positionsPerSecond > 0 else { return }
        self.minInterval = .seconds(1) / limits.positionsPerSecond
    }

    /// Updates the interval that the gateway requests.
    mutating func requested(seconds: Double) {
        guard seconds.isFinite, seconds >= 0 else { return }
        self.requestedInterval = min(.seconds(min(seconds, 60)), Self.longest)
    }

    /// Records that a message was refused because of a limit.
    mutating func refused(retryInMilliseconds: Int64?, at now: Instant) {
        let wait = retryInMilliseconds.map { Duration.milliseconds(min(max($0, 0), 60_000)) } ?? Self.defaultDelay
        self.delayedUntil = max(self.delayedUntil ?? now, now + wait)
    }

    mutating func reported(at now: Instant) { self.reportedAt = now }

    /// Returns the time until the next report; zero if it may be sent now.
    ///
    /// - Parameter isLast: the end of the trip is reported without waiting for the requested interval.
    func wait(at now: Instant, isLast: Bool) -> Duration {
        let interval =
            self.followsRequestedRate && !isLast ? max(self.minInterval, self.requestedInterval) : self.minInterval
        let paced = self.reportedAt.map { $0 + interval - now } ?? .zero
        let held = self.delayedUntil.map { $0 - now } ?? .zero
        return max(paced, held, .zero)
    }
}

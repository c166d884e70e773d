// When a rider may send its next report: not faster than the gateway publishes and accepts messages, not more often
// than the gateway requests, and not before the delay of a refusal has passed. Fixes in between are skipped, because a
// newer one replaces them.

import EnrouteWire

/// The pace of one connection's messages. Times are of a monotonic clock.
struct ReportPace: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Whether to use the interval that the gateway requests.
    let followsRequestedRate: Bool
    /// Minimum interval between two reports; the gateway conflates faster ones.
    private(set) var minInterval = Self.defaultMinInterval
    /// Minimum interval between two messages of any kind; the gateway refuses faster ones. Zero until it has sent its limits.
    private(set) var messageInterval = Duration.zero
    /// The interval that the gateway requests.
    private(set) var requestedInterval = Duration.zero
    private var reportedAt: Instant?
    private var sentAt: Instant?
    private var delayedUntil: Instant?

    /// Used until the gateway has sent its limits: two reports a second.
    static let defaultMinInterval = Duration.milliseconds(500)
    /// The delay after a refusal without one.
    static let defaultDelay = Duration.seconds(1)
    /// The longest interval and the longest delay that are accepted.
    static let longest = Duration.seconds(60)

    init(followsRequestedRate: Bool) { self.followsRequestedRate = followsRequestedRate }

    /// Messages are sent this many times more slowly than the limit allows, because their travel times differ.
    private static let messageMargin = 1.05

    /// Updates the minimum intervals from the gateway's limits.
    mutating func received(_ limits: Limits) {
        if limits.positionsPerSecond > 0 { self.minInterval = .seconds(1) / limits.positionsPerSecond }
        if limits.messagesPerSecond > 0 {
            self.messageInterval = .seconds(1) * (Self.messageMargin / Double(limits.messagesPerSecond))
        }
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

    /// Records that a message was sent that is not a report. Reports are messages, too.
    mutating func sent(at now: Instant) { self.sentAt = now }

    mutating func reported(at now: Instant) { (self.reportedAt, self.sentAt) = (now, now) }

    /// Returns the time until the next message that is not a report; zero if it may be sent now.
    func wait(at now: Instant) -> Duration {
        let paced = self.sentAt.map { $0 + self.messageInterval - now } ?? .zero
        let held = self.delayedUntil.map { $0 - now } ?? .zero
        return max(paced, held, .zero)
    }

    /// Returns the time until the next report; zero if it may be sent now.
    ///
    /// - Parameter isLast: the end of the trip is reported without waiting for the requested interval.
    func wait(at now: Instant, isLast: Bool) -> Duration {
        let interval =
            self.followsRequestedRate && !isLast ? max(self.minInterval, self.requestedInterval) : self.minInterval
        let paced = self.reportedAt.map { $0 + interval - now } ?? .zero
        return max(paced, self.wait(at: now))
    }
}

// Whether a loop's view of revocations is up to date. The loop reads the stream twice a second. If the last successful
// read is too long ago, the loop might show a position to somebody whose access was revoked, so it suppresses positions
// until the next successful read. After the loop itself was blocked, its view is stale too, but there is no outage to
// report to clients.

/// When the revocation stream was last read. Times are nanoseconds of a monotonic clock.
package struct RevocationFreshness: Sendable {
    /// How long the state counts as fresh after a successful read.
    package let patience: UInt64
    /// When the last successful read was sent. Every revocation before that is known.
    private var seenAt: UInt64
    /// Loop ticks since the last successful read.
    private var ticks = 0

    /// Number of ticks without a reply after which clients are notified. The loop was running all the time, so the
    /// cause is Redis.
    package static let ticksToReport = 10

    package init(now: UInt64, patience: UInt64 = .seconds(1)) {
        self.seenAt = now
        self.patience = patience
    }

    /// - Parameter sentAt: when the read was sent.
    package mutating func answered(sentAt: UInt64) {
        self.seenAt = max(self.seenAt, sentAt)
        self.ticks = 0
    }

    package mutating func tick() { self.ticks += 1 }

    package func isRevocationStateStale(now: UInt64) -> Bool { now > self.seenAt + self.patience }

    /// Whether the state is stale although the loop was running.
    package func isReportable(now: UInt64) -> Bool {
        self.ticks >= Self.ticksToReport && self.isRevocationStateStale(now: now)
    }
}

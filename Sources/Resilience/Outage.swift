// Which notifications clients get about Redis: none for a short outage, `degraded` after a while, and `restored` once
// every connection works and every job has been resynced. Until then clients see one outage, because a working
// connection is useless while the reads that replace lost messages still fail.

/// Whether clients were notified that their state may be stale. Times are nanoseconds of a monotonic clock.
package struct Outage: Sendable {
    package enum Notice: Hashable, Sendable {
        case degraded
        case restored
    }

    /// Outages shorter than this are not reported.
    package let patience: UInt64
    package private(set) var isDegraded = false
    /// Since when a connection has been down or unresponsive, or lost messages have not been replaced.
    private var since: UInt64?
    /// Whether messages may be missing because of an outage, reported or not. Mismatches of followers are expected
    /// then.
    package var isUnderway: Bool { self.since != nil }

    package init(patience: UInt64 = .seconds(2)) { self.patience = patience }

    /// - Parameters:
    ///   - unresponsiveSince: since when a connection has been down or unresponsive; `nil` if all of them work.
    ///   - isSettled: no job is waiting for a resync.
    ///   - isRevocationStateStale: the revocation state is stale and positions are suppressed, which is reported
    ///     immediately.
    package mutating func observe(
        unresponsiveSince: UInt64?, isSettled: Bool, isRevocationStateStale: Bool = false, now: UInt64
    ) -> Notice? {
        if let unresponsiveSince {
            self.since = min(self.since ?? unresponsiveSince, unresponsiveSince)
        } else if isSettled, !isRevocationStateStale {
            self.since = nil
        }
        if isRevocationStateStale { self.since = self.since ?? now }
        guard let since = self.since else {
            guard self.isDegraded else { return nil }
            self.isDegraded = false
            return .restored
        }
        guard !self.isDegraded, isRevocationStateStale || now >= since + self.patience else { return nil }
        self.isDegraded = true
        return .degraded
    }
}

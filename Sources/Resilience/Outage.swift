// What clients are told about Redis: nothing for a short absence, `degraded` after a while, `restored` once everything
// stands again and every job has been read again. To a client that is one absence: a connection that stands while the
// reads that would make up for its loss come to nothing is no use to it.

/// Whether clients have been told that what they see may be old. Times are nanoseconds of a clock that never goes back.
package struct Outage: Sendable {
    package enum Notice: Hashable, Sendable {
        case degraded
        case restored
    }

    /// An absence of less than this is nobody's concern.
    package let patience: UInt64
    package private(set) var isDegraded = false
    /// Since when something does not answer, or what its absence left behind is not read again.
    private var since: UInt64?

    package init(patience: UInt64 = .seconds(2)) { self.patience = patience }

    /// - Parameters:
    ///   - silentSince: since when a connection is gone or does not answer; `nil` when all of them do.
    ///   - isSettled: nothing waits to be read again.
    ///   - isBlind: positions are withheld, which is told at once.
    package mutating func observe(
        silentSince: UInt64?, isSettled: Bool, isBlind: Bool = false, now: UInt64
    ) -> Notice? {
        if let silentSince {
            self.since = min(self.since ?? silentSince, silentSince)
        } else if isSettled, !isBlind {
            self.since = nil
        }
        if isBlind { self.since = self.since ?? now }
        guard let since = self.since else {
            guard self.isDegraded else { return nil }
            self.isDegraded = false
            return .restored
        }
        guard !self.isDegraded, isBlind || now >= since + self.patience else { return nil }
        self.isDegraded = true
        return .degraded
    }
}

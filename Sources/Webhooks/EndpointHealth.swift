// What the attempts to deliver say about an endpoint: whether to send it everything, only a few events to find out whether it
// works again, or nothing.

/// The health of one endpoint. A value.
package struct EndpointHealth: Sendable, Hashable {
    /// After how many failures in a row the endpoint counts as failing.
    package static let failuresUntilFailing = 5
    /// How often it is stored that an endpoint fails, or works, without any other change, ms.
    static let noteInterval: Int64 = 10_000

    private var failures = 0
    /// ms since the epoch; `nil` while deliveries succeed.
    package private(set) var failingSince: Int64?
    private var notedAt: Int64 = 0

    /// - Parameter failingSince: as stored.
    package init(failingSince: Int64?) {
        self.failingSince = failingSince
        self.failures = failingSince == nil ? 0 : Self.failuresUntilFailing
    }

    /// Whether only a few events should be tried.
    package var isFailing: Bool { self.failures >= Self.failuresUntilFailing }

    /// Records a successful delivery.
    ///
    /// - Returns: whether it should be stored.
    package mutating func succeeded(at now: Int64) -> Bool {
        let isNews = self.failingSince != nil
        (self.failures, self.failingSince) = (0, nil)
        return self.isDue(isNews, now)
    }

    /// Records a failed attempt.
    ///
    /// - Returns: whether it should be stored.
    package mutating func failed(at now: Int64) -> Bool {
        self.failures += 1
        let isNews = self.failingSince == nil
        if isNews { self.failingSince = now }
        return self.isDue(isNews, now)
    }

    /// Whether the endpoint has failed for so long that it should be switched off.
    package func isHopeless(at now: Int64, limit: Duration) -> Bool {
        guard let failingSince else { return false }
        return now - failingSince >= limit.components.seconds * 1000
    }

    private mutating func isDue(_ isNews: Bool, _ now: Int64) -> Bool {
        guard isNews || now - self.notedAt >= Self.noteInterval else { return false }
        self.notedAt = now
        return true
    }
}

// The health of an endpoint, derived from delivery attempts: whether to send it everything, only a few events to find
// out whether it works again, or nothing. The number of reports is limited, so that an endpoint with intermittent
// failures does not flood the log.

internal import LiveState

/// The health of one endpoint. A value.
package struct EndpointHealth: Sendable, Hashable {
    /// What to report, and how.
    package enum Report: Sendable, Hashable {
        case nothing
        /// Store that the endpoint works.
        ///
        /// - Parameters:
        ///   - deliveredAt: ms since the epoch.
        ///   - isNews: whether it was last reported as failing. Then the recovery is logged too.
        case works(deliveredAt: Int64, isNews: Bool)
        /// Store that the endpoint fails.
        ///
        /// - Parameters:
        ///   - since: ms since the epoch.
        ///   - isNews: whether it was last reported as working. Then the failure is logged too.
        case fails(since: Int64, reason: String, isNews: Bool)
    }

    /// Number of failures in a row after which the endpoint counts as failing.
    package static let failuresUntilFailing = 5
    /// The minimum time between two reports of a change, and between two without one, ms.
    package static let reportInterval: Int64 = 10_000

    private var failures = 0
    /// ms since the epoch; `nil` while deliveries succeed.
    package private(set) var failingSince: Int64?
    /// When an attempt last failed, ms since the epoch; `nil` if that is unknown.
    package private(set) var failedAt: Int64?
    /// The longest time between two failures of the same disruption, ms.
    private let longestBreak: Int64
    private var deliveredAt: Int64 = 0
    private var reason = ""
    /// Whether it was last reported as failing.
    private var isReportedFailing: Bool
    /// Times of the last report, and of the last one of a change.
    private var reportedAt: Int64?
    private var changeReportedAt: Int64?

    /// - Parameters:
    ///   - failingSince: as stored.
    ///   - failedAt: as stored.
    ///   - longestBreak: the longest time between two failures of the same disruption. After a longer time,
    ///     `failingSince` starts anew, because the endpoint got no events meanwhile and cannot have failed.
    package init(
        failingSince: Int64?, failedAt: Int64? = nil, longestBreak: Duration = WebhookSettings.usual.longestBreak
    ) {
        (self.failingSince, self.failedAt) = (failingSince, failedAt)
        self.longestBreak = longestBreak.milliseconds
        self.isReportedFailing = failingSince != nil
        self.failures = failingSince == nil ? 0 : Self.failuresUntilFailing
    }

    /// Whether only a few events should be tried.
    package var isFailing: Bool { self.failures >= Self.failuresUntilFailing }

    /// Records a successful delivery.
    package mutating func succeeded(at now: Int64) -> Report {
        (self.failures, self.failingSince, self.deliveredAt) = (0, nil, now)
        return self.report(at: now)
    }

    /// Records a failed attempt.
    package mutating func failed(at now: Int64, reason: String) -> Report {
        self.failures += 1
        if let failedAt, now - failedAt > self.longestBreak { self.failingSince = nil }
        (self.failingSince, self.failedAt, self.reason) = (self.failingSince ?? now, now, reason)
        return self.report(at: now)
    }

    /// Returns a change whose report was postponed, once the interval is over. Otherwise it would wait for the next
    /// attempt, which may be hours away.
    package mutating func overdue(at now: Int64) -> Report { self.hasChanged ? self.report(at: now) : .nothing }

    /// The change that has not been reported yet, to be stored when delivery ends.
    package var unreported: Report { self.hasChanged ? self.report(isNews: false) : .nothing }

    /// Whether the endpoint has failed for so long that it should be switched off.
    package func isHopeless(at now: Int64, limit: Duration) -> Bool {
        guard let failingSince else { return false }
        return now - failingSince >= limit.components.seconds * 1000
    }

    private var hasChanged: Bool { self.isReportedFailing != (self.failingSince != nil) }

    private func report(isNews: Bool) -> Report {
        guard let failingSince else { return .works(deliveredAt: self.deliveredAt, isNews: isNews) }
        return .fails(since: failingSince, reason: self.reason, isNews: isNews)
    }

    private mutating func report(at now: Int64) -> Report {
        let isNews = self.hasChanged
        // A clock that was set back must not delay a report.
        if let last = isNews ? self.changeReportedAt : self.reportedAt, now >= last, now - last < Self.reportInterval {
            return .nothing
        }
        self.reportedAt = now
        if isNews { self.changeReportedAt = now }
        self.isReportedFailing = self.failingSince != nil
        return self.report(isNews: isNews)
    }
}

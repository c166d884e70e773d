// Estimates how much a phone's clock differs from the gateway's, and corrects the times of its readings. The transmission
// time of a message is never negative, so the smallest of several differences that agree is the best estimate. Differences
// must agree over time: a message that waited in a tunnel is late once, a slow clock makes every message late by the same
// amount. Corrected times never run backwards when the estimate changes.

/// The difference between a phone's clock and the gateway's, derived from (received at - captured at) of its messages.
package struct ClockSkew: Hashable, Sendable {
    /// ms. A smaller difference is a network delay, and is not corrected.
    package static let tolerance: Int64 = 5_000
    /// ms. A larger difference is not corrected; its readings are refused.
    package static let furthest: Int64 = 600_000
    /// How long differences must agree before they are corrected, in ns: first while readings are refused because of them,
    /// then in all other cases.
    static let urgentAgreement = UInt64.seconds(1)
    static let agreement = UInt64.seconds(10)
    /// ns for which a correction must last before the rider and operations are notified.
    static let noticeAfter = UInt64.seconds(10)

    /// Differences that agree with each other, but not with the present correction.
    private struct Candidate: Hashable {
        var first: Int64
        var least: Int64
        /// ns
        var since: UInt64
    }

    /// Milliseconds to add to the phone's time to get the gateway's time, including the shortest transmission time; 0 while
    /// the difference is small. Negative if the phone's clock is ahead.
    package private(set) var correction: Int64 = 0
    /// The agreed difference if it is larger than `furthest`, else `nil`.
    package private(set) var uncorrected: Int64?
    /// ms added to the correction after it became smaller, so that corrected times do not run backwards. It decreases by
    /// a tenth of the time that passes: speeds between corrected times are too high by as much.
    private var slack: Int64 = 0
    private var candidate: Candidate?
    private var lastAt: Int64 = 0
    /// ms between the last two readings by the phone's clock, up to `longestStep`.
    private var step: Int64 = 1
    /// ns; `nil` without a correction, and after its notice.
    private var noticeAt: UInt64?

    package init() {}

    /// ms to add to the phone's times now.
    var offset: Int64 { self.correction + self.slack }

    /// Observes the newest reading of a message.
    ///
    /// - Parameters:
    ///   - at: ms by the phone's clock.
    ///   - late: ms from `at` to its receipt by the gateway's clock.
    ///   - now: ns of a monotonic clock.
    ///   - shownAt: the corrected time of the reading that is shown.
    ///   - isRefused: the reading would be refused because of its time.
    /// - Returns: the correction, when the rider and operations should be notified of it.
    mutating func observe(at: Int64, late: Int64, now: UInt64, shownAt: Int64?, isRefused: Bool) -> Int64? {
        // No clock is wrong by this much, and sums of such times may overflow.
        guard abs(late.clamped) < Self.absurd else { return nil }
        if self.slack > 0, at > self.lastAt { self.slack -= min(self.slack, (at - self.lastAt) / 10) }
        self.step = min(Self.longestStep, max(1, at.subtractingReportingOverflow(self.lastAt).partialValue))
        self.lastAt = at
        let rest = late - self.correction
        if abs(rest) <= Self.tolerance {
            (self.candidate, self.uncorrected) = (nil, nil)
            if rest < 0, self.correction != 0 { self.correct(by: late, at: at, shownAt) }
            return self.notice(now)
        }
        // A delay cannot make a reading come from the future, so the clock is ahead, or the correction was too large because
        // the messages before this one were delayed. The reading is corrected at once, before it is shown. Otherwise later
        // readings of another device, or of this one with its clock set right, would count as older.
        if rest < 0, !isRefused || late >= -Self.tolerance {
            // The clock may have jumped, so the time since the previous reading is unknown.
            if late < -Self.tolerance { self.step = 1 }
            self.adopt(late, at: at, now: now, shownAt)
            return nil
        }
        self.consider(late, at: at, now: now, shownAt, isRefused: isRefused)
        return nil
    }

    private mutating func consider(_ late: Int64, at: Int64, now: UInt64, _ shownAt: Int64?, isRefused: Bool) {
        guard var candidate = self.candidate, abs(late - candidate.first) <= Self.tolerance, now >= candidate.since
        else {
            self.candidate = Candidate(first: late, least: late, since: now)
            return
        }
        candidate.least = min(candidate.least, late)
        self.candidate = candidate
        let span = now - candidate.since
        // Buffered messages that arrive together become less late with each one.
        guard span >= (isRefused ? Self.urgentAgreement : Self.agreement),
            abs(late - candidate.first) <= Int64(span / 2_000_000)
        else { return }
        self.adopt(candidate.least, at: at, now: now, shownAt)
    }

    private mutating func adopt(_ late: Int64, at: Int64, now: UInt64, _ shownAt: Int64?) {
        self.candidate = nil
        guard abs(late) <= Self.furthest else {
            self.uncorrected = late
            return
        }
        self.uncorrected = nil
        self.correct(by: abs(late) <= Self.tolerance ? 0 : late, at: at, shownAt)
        self.noticeAt = self.correction == 0 ? nil : now + Self.noticeAfter
    }

    /// Corrects the times of readings so that they stay after the one that is shown, by the time between their captures. None
    /// is moved further into the future than `tolerance`.
    private mutating func correct(by correction: Int64, at: Int64, _ shownAt: Int64?) {
        self.correction = correction
        self.slack = shownAt.map { min(Self.tolerance, max(0, $0 - at - correction + self.step)) } ?? 0
    }

    private mutating func notice(_ now: UInt64) -> Int64? {
        guard let noticeAt = self.noticeAt, now >= noticeAt else { return nil }
        self.noticeAt = nil
        return self.correction
    }

    /// ms. Longer times between two readings count as this.
    private static let longestStep: Int64 = 5_000
    /// ms: a day.
    private static let absurd: Int64 = 86_400_000
}

extension Int64 {
    /// A value whose magnitude is an Int64.
    fileprivate var clamped: Int64 { Swift.max(self, -.max) }
}

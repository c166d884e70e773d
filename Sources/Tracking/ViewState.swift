// What a follower is shown, derived in one place so that no two clients disagree: from whether the job goes on, whether its
// rider shares, and how old the last accepted reading is.

package import EnrouteWire

/// What there is to be seen of a job.
package enum ViewState: Hashable, Sendable {
    /// Underway perhaps, but nothing to show yet: travel mode is off, or no reading has come.
    case waiting
    case live
    /// The last reading is old; the marker stands where it was.
    case stale
    /// The rider switched travel mode off by hand, which is not arrival.
    case paused
    case arrived
    case ended(EndReason)

    /// The texts of it.
    package var text: TrackingTextKey {
        switch self {
        case .waiting: .waiting
        case .live: .live
        case .stale: .stale
        case .paused: .paused
        case .arrived: .arrived
        case .ended(.timeLimit): .endedTimeLimit
        case .ended(.completed): .endedCompleted
        case .ended(.cancelled): .endedCancelled
        case .ended(.reassigned): .endedReassigned
        case .ended(.revoked), .ended(.arrived), .ended(.deactivated): .endedRevoked
        }
    }

    /// Positions may be shown.
    package var showsMarker: Bool { self == .live || self == .stale }
}

/// What the state is derived from. Times are ns of a clock that never goes back.
package struct ViewFacts: Hashable, Sendable {
    /// Readings older than this are called so: the story's 30 s.
    package static let freshness = UInt64.seconds(30)

    /// Why there is nothing to follow any more, or for now; `nil` while there is.
    package var end: EndReason?
    package var isTravelling: Bool
    /// When the last accepted reading came; `nil` before the first since travel mode was switched on.
    package var shownAt: UInt64?
    /// ns: `freshness`, where nothing else is configured.
    package var freshFor: UInt64

    package init(end: EndReason? = nil, isTravelling: Bool, shownAt: UInt64?, freshFor: UInt64 = Self.freshness) {
        (self.end, self.isTravelling, self.shownAt, self.freshFor) = (end, isTravelling, shownAt, freshFor)
    }

    package func state(now: UInt64) -> ViewState {
        switch self.end {
        case .arrived: return .arrived
        case .deactivated where !self.isTravelling: return .paused
        case .deactivated, nil: break
        case .some(let reason): return .ended(reason)
        }
        guard self.isTravelling, let shownAt = self.shownAt else { return .waiting }
        return now > shownAt + self.freshFor ? .stale : .live
    }

    /// When the state changes though nothing happens; `nil` when it does not.
    package func changes(after now: UInt64) -> UInt64? {
        guard self.state(now: now) == .live, let shownAt = self.shownAt else { return nil }
        return shownAt + self.freshFor + 1
    }
}

// Derives the tracking state in one place, so all clients agree: from the end of the job, from travel mode, and from the age
// of the last accepted reading.

package import EnrouteWire

/// The tracking state of a job.
package enum ViewState: Hashable, Sendable {
    /// Nothing to show yet: travel mode is off, or no reading has arrived.
    case waiting
    case live
    /// The last reading is old. The marker stays where it was.
    case stale
    /// The rider switched travel mode off, which is not arrival.
    case paused
    case arrived
    case ended(EndReason)

    /// The key of its text.
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

    /// Whether positions may be shown.
    package var showsMarker: Bool { self == .live || self == .stale }
}

/// The inputs of the tracking state. Times are ns of a monotonic clock.
package struct ViewFacts: Hashable, Sendable {
    /// A reading older than this is stale.
    package static let freshness = UInt64.seconds(30)

    /// Why no position is shown; `nil` while positions may be shown.
    package var end: EndReason?
    package var isTravelling: Bool
    /// When the last accepted reading was received; `nil` before the first since travel mode was switched on.
    package var shownAt: UInt64?
    /// ns. `freshness` by default.
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

    /// When the state changes by time alone; `nil` if it does not.
    package func changes(after now: UInt64) -> UInt64? {
        guard self.state(now: now) == .live, let shownAt = self.shownAt else { return nil }
        return shownAt + self.freshFor + 1
    }
}

// Maps a tracking state to the key of its text, whose translations `GET texts` returns.

extension TrackingState {
    /// Whether followers no longer see the rider's location in this state.
    public var endsPositions: Bool {
        switch self {
        case .waiting, .live, .stale: false
        case .paused, .arrived, .ended: true
        }
    }

    /// Returns the key of the text for this state.
    ///
    /// - Parameter reason: why following ended; `nil` unless it did.
    public func text(_ reason: EndReason?) -> TrackingTextKey {
        switch (self, reason) {
        case (.waiting, _): .waiting
        case (.live, _): .live
        case (.stale, _): .stale
        case (.paused, _), (.ended, .deactivated): .paused
        case (.arrived, _), (.ended, .arrived): .arrived
        case (.ended, .timeLimit): .endedTimeLimit
        case (.ended, .completed): .endedCompleted
        case (.ended, .cancelled): .endedCancelled
        case (.ended, .reassigned): .endedReassigned
        case (.ended, .revoked), (.ended, nil): .endedRevoked
        }
    }
}

extension EndReason {
    /// The tracking state after location sharing ended for this reason.
    public var tracking: TrackingState {
        switch self {
        case .arrived: .arrived
        // The rider switched travel mode off, which does not mean they have arrived.
        case .deactivated: .paused
        case .timeLimit, .completed, .cancelled, .revoked, .reassigned: .ended
        }
    }
}

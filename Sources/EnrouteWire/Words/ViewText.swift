// Which text goes with what is to be seen of a job: one key, whose words in each language `GET texts` answers.

extension TrackingState {
    /// Nothing of the rider's place is shown in it any more.
    public var endsPositions: Bool {
        switch self {
        case .waiting, .live, .stale: false
        case .paused, .arrived, .ended: true
        }
    }

    /// The text that goes with it.
    ///
    /// - Parameter reason: of an end.
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
    /// What is to be seen once positions have ended for this reason.
    public var tracking: TrackingState {
        switch self {
        case .arrived: .arrived
        // By hand, which is not arrival.
        case .deactivated: .paused
        case .timeLimit, .completed, .cancelled, .revoked, .reassigned: .ended
        }
    }
}

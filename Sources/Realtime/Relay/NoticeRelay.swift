// Relays the messages of a job's feed that are not positions: arrival times, tracking states, proximity and unavailable
// reasons. They are rare.

internal import EnrouteWire
internal import ETA
internal import Fanout
internal import Logging
internal import Telemetry
internal import WebSocket

extension LoopRelay {
    /// Relays a message that is not a position.
    ///
    /// - Returns: whether the message is valid for this job's feed.
    func relayNotice(
        _ message: ServerMessage, _ frame: [UInt8], of job: JobID, to followers: ContiguousArray<FollowedJob>
    ) -> Bool {
        switch message {
        case .tracking(job, let state, let reason):
            if state.endsPositions {
                self.suppressed.drop(job)
                self.freshness.forget(job)
                self.arrivals.ended(job, because: reason)
            }
            for follower in followers { follower.offerTracking(state, frame) }
        case .eta(job, let estimate):
            self.arrivals.received(estimate, of: job)
            self.offerETA(estimate, frame, of: job, to: followers)
        case .proximity(job, _):
            for follower in followers { follower.sendNotice(frame, isForAll: false) }
        case .unavailable(job, let text, _):
            let publicFrame = Frame.text(ServerMessage.unavailable(job: job, text, nil).encoded)
            for follower in followers {
                follower.sendNotice(follower.seesOperationalDetails ? frame : publicFrame, isForAll: true)
            }
        default: return false
        }
        return true
    }

    /// Notifies the followers of a job that its positions are live or stale, unless they already know.
    func sendTrackingState(_ state: TrackingState, _ job: JobID) {
        let frame = Frame.text(ServerMessage.tracking(job: job, state, nil).encoded)
        for follower in self.table.followers(of: job) { follower.sendTrackingState(state, frame) }
    }

    // MARK: arrival times

    /// Sends an arrival time that this loop decided on its own: it has become uncertain because positions are missing, or is
    /// certain again.
    func offerEstimate(_ estimate: ArrivalEstimate, of job: JobID) {
        if self.isRevocationStateStale() {
            self.logger.trace(
                "arrival time suppressed; revocation state is stale",
                metadata: [LogKey.job: "\(job)", LogKey.reason: "\(estimate.state.rawValue)"])
        }
        self.offerETA(
            estimate, Frame.text(ServerMessage.eta(job: job, estimate).encoded), of: job,
            to: self.table.followers(of: job))
    }

    /// Sends an arrival time from before there is a position.
    func offerEarlyEstimate(_ estimate: ArrivalEstimate, of job: JobID) {
        let frame = Frame.text(ServerMessage.eta(job: job, estimate).encoded)
        for follower in self.table.followers(of: job) { follower.offerEarlyETA(frame) }
    }

    /// Arrival times are suppressed while the revocation state is stale. `showSuppressedPositions` sends them later.
    /// Customers do not receive the way to the stops before theirs.
    private func offerETA(
        _ estimate: ArrivalEstimate, _ frame: [UInt8], of job: JobID, to followers: ContiguousArray<FollowedJob>
    ) {
        guard !self.isRevocationStateStale() else { return self.suppressed.storeETA(of: job) }
        let visible = estimate.forCustomers
        let publicFrame =
            visible == estimate ? frame : Frame.text(ServerMessage.eta(job: job, visible).encoded)
        for follower in followers { follower.offerETA(follower.seesWholeRoute ? frame : publicFrame) }
    }
}

// Relays the messages of the ledger's channels: a job has a new status, has been assigned or has been erased.

internal import EnrouteWire
internal import ETA
internal import Fanout
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import Logging
internal import NIOCore
internal import Redis
internal import Telemetry
internal import TrafficControl
internal import WebSocket

extension LoopRelay {
    /// Relays a message about a job, or about the rider pool of a zone.
    func relayEvent(_ channel: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) {
        guard let job = self.keyspace.job(ofChannel: channel) else {
            return self.zones.relay(channel, payload)
        }
        // The job has been reassigned, so its followers may no longer be authorized. Nothing is shown until it is read again.
        guard !payload.elementsEqual(Self.assigned) else { return self.resync(job) }
        guard !payload.elementsEqual(Self.erased) else { return self.erased(job) }
        guard case .status(job, let event)? = ServerMessage(ours: payload) else { return self.events.refuse(channel) }
        let status = FollowerSyncState<StatusID>.Status(
            id: event.id, previous: event.previous, epoch: event.epoch, frame: Frame.text(payload))
        var (isGap, mayHaveCard) = (false, false)
        if let reason = event.status.endOfTravel { self.arrivals.ended(job, because: reason) }
        self.arrivals.statusChanged(job, to: event.status, at: event.at)
        let followers = self.table.followers(of: job)
        self.counts.add(.messagesRelayed, followers.count)
        let origin = StatusOrigin(payload)
        // Without the time, for example from a gateway of an older version, the time at which Redis recorded the status counts,
        // which is the start of its id.
        let receivedAt = origin.receivedAt ?? Int64(clamping: event.id.milliseconds)
        var written = 0
        for follower in followers {
            let verdict = follower.offerStatus(event, status, receivedAt: receivedAt, written: &written)
            if verdict == .gap {
                isGap = true
            } else if follower.showsOutdatedRider {
                if follower.showsRider { mayHaveCard = true } else { isGap = true }
            }
        }
        self.counts.durations.delivered(receivedAt: receivedAt, count: written)
        if let traceparent = origin.traceparent { self.logRelay(of: event, job, traceparent, count: written) }
        if isGap { self.resync(job) } else if mayHaveCard { self.showRider(of: job) }
    }

    /// The new status shows the rider. Followers are sent the whole state only if the rider has a card.
    private func showRider(of job: JobID) {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.jobs.view(job).whenComplete { result in
            let relay = bound.value
            guard case .success(let view?) = result, view.snapshot.riderCard == nil else { return relay.resync(job) }
            for follower in relay.table.followers(of: job) { follower.foundNoCard() }
        }
    }

    /// Logs that a status of a traced request has been relayed, so that a trace can be found in the logs of all gateways.
    private func logRelay(of event: StatusEvent, _ job: JobID, _ traceparent: String, count: Int) {
        let trace = RequestTrace([traceparent])
        guard trace.isContinued else { return }
        self.logger.debug(
            "status relayed",
            metadata: [
                LogKey.trace: "\(trace.traceID)", LogKey.job: "\(job)", LogKey.status: "\(event.status.rawValue)",
                LogKey.count: "\(count)",
            ])
    }

    /// The job no longer exists. If the message that says so is lost, the periodic check of followed jobs notices.
    private func erased(_ job: JobID) {
        self.suppressed.drop(job)
        self.arrivals.ended(job, because: .revoked)
        for follower in self.table.followers(of: job) { follower.erase() }
    }

    /// The message that assign_job publishes, and that of erase_job.
    private static let assigned = Array(#"{"type":"assigned"}"#.utf8)
    private static let erased = Array(#"{"type":"erased"}"#.utf8)
}

// What one follower is shown while things go wrong, and what of it the promise does not allow.

import EnrouteWire
import TestSupport

/// Watches one follower's messages as they come.
actor FollowerProbe {
    /// All that has been shown so far, as far as it counts.
    struct Seen: Sendable {
        /// Epoch and id of the newest status, by job.
        var status: [JobID: (epoch: String, id: StatusID)] = [:]
        /// The newest position's id, and when it was captured.
        var positionID: [JobID: UInt64] = [:]
        var capturedAt: [JobID: Int64] = [:]
        var snapshots = 0
        var resets = 0
        var degraded = 0
        var restored = 0
        var ended: [JobID: EndReason] = [:]
        /// What may not happen, in a sentence each.
        var violations: [String] = []
    }

    private(set) var seen = Seen()
    private var waiting: [(isEnough: @Sendable (Seen) -> Bool, continuation: CheckedContinuation<Void, any Error>)] = []

    /// Returns as soon as `isEnough`; throws when the follower's connection ended instead.
    func wait(until isEnough: @escaping @Sendable (Seen) -> Bool) async throws {
        if isEnough(self.seen) { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
                self.waiting.append((isEnough, continuation))
            }
        } onCancel: {
            // Ends at once: there is nothing left to wait for.
            Task { await self.ended(CancellationError()) }
        }
    }

    /// The connection ended, which it must not while anybody waits.
    func ended(_ error: any Error) {
        let waiting = self.waiting
        self.waiting = []
        waiting.forEach { $0.continuation.resume(throwing: error) }
    }

    func take(_ message: ServerMessage) {
        switch message {
        case .subscribed(let job, let snapshot): self.begin(job, snapshot)
        case .reset(let job, let snapshot):
            self.seen.resets += 1
            self.begin(job, snapshot)
        case .status(let job, let event): self.status(job, event)
        case .location(let location):
            if location.id <= self.seen.positionID[location.job] ?? 0 {
                self.seen.violations.append(
                    "position \(location.id) came after \(self.seen.positionID[location.job] ?? 0)")
            }
            self.seen.positionID[location.job] = location.id
            self.seen.capturedAt[location.job] = location.fix.at
        case .degraded: self.seen.degraded += 1
        case .restored: self.seen.restored += 1
        case .ended(let job, let reason): self.seen.ended[job] = reason
        default: break
        }
        let enough = self.waiting.filter { $0.isEnough(self.seen) }
        self.waiting.removeAll { $0.isEnough(self.seen) }
        enough.forEach { $0.continuation.resume() }
    }

    private func begin(_ job: JobID, _ snapshot: Snapshot) {
        self.seen.snapshots += 1
        self.seen.status[job] = (snapshot.epoch, snapshot.id)
        self.seen.positionID[job] = snapshot.location?.id
        if let location = snapshot.location { self.seen.capturedAt[job] = location.fix.at }
    }

    private func status(_ job: JobID, _ event: StatusEvent) {
        guard let last = self.seen.status[job] else {
            return self.seen.violations.append("a status before the snapshot")
        }
        if event.epoch != last.epoch || event.previous != last.id {
            self.seen.violations.append(
                "status \(event.id) names \(event.previous.map { "\($0)" } ?? "nothing") before it, seen was \(last.id)"
            )
        }
        self.seen.status[job] = (event.epoch, event.id)
    }
}

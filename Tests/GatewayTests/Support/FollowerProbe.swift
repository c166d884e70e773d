// Records what one follower receives during a fault, and the violations of the guarantees.

import EnrouteWire
import TestSupport

/// Observes the messages of one follower.
actor FollowerProbe {
    /// The relevant state received so far.
    struct Seen: Sendable {
        /// The epoch and ID of the newest status, by job.
        var status: [JobID: (epoch: String, id: StatusID)] = [:]
        /// The ID of the newest position, and when it was captured.
        var positionID: [JobID: UInt64] = [:]
        var capturedAt: [JobID: Int64] = [:]
        var snapshots = 0
        var resets = 0
        var degraded = 0
        var restored = 0
        var ended: [JobID: EndReason] = [:]
        /// The violations, one sentence each.
        var violations: [String] = []
    }

    private(set) var seen = Seen()
    private var waiting: [(isEnough: @Sendable (Seen) -> Bool, continuation: CheckedContinuation<Void, any Error>)] = []

    /// Waits until `isEnough` returns `true`; throws if the follower's connection closes before.
    func wait(until isEnough: @escaping @Sendable (Seen) -> Bool) async throws {
        if isEnough(self.seen) { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
                self.waiting.append((isEnough, continuation))
            }
        } onCancel: {
            // Ends immediately, because there is nothing left to wait for.
            Task { await self.ended(CancellationError()) }
        }
    }

    /// The connection closed while a test was waiting.
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

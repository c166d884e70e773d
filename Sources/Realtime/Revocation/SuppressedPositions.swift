// Buffers positions while the revocation state is stale, because it is unknown who may see them. They are shown as soon as the
// state is fresh again.

internal import EnrouteWire
internal import ETA
internal import Fanout
internal import NIOCore
internal import TrafficControl

/// The newest position of each followed job that arrived while the loop's revocation state was stale. A value.
struct SuppressedPositions {
    /// - Parameter receivedAt: when a gateway received it, ms since the epoch; 0 if that is not measured.
    typealias Position = (id: UInt64, frame: [UInt8], receivedAt: Int64)

    private var newest: [JobID: Position] = [:]
    /// Jobs with a suppressed arrival time.
    private var etas: Set<JobID> = []

    var isEmpty: Bool { self.newest.isEmpty && self.etas.isEmpty }

    mutating func store(_ id: UInt64, _ frame: [UInt8], of job: JobID, receivedAt: Int64 = 0) {
        if let held = self.newest[job], held.id >= id { return }
        self.newest[job] = (id, frame, receivedAt)
    }

    mutating func storeETA(of job: JobID) { self.etas.insert(job) }

    mutating func drop(_ job: JobID) {
        self.newest[job] = nil
        self.etas.remove(job)
    }

    mutating func removePositions() -> [JobID: Position] {
        defer { self.newest = [:] }
        return self.newest
    }

    mutating func removeETAs() -> Set<JobID> {
        defer { self.etas = [] }
        return self.etas
    }
}

extension LoopRelay {
    /// Offers suppressed positions to the clients that still follow.
    func showSuppressedPositions() {
        guard !self.suppressed.isEmpty else { return }
        var arrivals = self.suppressed.removeETAs()
        let now = NIODeadline.now()
        for (job, position) in self.suppressed.removePositions() {
            var written = 0
            for follower in self.table.followers(of: job) {
                let offer = follower.offerPosition(
                    position.id, position.frame, at: now, receivedAt: position.receivedAt)
                if offer == .written { written += 1 }
            }
            self.counts.durations.delivered(receivedAt: position.receivedAt, count: written)
            arrivals.insert(job)
        }
        for job in arrivals {
            if let estimate = self.arrivals.lastEstimate(of: job) { self.offerEstimate(estimate, of: job) }
        }
    }
}

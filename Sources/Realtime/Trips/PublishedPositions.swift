// The positions of a rider that Redis accepted recently. After a failover, the new master may lack positions that the
// previous one accepted, and the rider may not report again for some seconds.

internal import EnrouteWire
internal import Jobs
internal import LiveState
internal import NIOCore

/// The newest position of each job that Redis accepted. A value.
struct PublishedPositions: Sendable {
    struct Published: Sendable {
        var fix: Fix
        /// ms since the epoch.
        var receivedAt: Int64
    }

    private var newest: [JobID: Published] = [:]
    private let most: Int

    /// Older positions are not sent to a new master, because followers would see them as stale anyway.
    static let maxAgeMilliseconds: Int64 = 30_000

    /// - Parameter most: the maximum number of jobs. Beyond it, the job with the oldest position is forgotten.
    init(most: Int) { self.most = most }

    var count: Int { self.newest.count }

    /// Redis accepted the position.
    mutating func remember(_ fix: Fix, of job: JobID, receivedAt: Int64) {
        if let known = self.newest[job] {
            guard fix.at >= known.fix.at else { return }
        } else if self.newest.count >= self.most {
            // A job may end without being stopped here. Its last position must not displace those of later jobs.
            let oldest = self.newest.min { $0.value.receivedAt < $1.value.receivedAt }
            guard let oldest, oldest.value.receivedAt < receivedAt else { return }
            self.newest[oldest.key] = nil
        }
        self.newest[job] = Published(fix: fix, receivedAt: receivedAt)
    }

    /// The positions of this job must no longer be shown.
    mutating func forget(_ job: JobID) { self.newest[job] = nil }

    /// The positions to send to a new master. Removes positions that are too old.
    mutating func recent(now: Int64) -> [JobID: Published] {
        self.newest = self.newest.filter { $0.value.receivedAt >= now - Self.maxAgeMilliseconds }
        return self.newest
    }
}

extension LoopState {
    /// Publishes a position to a master that may not have it; if the master has it, nothing happens. If the master does
    /// not know the job, travel mode is opened again before the position is published.
    func republish(_ taken: PublishedPositions.Published, of job: JobID, by rider: PersonID, on reporter: Reporter) {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let (fix, receivedAt) = (taken.fix, taken.receivedAt)
        self.publisher.publish(fix, for: job, by: rider, on: reporter, receivedAt: receivedAt).whenSuccess { verdict in
            guard case .unknown = verdict else { return }
            bound.value.jobs.reopen(job, for: rider).whenSuccess { isOpen in
                guard isOpen else { return }
                _ = bound.value.publisher.publish(fix, for: job, by: rider, on: reporter, receivedAt: receivedAt)
            }
        }
    }
}

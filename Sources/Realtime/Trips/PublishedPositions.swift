// What Redis took of a rider, kept for a while: a master that is replaced has taken positions that the new one may lack, and
// the rider may report the next one only seconds later.

internal import EnrouteWire
internal import Jobs
internal import LiveState
internal import NIOCore

/// The newest position of each job that Redis took. A value.
struct PublishedPositions: Sendable {
    struct Published: Sendable {
        var fix: Fix
        /// ms since the epoch.
        var receivedAt: Int64
    }

    private var newest: [JobID: Published] = [:]
    private let most: Int

    /// What was received longer ago is not sent to a new master: followers would be told of it as old anyway.
    static let maxAgeMilliseconds: Int64 = 30_000

    /// - Parameter most: jobs that are remembered.
    init(most: Int) { self.most = most }

    var count: Int { self.newest.count }

    /// Redis took it.
    mutating func remember(_ fix: Fix, of job: JobID, receivedAt: Int64) {
        if let known = self.newest[job] {
            guard fix.at >= known.fix.at else { return }
        } else if self.newest.count >= self.most {
            return
        }
        self.newest[job] = Published(fix: fix, receivedAt: receivedAt)
    }

    /// Followers may no longer see the positions of this job.
    mutating func forget(_ job: JobID) { self.newest[job] = nil }

    /// What another master should be told. Forgets what is too old.
    mutating func recent(now: Int64) -> [JobID: Published] {
        self.newest = self.newest.filter { $0.value.receivedAt >= now - Self.maxAgeMilliseconds }
        return self.newest
    }
}

extension LoopState {
    /// Sends a position to a master that may not have heard of it: where it has, nothing happens. If it knows nothing of the
    /// job, travel mode is opened again, and the position sent after it.
    func republish(_ taken: PublishedPositions.Published, of job: JobID, by rider: PersonID) {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.publisher.publish(taken.fix, for: job, by: rider, receivedAt: taken.receivedAt).whenSuccess { verdict in
            guard case .unknown = verdict else { return }
            bound.value.jobs.reopen(job, for: rider).whenSuccess { isOpen in
                guard isOpen else { return }
                _ = bound.value.publisher.publish(taken.fix, for: job, by: rider, receivedAt: taken.receivedAt)
            }
        }
    }
}

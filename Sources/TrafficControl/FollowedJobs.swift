// The jobs that a gateway follows. Each event loop knows its own followers, and a job that two loops follow must count once.

package import EnrouteWire
internal import Synchronization

/// The number of event loops that follow each job. Thread-safe. Changed when a job gets its first follower on a loop or loses
/// its last one there, never for a message.
package final class FollowedJobs: Sendable {
    private let loops = Mutex<[JobID: Int]>([:])

    package init() {}

    /// The number of distinct jobs that have a follower.
    package var count: Int { self.loops.withLock { $0.count } }

    /// The job has its first follower on a loop.
    package func follow(_ job: JobID) { self.loops.withLock { $0[job, default: 0] += 1 } }

    /// The job lost its last follower on a loop.
    package func unfollow(_ job: JobID) {
        self.loops.withLock { loops in
            guard let count = loops[job] else { return }
            loops[job] = count > 1 ? count - 1 : nil
        }
    }
}

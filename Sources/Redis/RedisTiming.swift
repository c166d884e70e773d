// Time limits of connections to Redis.

package import NIOCore
internal import Resilience

/// Time limits of a connection.
package struct RedisTiming: Sendable {
    package var connect: TimeAmount = .seconds(2)
    /// Maximum age of the oldest unanswered command. Beyond it, the connection is closed.
    package var answer: TimeAmount = .seconds(3)
    /// After this much silence a PING checks the connection.
    package var health: TimeAmount = .milliseconds(500)
    /// Age of the oldest unanswered command after which the connection counts as unresponsive and clients are notified.
    package var suspicion: TimeAmount = .milliseconds(500)
    /// Minimum time between two checks of the node's replication state.
    package var monitor: TimeAmount = .seconds(1)
    /// Back-off is rand(0, min(longest, shortest * 2^n)).
    package var shortestBackoff: TimeAmount = .milliseconds(50)
    package var longestBackoff: TimeAmount = .seconds(1)
    /// Replicas that must confirm a durable write.
    package var quorum = ReplicaQuorum.majority
    /// How long a durable write waits for replicas (WAIT).
    package var replication: TimeAmount = .milliseconds(200)
    /// Interval of the connection timer.
    static let tick = TimeAmount.milliseconds(50)

    package init() {}

    var connecting: ConnectionStateMachine.Timing {
        var timing = ConnectionStateMachine.Timing()
        timing.answer = UInt64(self.answer.nanoseconds)
        timing.health = UInt64(self.health.nanoseconds)
        timing.shortestBackoff = UInt64(self.shortestBackoff.nanoseconds)
        timing.longestBackoff = UInt64(self.longestBackoff.nanoseconds)
        return timing
    }
}

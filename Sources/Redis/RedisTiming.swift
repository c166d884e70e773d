// Waits and bounds of connections to Redis.

package import NIOCore
internal import Resilience

/// Waits and bounds of a connection.
package struct RedisTiming: Sendable {
    package var connect: TimeAmount = .seconds(2)
    /// The oldest command without an answer may be this old; then the connection is given up.
    package var answer: TimeAmount = .seconds(3)
    /// A connection that heard nothing for so long is asked with PING.
    package var health: TimeAmount = .milliseconds(500)
    /// A question that waits longer than this makes the connection silent: clients will be told.
    package var suspicion: TimeAmount = .milliseconds(500)
    /// Between two looks at the node's part in replication.
    package var monitor: TimeAmount = .seconds(1)
    /// Reconnecting after rand(0, min(longest, shortest * 2^n)).
    package var shortestBackoff: TimeAmount = .milliseconds(50)
    package var longestBackoff: TimeAmount = .seconds(1)
    /// Replicas that a durable write is to reach.
    package var quorum = ReplicaQuorum.majority
    /// How long a durable write waits for them (WAIT).
    package var replication: TimeAmount = .milliseconds(200)
    /// How often connections are looked after.
    static let tick = TimeAmount.milliseconds(50)

    package init() {}

    var connecting: Connecting.Timing {
        var timing = Connecting.Timing()
        timing.answer = UInt64(self.answer.nanoseconds)
        timing.health = UInt64(self.health.nanoseconds)
        timing.shortestBackoff = UInt64(self.shortestBackoff.nanoseconds)
        timing.longestBackoff = UInt64(self.longestBackoff.nanoseconds)
        return timing
    }
}

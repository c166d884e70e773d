// How many replicas must have a write before it counts as safe. A planned failover promotes one replica while the old
// master goes on accepting for a moment: what it takes then is on the other replicas at most, and is lost. So what counts
// is not how many replicas a master has now but how many it had lately: the one that has left may be the next master.

package import NIOCore

/// How many replicas a durable write is to reach.
package enum ReplicaQuorum: Sendable, Hashable {
    /// More than half of those that the master had lately; with one or two that is all of them.
    case majority
    /// All that the master had lately.
    case all
    /// So many, whether the master has them or not; 0: nobody is asked.
    case count(Int)

    /// - Parameter replicas: that the master had lately.
    package func needed(of replicas: Int) -> Int {
        switch self {
        case .majority: replicas == 0 ? 0 : replicas / 2 + 1
        case .all: replicas
        case .count(let count): count
        }
    }
}

/// The most replicas that a master had in the last minute.
package struct RecentReplicas: Sendable {
    /// For so long a replica that has left is still counted.
    package static let memory = TimeAmount.seconds(60)

    /// Counts that fall, each with the time it was last seen; the first is the most.
    private var seen: [(count: Int, at: NIODeadline)] = []

    package init() {}

    package mutating func saw(_ count: Int, now: NIODeadline) {
        self.seen.removeAll { now - $0.at >= Self.memory || $0.count <= count }
        self.seen.append((count, now))
    }

    package func most(now: NIODeadline) -> Int {
        self.seen.first { now - $0.at < Self.memory }?.count ?? 0
    }
}

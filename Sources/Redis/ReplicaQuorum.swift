// How many replicas must confirm a write before it counts as safe. During a planned failover, one replica is promoted
// while the old master accepts writes for a moment longer. Such writes reach only the other replicas and are lost. The
// number of replicas that a master has now is therefore not enough: a replica that has just disconnected may be the
// next master.

package import NIOCore

/// How many replicas must confirm a durable write.
package enum ReplicaQuorum: Sendable, Hashable {
    /// More than half of the recent replicas. With one or two replicas, that is all of them.
    case majority
    /// All recent replicas.
    case all
    /// A fixed number, whether or not the master has them; 0 waits for none.
    case count(Int)

    /// Returns how many replicas must confirm a write.
    ///
    /// - Parameter replicas: the number of recent replicas.
    package func needed(of replicas: Int) -> Int {
        switch self {
        case .majority: replicas == 0 ? 0 : replicas / 2 + 1
        case .all: replicas
        case .count(let count): count
        }
    }
}

/// The maximum number of replicas that a master had in the last minute.
package struct RecentReplicas: Sendable {
    /// How long a disconnected replica still counts.
    package static let memory = TimeAmount.seconds(60)

    /// Decreasing counts, each with the time it was last seen; the first is the maximum.
    private var seen: [(count: Int, at: NIODeadline)] = []

    package init() {}

    package mutating func record(_ count: Int, now: NIODeadline) {
        self.seen.removeAll { now - $0.at >= Self.memory || $0.count <= count }
        self.seen.append((count, now))
    }

    package func maximum(now: NIODeadline) -> Int {
        self.seen.first { now - $0.at < Self.memory }?.count ?? 0
    }
}

// A rider's record in its zone: declared status, reachability and tasks.

package import EnrouteWire
package import NIOCore
internal import Redis

/// A rider's record.
package struct RiderRecord: Sendable, Hashable {
    /// The status that the rider declared.
    package var status: Availability
    /// The last heartbeat is younger than `heartbeatTimeout`, by the clock of Redis. Applies to online riders.
    package var isReachable: Bool
    package var isApproved: Bool
    package var capacity: Int
    /// Time of the last heartbeat, ms since the epoch; `nil` before the first.
    package var heartbeat: Int64?
    /// The device whose heartbeats count.
    package var device: DeviceID?
    /// The zone's version at this rider's last change.
    package var version: Int64
    /// When the status was last declared, ms since the epoch; `nil` before the first time.
    package var statusAt: Int64?
    /// Why the rider is offline, if a reason was given; `expired` after a long silence.
    package var reason: String?
    /// The card that followers of its jobs see.
    package var card: RiderCard?
    /// Version of the card's last change; 0 if the rider never had one.
    package var cardVersion: Int64 = 0
    /// In no particular order.
    package var tasks: [JobID: TaskState]

    /// The rider finishes its tasks and gets no new ones.
    package var isDraining: Bool { !self.isApproved && !self.tasks.isEmpty }
    /// The rider may get a task.
    package var isAvailable: Bool {
        self.status == .online && self.isReachable && self.isApproved && self.tasks.count < self.capacity
    }
}

extension Riders {
    /// Reads a rider's record and its tasks.
    ///
    /// - Returns: `nil` when there is no such rider in the zone.
    /// - Throws: (in the future) `RedisError`; also when the record is malformed.
    package func read(_ rider: PersonID, in zone: ZoneID) -> EventLoopFuture<RiderRecord?> {
        self.ledger.evaluate(
            Scripts.riderSnapshot,
            keys: [self.keyspace.rider(rider, in: zone), self.keyspace.tasks(of: rider, in: zone)],
            arguments: [self.reach]
        ).flatMapThrowing { answer in
            let parts = answer.array ?? []
            if parts.first?.integer == 0 { return nil }
            guard parts.count == 3, let state = parts[1].array?.compactMap(\.text),
                let tasks = parts[2].array?.compactMap(\.text), let record = RiderRecord(state, tasks: tasks)
            else { throw self.ledger.refusal(of: self.keyspace.rider(rider, in: zone), by: Scripts.riderSnapshot.name) }
            return record
        }
    }
}

extension RiderRecord {
    /// Maximum size of a reason in bytes.
    private static let longestReason = 200

    /// - Parameters:
    ///   - state: the eleven fields of `state` in the reply of rider_snapshot. An explanation shows no card, so it
    ///     reads only the first nine.
    ///   - tasks: jobs and states in turn.
    init?(_ state: [String], tasks: [String]) {
        guard [9, 11].contains(state.count), let status = Availability(rawValue: state[0]),
            let capacity = state[3].amount,
            let heartbeat = optional(state[4], \.timestamp), let device = optional(state[5], { DeviceID($0) }),
            let version = state[6].version, let statusAt = optional(state[7], \.timestamp),
            state[8].utf8.count <= Self.longestReason, tasks.count.isMultiple(of: 2)
        else { return nil }
        self.status = status
        self.isReachable = state[1] == "1"
        self.isApproved = state[2] == "1"
        self.capacity = capacity
        self.heartbeat = heartbeat == 0 ? nil : heartbeat
        self.device = device
        self.version = version
        self.statusAt = statusAt
        self.reason = state[8].isEmpty ? nil : state[8]
        if state.count == 11 {
            // A malformed card is not shown; the rider can work without one.
            self.card = RiderCard(stored: state[9])
            self.cardVersion = state[10].version ?? 0
        }
        self.tasks = [:]
        for index in stride(from: 0, to: tasks.count, by: 2) {
            guard let job = JobID(tasks[index]), let state = TaskState(rawValue: tasks[index + 1]) else { return nil }
            self.tasks[job] = state
        }
    }
}

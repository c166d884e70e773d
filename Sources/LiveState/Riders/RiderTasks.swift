// The active tasks of riders. `assign` makes the final decision about who gets a task: it checks the current state,
// whatever a pool or a map showed before. A task is active until it is released.

package import EnrouteWire
package import NIOCore
package import Redis

extension Riders {
    package enum Assignment: Sendable, Hashable {
        /// `version` of the zone. A later decision has a greater version.
        case assigned(version: Int64)
        case unchanged(version: Int64)
        case noSuchRider
        case offline
        case notApproved
        case unreachable
        /// The rider has as many tasks as its capacity allows.
        case full([JobID])
        /// Another rider of this zone has it, and it is not the one that hands it over.
        case taken(by: PersonID)
        case otherRequest
    }

    /// Assigns a task to a rider.
    ///
    /// - Parameters:
    ///   - former: the rider who has the task and hands it over. The task counts for both riders until it is released
    ///     for `former`. The rider itself if it had the job before it entered the zone: then it must only be online.
    ///   - state: of a task that the rider does not have yet.
    package func assign(
        _ job: JobID, to rider: PersonID, in zone: ZoneID, insteadOf former: PersonID? = nil,
        as state: TaskState = .accepted,
        by requester: Requester
    ) -> EventLoopFuture<Durable<Assignment>> {
        self.change(
            Scripts.assignRider, rider, zone, requester, keys: [self.keyspace.taskOwners(in: zone)],
            [.text(job.text), self.reach, .text(former?.text ?? ""), .text(state.rawValue)]
        ) { reply in
            switch reply.code {
            case 1: reply.version.map { .assigned(version: $0) }
            case 2: reply.version.map { .unchanged(version: $0) }
            case 0: .noSuchRider
            case -1: .offline
            case -2: .notApproved
            case -3: .unreachable
            case -4: .full(reply.jobs)
            case -5: reply.fields.first.flatMap { PersonID($0) }.map { .taken(by: $0) }
            case -9: .otherRequest
            default: nil
            }
        }
    }

    package enum Release: Sendable, Hashable {
        case released(version: Int64)
        /// The task was not, or no longer, the rider's.
        case unchanged(version: Int64)
        case noSuchRider
        case otherRequest

        package var isReleased: Bool { if case .released = self { true } else { false } }
    }

    /// Releases a rider's task, because it has ended or is handed over to another rider.
    package func release(
        _ job: JobID, of rider: PersonID, in zone: ZoneID, because outcome: TaskOutcome, by requester: Requester
    ) -> EventLoopFuture<Durable<Release>> {
        self.change(
            Scripts.releaseRider, rider, zone, requester,
            keys: [self.keyspace.taskOwners(in: zone), self.keyspace.due(in: zone)],
            [.text(job.text), .text(outcome.rawValue)]
        ) { reply in
            switch reply.code {
            case 1: reply.version.map { .released(version: $0) }
            case 2: reply.version.map { .unchanged(version: $0) }
            case 0: .noSuchRider
            case -9: .otherRequest
            default: nil
            }
        }
    }

    package enum Advance: Sendable, Hashable {
        case advanced(version: Int64)
        case unchanged(version: Int64)
        /// There is no such rider in the zone, or the task is not the rider's.
        case notTheirs
        case notAllowed(from: TaskState)
        case otherRequest
    }

    /// Moves a task to another state, if that state may follow the current one.
    package func advance(
        _ job: JobID, of rider: PersonID, in zone: ZoneID, to state: TaskState, by requester: Requester
    ) -> EventLoopFuture<Durable<Advance>> {
        self.move(job, of: rider, in: zone, to: state, from: state.predecessors, by: requester)
    }

    /// Moves a task to another state, if its current state is one of `states`. A correction moves tasks back.
    package func move(
        _ job: JobID, of rider: PersonID, in zone: ZoneID, to state: TaskState, from states: [TaskState],
        by requester: Requester
    ) -> EventLoopFuture<Durable<Advance>> {
        self.change(
            Scripts.advanceTask, rider, zone, requester,
            [.text(job.text), .text(states.map(\.rawValue).joined(separator: ",")), .text(state.rawValue)]
        ) { reply in
            switch reply.code {
            case 1: reply.version.map { .advanced(version: $0) }
            case 2: reply.version.map { .unchanged(version: $0) }
            case 0: .notTheirs
            case -1: reply.fields.first.flatMap { TaskState(rawValue: $0) }.map { .notAllowed(from: $0) }
            case -9: .otherRequest
            default: nil
            }
        }
    }

    /// All active tasks of a zone. Cost: O(tasks), without a script.
    package func tasks(in zone: ZoneID) -> EventLoopFuture<[JobID]> {
        let key = self.keyspace.taskOwners(in: zone)
        return self.ledger.send(["HKEYS", .text(key)]).map { self.ledger.names($0, of: key, by: "HKEYS") }
    }

    /// The active tasks of a rider. Cost: O(tasks), without a script.
    package func tasks(of rider: PersonID, in zone: ZoneID) -> EventLoopFuture<[JobID]> {
        let key = self.keyspace.tasks(of: rider, in: zone)
        return self.ledger.send(["HKEYS", .text(key)]).map { self.ledger.names($0, of: key, by: "HKEYS") }
    }

    /// The rider of each active task of a zone. Cost: O(tasks), without a script.
    package func taskOwners(in zone: ZoneID) -> EventLoopFuture<[PersonID]> {
        let key = self.keyspace.taskOwners(in: zone)
        return self.ledger.send(["HGETALL", .text(key)]).map { answer in
            let items = answer.array ?? []
            let owners = stride(from: 1, to: items.count, by: 2).map { items[$0] }
            return self.ledger.names(.array(owners), of: key, by: "HGETALL")
        }
    }

    /// The rider who has the job as a task; `nil` if none. Cost: O(1), without a script.
    package func owner(of job: JobID, in zone: ZoneID) -> EventLoopFuture<PersonID?> {
        let key = self.keyspace.taskOwners(in: zone)
        return self.ledger.send(["HMGET", .text(key), .text(job.text)]).map { answer in
            self.ledger.value(answer.array?.first ?? .null, of: key, by: "HMGET") { $0.text.flatMap { PersonID($0) } }
        }
    }
}

// A rider's task and the job's record are in different slots, and two gateways may change them at once. After a task is
// released or a job is opened again, both are compared, and this is repeated until they agree. So the last change is
// always compared with the record.

package import EnrouteWire
internal import HTTPValues
internal import LiveState
package import NIOCore
internal import Redis

extension JobService {
    /// How often a task and a record that others change concurrently are compared.
    private static let maxSettlements = 5

    /// Assigns the task to a rider if the job is open and the rider's, and releases it otherwise. Safe to repeat.
    ///
    /// A rider who cannot get the task (offline, or at capacity) loses the job, so that it can be assigned to another
    /// rider.
    ///
    /// - Parameter outcome: how the task ends when it is released.
    package func settleTask(
        _ job: JobID, of rider: PersonID, because outcome: TaskOutcome, by actor: PersonID, attempt: Int = 1
    ) -> EventLoopFuture<Void> {
        self.openStatus(of: job, for: rider).flatMap { status in
            let change =
                status.map { self.holdTask(job, for: rider, in: $0, by: actor) }
                ?? self.release(job, of: rider, because: outcome, by: actor)
            return change.flatMap { self.openStatus(of: job, for: rider) }.flatMap { now in
                guard (now == nil) != (status == nil) else { return self.loop.makeSucceededVoidFuture() }
                guard attempt < Self.maxSettlements else {
                    return self.loop.makeFailedFuture(Refused.changedConcurrently)
                }
                return self.settleTask(job, of: rider, because: outcome, by: actor, attempt: attempt + 1)
            }
        }
    }

    /// - Returns: `nil` if the job has ended, is deleted, or is not the rider's.
    func openStatus(of job: JobID, for rider: PersonID) -> EventLoopFuture<JobStatus?> {
        self.ledger.state(of: job).map { state in
            state.flatMap { $0.rider == rider && $0.status.end == nil ? $0.status : nil }
        }
    }

    private func holdTask(
        _ job: JobID, for rider: PersonID, in status: JobStatus, by actor: PersonID
    ) -> EventLoopFuture<Void> {
        self.acquireTask(job, for: rider, from: nil, as: TaskState(of: status), by: actor).map { _ in }
            .flatMapError { error in
                guard let refused = error as? Refused, refused.isOfRider else {
                    return self.loop.makeFailedFuture(error)
                }
                // Another rider still has the task. The caller that assigned it to that rider compares it too.
                guard refused.code != .conflict else { return self.loop.makeSucceededVoidFuture() }
                return self.assign(job, to: .some(nil), of: nil, by: actor, from: .only(rider)).map { _ in }
                    .flatMapErrorThrowing { error in
                        // The job has ended or has another rider by now.
                        guard error is Refused else { throw error }
                    }
            }
    }
}

extension JobService {
    /// Moves the task of an open job to the state of the job's status, unless it fits already: after a correction, the
    /// rider could not continue otherwise. Safe to repeat.
    func resetTask(_ job: JobID, of rider: PersonID, by actor: PersonID, attempt: Int = 1) -> EventLoopFuture<Void> {
        self.openStatus(of: job, for: rider).flatMap { status in
            guard let status else { return self.loop.makeSucceededVoidFuture() }
            return self.resetTask(job, of: rider, in: status, by: actor).flatMap {
                self.openStatus(of: job, for: rider)
            }.flatMap { now in
                guard let now, now != status else { return self.loop.makeSucceededVoidFuture() }
                guard attempt < Self.maxSettlements else {
                    return self.loop.makeFailedFuture(Refused.changedConcurrently)
                }
                return self.resetTask(job, of: rider, by: actor, attempt: attempt + 1)
            }
        }
    }

    private func resetTask(
        _ job: JobID, of rider: PersonID, in status: JobStatus, by actor: PersonID
    ) -> EventLoopFuture<Void> {
        self.riders.zone(of: rider).flatMap { zone in
            guard let zone else { return self.loop.makeSucceededVoidFuture() }
            let others = TaskState.allCases.filter { !$0.fits(status) }
            return self.riders.move(
                job, of: rider, in: zone, to: TaskState(of: status), from: others, by: Riders.Requester(actor)
            ).map { _ in }
        }
    }
}

extension TaskState {
    /// The state that a rider's task has in this status of the job.
    init(of status: JobStatus) { self = status == .inTransit ? .inTransit : .accepted }

    /// Whether the rider can continue from this state in this status of the job.
    fileprivate func fits(_ status: JobStatus) -> Bool {
        switch self {
        case .accepted, .arrivedAtStore: status != .inTransit
        case .pickedUp, .inTransit: status == .inTransit
        }
    }
}

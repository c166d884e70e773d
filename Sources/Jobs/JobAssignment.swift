// Assignment: which rider and customer a job belongs to. Two parties must agree: the zone, which gives a rider a task only if
// the rider may have it, and the job's record, which issues the fence. The zone decides first, so that no rider is
// offline with a job; if the record refuses, the task is released again (TaskAcquisition.swift). Riders whom the
// service never added to a zone have no availability and accept every assignment.

internal import Access
package import EnrouteWire
internal import HTTPValues
package import LiveState
package import NIOCore
package import Redis

/// The record has another revision than the caller has checked.
package struct RevisionChanged: Error {}

extension JobService {
    /// Which rider may have the job now, so that it can be assigned to another.
    package enum CurrentRider: Sendable, Hashable {
        case any
        /// None, or this rider. If two callers assign the same job to different riders, one is refused.
        case only(PersonID?)
    }

    /// How many times an assignment is tried while others start travel mode or assign the job concurrently.
    static let maxAssignAttempts = 5

    /// Assigns a job to another rider or customer. Positions of the former rider are no longer shown or accepted, and
    /// followers who may no longer see the job are notified.
    ///
    /// - Parameters:
    ///   - rider: `nil` keeps the rider, `.some(nil)` removes it.
    ///   - customer: `nil` keeps the customer.
    ///   - currentRider: which rider may have the job now.
    ///   - revision: of the record with which the caller has checked the request; `nil` for any. Fails with
    ///     `RevisionChanged` when the record has another one.
    ///   - occurredAt: when it was decided, ms since the epoch; `nil` for now. Fails with `Superseded` when a newer decision
    ///     exists.
    ///   - outcome: how the former rider's task ends.
    package func assign(
        _ job: JobID, to rider: PersonID??, of customer: PersonID?, by actor: PersonID,
        from currentRider: CurrentRider = .any, revision: Int64? = nil,
        occurredAt: Int64? = nil, outcome: TaskOutcome = .reassigned, attempt: Int = 1
    ) -> EventLoopFuture<Durable<Assigned>> {
        let loop = self.loop
        return self.ledger.recover(job).flatMap { recovery in
            guard let record = recovery?.record else { return loop.makeFailedFuture(Refused.noSuchJob) }
            guard revision == nil || revision == record.revision else {
                return loop.makeFailedFuture(RevisionChanged())
            }
            let parties = Parties(customer: customer ?? record.customer, rider: rider ?? record.rider)
            if record.status.end == nil, case .only(let expected) = currentRider, let current = record.rider,
                current != parties.rider, current != expected
            {
                return loop.makeFailedFuture(Refused(assignedTo: current))
            }
            return self.checkNotSuperseded(job, parties, record, occurredAt).flatMapThrowing {
                // Only the zone may give a rider an open job, and it is not asked about a job that has ended. But a
                // correction may open that job in between.
                guard record.status.end == nil || parties.rider == record.rider else {
                    throw Refused(endedAs: record.status)
                }
            }.flatMap {
                // Tasks stay unchanged when the call names no rider.
                record.status.end == nil && rider != nil
                    ? self.acquireTask(job, for: parties.rider, from: record.rider, by: actor)
                    : loop.makeSucceededFuture(nil)
            }.flatMap { task in
                self.updateRecord(job, to: parties, record, occurredAt).flatMap { answer in
                    switch answer.value {
                    case .assigned(let fence), .unchanged(let fence):
                        self.updateZoneListing(of: job)
                        let assigned = Assigned(parties: parties, fence: fence)
                        return self.releaseFormer(job, record.rider, parties.rider, outcome, by: actor).flatMap {
                            self.confirmTask(job, task, of: rider ?? nil, by: actor)
                        }.map { Durable(value: assigned, replicas: answer.replicas) }
                    case .noSuchJob: return loop.makeFailedFuture(Refused.noSuchJob)
                    case .ended(let status): return loop.makeFailedFuture(Refused(endedAs: status))
                    case .overtaken where attempt < Self.maxAssignAttempts:
                        return self.assign(
                            job, to: rider, of: customer, by: actor, from: currentRider, revision: revision,
                            occurredAt: occurredAt, outcome: outcome, attempt: attempt + 1)
                    case .overtaken:
                        return loop.makeFailedFuture(Refused.changedConcurrently)
                    }
                }.flatMapError { error in
                    self.rollBack(job, task, of: parties.rider, by: actor, because: error).flatMapThrowing {
                        throw error
                    }
                }
            }
        }
    }

    /// Changes the job's record. The feed is closed first, so that nothing of the former rider is published afterwards.
    private func updateRecord(
        _ job: JobID, to parties: Parties, _ record: JobRecord, _ occurredAt: Int64?
    ) -> EventLoopFuture<Durable<JobLedger.Assignment>> {
        let closed =
            parties.rider != record.rider && record.status.end == nil
            ? self.close(job, because: .reassigned, fence: record.fence + 1).map { _ in }
            : self.loop.makeSucceededVoidFuture()
        let former = self.ledger.entries(
            of: job, rider: parties.rider == record.rider ? nil : record.rider,
            customer: parties.customer == record.customer ? nil : record.customer)
        return closed.and(former).flatMap { _, former in
            // Listed before the record names them, so that no job is missing from a list.
            self.ledger.list(
                job, rider: parties.rider, customer: parties.customer, now: WallClock.nowMilliseconds, record: record
            ).flatMap {
                self.ledger.assign(
                    job, to: parties.rider, of: parties.customer, expected: record.fence, occurredAt: occurredAt)
            }.map { answer in
                if case .assigned = answer.value { self.ledger.drop(former) }
                return answer
            }
        }
    }

    /// Creates a job; if it has a rider, it becomes a task of that rider. Safe to repeat: a job that exists is left unchanged,
    /// and so are its rider's tasks and the lists of its people. A job that was erased is not created with the same epoch again.
    package func create(_ new: NewJob, epoch: String) -> EventLoopFuture<Durable<JobLedger.Creation>> {
        self.ledger.earlierCreation(of: new.job, epoch: epoch).flatMap { earlier in
            guard let earlier else { return self.createAnew(new, epoch: epoch) }
            // The gateway that created the job may have stopped before this step.
            self.updateZoneListing(of: new.job)
            return self.loop.makeSucceededFuture(Durable(value: earlier, replicas: nil))
        }.flatMap { creation in
            guard case .exists(epoch, _) = creation.value else { return self.loop.makeSucceededFuture(creation) }
            return self.ledger.confirm(new.job, kind: new.kind).map {
                Durable(value: creation.value, replicas: $0.replicas)
            }
        }
    }

    /// Creates a job that did not exist. It may be created, and even erased, by another request meanwhile: then its rider
    /// keeps the task only if the job is the rider's.
    func createAnew(_ new: NewJob, epoch: String) -> EventLoopFuture<Durable<JobLedger.Creation>> {
        let listed = self.ledger.list(
            new.job, rider: new.rider, customer: new.customer, now: WallClock.nowMilliseconds)
        return listed.flatMap { self.acquireTask(new.job, for: new.rider, from: nil, by: new.actor) }.flatMap { task in
            self.ledger.createDurably(new, epoch: epoch).flatMap { creation in
                self.updateZoneListing(of: new.job)
                if case .created = creation.value {
                    return self.confirmTask(new.job, task, of: new.rider, by: new.actor).map { creation }
                }
                guard task?.isNew == true else { return self.loop.makeSucceededFuture(creation) }
                return self.ledger.recover(new.job).flatMap { recovery in
                    let isTheirs = recovery?.record.rider == new.rider && recovery?.record.status.end == nil
                    return isTheirs
                        ? self.loop.makeSucceededFuture(creation)
                        : self.rollBack(new.job, task, of: new.rider, by: new.actor, because: Refused.noSuchJob).map {
                            creation
                        }
                }
            }.flatMapError { error in
                self.rollBack(new.job, task, of: new.rider, by: new.actor, because: error).flatMapThrowing {
                    throw error
                }
            }
        }
    }
}

extension JobService {
    /// Ensures that a rider who has the job according to its new record has the task.
    ///
    /// Until the record was written, others may have released the task, because the job was not yet the rider's: for
    /// example the gateway that had just unassigned it. Whoever releases the task later compares it with the record.
    func confirmTask(
        _ job: JobID, _ task: AcquiredTask?, of rider: PersonID?, by actor: PersonID
    ) -> EventLoopFuture<Void> {
        guard let rider else { return self.loop.makeSucceededVoidFuture() }
        guard let task else {
            // A rider who was in no zone may have entered one before the record was written. Then nobody else makes the
            // job a task of theirs.
            return self.acquireEarlierJob(job, of: rider, by: actor).map { _ in }
        }
        return self.riders.tasks(of: rider, in: task.zone).flatMap { tasks in
            tasks.contains(job)
                ? self.loop.makeSucceededVoidFuture()
                : self.settleTask(job, of: rider, because: .reassigned, by: actor)
        }
    }
}

/// A job's rider and customer, and the fence of that decision: a later decision has a greater fence.
package struct Assigned: Sendable, Hashable {
    package var parties: Parties
    package var fence: Int64
}

extension Refused {
    /// The reason is the rider's current state, so a later attempt may succeed.
    var isOfRider: Bool { [.riderOffline, .riderBusy, .conflict].contains(self.code) }

    init(assignedTo rider: PersonID) {
        self.init(
            code: .conflict,
            message:
                "The job is assigned to \(rider). Set insteadOf to that rider to hand it over, or unassign it first.")
    }

    fileprivate init(endedAs status: JobStatus) {
        self.init(
            code: .illegalTransition, message: "The job is \(status.rawValue) and can no longer be assigned.",
            status: status)
    }
}

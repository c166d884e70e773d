// Assignment: which rider and customer a job belongs to. Two parties must agree: the zone, which gives a rider a task only if
// the rider may have it, and the job's record, which issues the fence. The zone decides first, so that no rider is
// offline with a job; if the record refuses, the task is released again. A rider that the service never added to a zone
// has no availability and accepts every assignment.

internal import Access
package import EnrouteWire
internal import HTTPValues
package import LiveState
package import NIOCore
package import Redis

/// A task that was acquired for a rider and may have to be released again.
struct AcquiredTask: Sendable {
    let zone: ZoneID
    /// The rider did not have the task before.
    let isNew: Bool
    /// The rider that has the job according to its record.
    let former: PersonID?
}

/// The record has another revision than the caller has checked.
package struct RevisionChanged: Error {}

extension JobService {
    /// Which rider may have the job now, so that it can be assigned to another.
    package enum CurrentRider: Sendable, Hashable {
        case any
        /// None, or this rider. If two callers assign the same job to different riders, one is refused.
        case only(PersonID?)
    }

    /// How often an assignment is retried when others start travel mode or assign the job concurrently.
    private static let maxAssignAttempts = 5
    /// The pause before a rider that is moving to another zone is looked up again.
    private static let pauseWhileMoving = TimeAmount.milliseconds(20)

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
                // Tasks are left unchanged when the call names no rider.
                record.status.end == nil && rider != nil
                    ? self.acquireTask(job, for: parties.rider, from: record.rider, by: actor)
                    : loop.makeSucceededFuture(nil)
            }.flatMap { task in
                self.updateRecord(job, to: parties, record, occurredAt).flatMap { answer in
                    switch answer.value {
                    case .assigned(let fence), .unchanged(let fence):
                        self.updateZoneListing(of: job)
                        let assigned = Assigned(parties: parties, fence: fence)
                        return self.releaseFormer(job, record.rider, parties.rider, outcome, by: actor).map {
                            Durable(value: assigned, replicas: answer.replicas)
                        }
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

    /// Creates a job; if it has a rider, it becomes a task of that rider. Safe to repeat. A job that was erased is not created
    /// with the same epoch again.
    package func create(_ new: NewJob, epoch: String) -> EventLoopFuture<Durable<JobLedger.Creation>> {
        let listed = self.ledger.list(
            new.job, rider: new.rider, customer: new.customer, now: WallClock.nowMilliseconds)
        return listed.flatMap { self.acquireTask(new.job, for: new.rider, from: nil, by: new.actor) }.flatMap { task in
            self.ledger.createDurably(new, epoch: epoch).flatMap { creation in
                self.updateZoneListing(of: new.job)
                guard case .exists = creation.value, task?.isNew == true else {
                    return self.loop.makeSucceededFuture(creation)
                }
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

    // MARK: tasks in the zone

    /// Acquires the job as a task of its new rider. The rider in the job's record keeps it too until `releaseFormer`.
    ///
    /// - Parameter former: the rider in the job's record.
    /// - Returns: `nil` when the rider is in no zone. Fails with `Refused` when it may not have the task.
    func acquireTask(
        _ job: JobID, for rider: PersonID?, from former: PersonID?, as state: TaskState = .accepted, by actor: PersonID,
        attempt: Int = 1
    ) -> EventLoopFuture<AcquiredTask?> {
        guard let rider else { return self.loop.makeSucceededFuture(nil) }
        return self.riders.zone(of: rider).flatMap { zone in
            guard let zone else { return self.loop.makeSucceededFuture(nil) }
            return self.acquireTask(job, for: rider, in: zone, from: former, as: state, by: actor).flatMap { task in
                // The rider may be moving to another zone. If it never arrives there, it is in no zone.
                guard task == nil, attempt < Self.maxAssignAttempts else { return self.loop.makeSucceededFuture(task) }
                return self.loop.scheduleTask(in: Self.pauseWhileMoving) {}.futureResult.flatMap {
                    self.acquireTask(job, for: rider, from: former, as: state, by: actor, attempt: attempt + 1)
                }
            }
        }
    }

    private func acquireTask(
        _ job: JobID, for rider: PersonID, in zone: ZoneID, from former: PersonID?, as state: TaskState,
        by actor: PersonID, retriesAfterCleanup: Bool = true
    ) -> EventLoopFuture<AcquiredTask?> {
        let loop = self.loop
        return self.riders.assign(
            job, to: rider, in: zone, insteadOf: former, as: state, by: .init(actor)
        ).flatMap { answer in
            let blocking: (tasks: [JobID], of: PersonID)
            switch answer.value {
            case .assigned: return loop.makeSucceededFuture(AcquiredTask(zone: zone, isNew: true, former: former))
            case .unchanged: return loop.makeSucceededFuture(AcquiredTask(zone: zone, isNew: false, former: former))
            case .noSuchRider: return loop.makeSucceededFuture(nil)
            // According to its record the job is not that rider's: either it is being assigned right now, or a gateway
            // died in between.
            case .taken(let other) where retriesAfterCleanup: blocking = ([job], other)
            case .full(let jobs) where retriesAfterCleanup: blocking = (jobs, rider)
            case .full, .taken, .offline, .notApproved, .unreachable, .otherRequest:
                return loop.makeFailedFuture(Refused(rider, cannotTake: answer.value))
            }
            return self.releaseStaleTasks(blocking.tasks, of: blocking.of, in: zone).flatMap { releases in
                !releases.isEmpty
                    ? self.acquireTask(
                        job, for: rider, in: zone, from: former, as: state, by: actor, retriesAfterCleanup: false)
                    : loop.makeFailedFuture(Refused(rider, cannotTake: answer.value))
            }
        }
    }

    /// Called after an assignment was refused: the job becomes the task of the rider in its record again, for example
    /// the former one.
    func rollBack(
        _ job: JobID, _ task: AcquiredTask?, of rider: PersonID?, by actor: PersonID, because error: any Error
    ) -> EventLoopFuture<Void> {
        // If Redis did not answer, the assignment may have succeeded, so the task is kept.
        guard error is Refused || error is Superseded || error is RevisionChanged, let task, task.isNew, let rider
        else {
            return self.loop.makeSucceededVoidFuture()
        }
        return self.settleTask(job, of: rider, because: .reassigned, by: actor).flatMap { _ in
            guard let former = task.former, former != rider else { return self.loop.makeSucceededVoidFuture() }
            return self.settleTask(job, of: former, because: .reassigned, by: actor)
        }
    }

    /// Releases the task of the former rider.
    private func releaseFormer(
        _ job: JobID, _ former: PersonID?, _ rider: PersonID?, _ outcome: TaskOutcome, by actor: PersonID
    ) -> EventLoopFuture<Void> {
        guard let former, former != rider else { return self.loop.makeSucceededVoidFuture() }
        return self.settleTask(job, of: former, because: outcome, by: actor)
    }

    /// Releases a task of a rider; does nothing if it is not one.
    package func release(
        _ job: JobID, of rider: PersonID, because outcome: TaskOutcome, by actor: PersonID
    ) -> EventLoopFuture<Void> {
        self.riders.zone(of: rider).flatMap { zone in
            guard let zone else { return self.loop.makeSucceededVoidFuture() }
            return self.riders.release(job, of: rider, in: zone, because: outcome, by: Riders.Requester(actor)).map {
                _ in
            }
        }
    }

    // MARK: tasks that a gateway left behind when it died

    /// Releases those tasks whose jobs have ended, are deleted or belong to another rider. An assignment in progress writes
    /// the task first and the job afterwards, so a rider that changed recently is skipped.
    ///
    /// - Returns: what became of each of these tasks. Another gateway may have released it first.
    package func releaseStaleTasks(
        _ jobs: [JobID], of rider: PersonID, in zone: ZoneID
    ) -> EventLoopFuture<[Riders.Release]> {
        let states = jobs.map { job in self.ledger.state(of: job).map { (job: job, state: $0) } }
        return EventLoopFuture.whenAllSucceed(states, on: self.loop).flatMap { read in
            let stale = read.filter { $0.state?.rider != rider || $0.state?.status.end != nil }
            guard !stale.isEmpty else { return self.loop.makeSucceededFuture([]) }
            return self.riders.read(rider, in: zone).flatMap { record in
                guard let record, WallClock.nowMilliseconds - record.version / 1000 > Self.longestAssignment else {
                    return self.loop.makeSucceededFuture([])
                }
                let releases = stale.map { job, state in
                    let outcome = TaskOutcome(of: state?.status) ?? .reassigned
                    return self.riders.release(job, of: rider, in: zone, because: outcome, by: .gateway).map(\.value)
                }
                return EventLoopFuture.whenAllSucceed(releases, on: self.loop)
            }
        }
    }

    /// No assignment takes longer, ms: the timeouts of Redis are far shorter.
    private static let longestAssignment: Int64 = 60_000
}

/// A job's rider and customer, and the fence of that decision: a later decision has a greater fence.
package struct Assigned: Sendable, Hashable {
    package var parties: Parties
    package var fence: Int64
}

extension Riders.Requester {
    /// Changes that the gateway makes on its own.
    package static let gateway = Self(PersonID("enroute")!)
}

extension TaskOutcome {
    /// How the end of a job ends its task; `nil` while the job has not ended.
    package init?(of status: JobStatus?) {
        switch status?.end {
        case .completed: self = .completed
        case .cancelled: self = .cancelled
        default: return nil
        }
    }
}

extension Refused {
    /// The reason is the rider's current state, so a later attempt may succeed.
    var isOfRider: Bool { [.riderOffline, .riderBusy, .conflict].contains(self.code) }

    fileprivate init(assignedTo rider: PersonID) {
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

    /// Why the zone refuses to give a rider the task.
    fileprivate init(_ rider: PersonID, cannotTake answer: Riders.Assignment) {
        switch answer {
        case .full(let jobs):
            let tasks = jobs.count == 1 ? "1 task" : "\(jobs.count) tasks"
            self.init(code: .riderBusy, message: "\(rider) already has \(tasks), the maximum.")
            self.tasks = jobs
        case .taken(let other):
            self.init(assignedTo: other)
        case .notApproved:
            self.init(code: .riderOffline, message: "\(rider) is not approved and gets no new tasks.")
        case .unreachable:
            self.init(code: .riderOffline, message: "\(rider) is online but unreachable: no recent heartbeat.")
        default: self.init(code: .riderOffline, message: "\(rider) is offline.")
        }
    }
}

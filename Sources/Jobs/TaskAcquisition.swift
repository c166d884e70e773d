// The zone's part of an assignment: acquires a job as a task of its rider, and releases the task if the assignment fails or a
// gateway died during it. TaskSettlement.swift ends tasks.

package import EnrouteWire
internal import HTTPValues
package import LiveState
package import NIOCore
internal import Redis

/// A task that was acquired for a rider and may have to be released again.
struct AcquiredTask: Sendable {
    let zone: ZoneID
    /// The rider did not have the task before.
    let isNew: Bool
    /// The rider who has the job according to its record.
    let former: PersonID?
}

extension JobService {
    /// The pause before a rider who is moving to another zone is looked up again.
    private static let pauseWhileMoving = TimeAmount.milliseconds(20)

    /// Acquires the job as a task of its new rider. The rider in the job's record also keeps it, until `releaseFormer`.
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

    /// - Parameter isTheirs: the rider had the job before it entered the zone, so it must only be online.
    func acquireTask(
        _ job: JobID, for rider: PersonID, in zone: ZoneID, from former: PersonID?, as state: TaskState,
        by actor: PersonID, isTheirs: Bool = false, retriesAfterCleanup: Bool = true
    ) -> EventLoopFuture<AcquiredTask?> {
        let loop = self.loop
        let other = former == rider ? nil : former
        return self.riders.assign(
            job, to: rider, in: zone, insteadOf: isTheirs ? rider : other, as: state, by: .init(actor)
        ).flatMap { answer in
            let blocking: (tasks: [JobID], of: PersonID)
            switch answer.value {
            case .assigned: return loop.makeSucceededFuture(AcquiredTask(zone: zone, isNew: true, former: former))
            case .unchanged: return loop.makeSucceededFuture(AcquiredTask(zone: zone, isNew: false, former: former))
            case .noSuchRider: return loop.makeSucceededFuture(nil)
            // According to its record, the job is not that rider's: either it is being assigned right now, or a gateway
            // died in between.
            case .taken(let other) where retriesAfterCleanup: blocking = ([job], other)
            case .full(let jobs) where retriesAfterCleanup: blocking = (jobs, rider)
            case .full, .taken, .offline, .notApproved, .unreachable, .otherRequest:
                return loop.makeFailedFuture(Refused(rider, cannotTake: answer.value))
            }
            return self.releaseStaleTasks(blocking.tasks, of: blocking.of, in: zone).flatMap { releases in
                !releases.isEmpty
                    ? self.acquireTask(
                        job, for: rider, in: zone, from: former, as: state, by: actor, isTheirs: isTheirs,
                        retriesAfterCleanup: false)
                    : loop.makeFailedFuture(Refused(rider, cannotTake: answer.value))
            }
        }
    }

    /// Undoes an assignment that was refused: the job becomes a task of the rider in its record again, such as the
    /// former one.
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
    func releaseFormer(
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
    /// the task first and the job afterwards, so a rider who changed recently is skipped. An assignment to a rider who has
    /// the task already does not change the rider, so each record is compared again after the release.
    ///
    /// A job with a malformed record keeps its task, because nothing says that it is stale.
    ///
    /// - Returns: the result for each of these tasks. Another gateway may have released it first.
    package func releaseStaleTasks(
        _ jobs: [JobID], of rider: PersonID, in zone: ZoneID
    ) -> EventLoopFuture<[Riders.Release]> {
        EventLoopFuture.whenAllSucceed(jobs.map { self.staleTask($0, of: rider) }, on: self.loop).flatMap { read in
            let stale = read.compactMap { $0 }
            guard !stale.isEmpty else { return self.loop.makeSucceededFuture([]) }
            return self.riders.read(rider, in: zone).flatMap { record in
                guard let record, WallClock.nowMilliseconds - record.version / 1000 > Self.longestAssignment else {
                    return self.loop.makeSucceededFuture([])
                }
                return EventLoopFuture.whenAllSucceed(
                    stale.map { self.release($0, of: rider, in: zone) }, on: self.loop)
            }
        }
    }

    /// A task whose job is not the rider's, or not open.
    private struct StaleTask: Sendable {
        var job: JobID
        /// How the task ends.
        var outcome: TaskOutcome
    }

    /// - Returns: `nil` if the rider keeps the task.
    private func staleTask(_ job: JobID, of rider: PersonID) -> EventLoopFuture<StaleTask?> {
        self.ledger.state(of: job).map { state in
            guard state?.rider != rider || state?.status.end != nil else { return nil }
            return StaleTask(job: job, outcome: TaskOutcome(of: state?.status) ?? .reassigned)
        }.skippingMalformedData(as: nil)
    }

    private func release(_ task: StaleTask, of rider: PersonID, in zone: ZoneID) -> EventLoopFuture<Riders.Release> {
        let requester = Riders.Requester.gateway
        return self.riders.release(task.job, of: rider, in: zone, because: task.outcome, by: requester).flatMap {
            answer in
            self.settleTask(task.job, of: rider, because: task.outcome, by: requester.actor).map { answer.value }
        }
    }

    /// No assignment takes longer, ms: the timeouts of Redis are far shorter.
    private static let longestAssignment: Int64 = 60_000
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

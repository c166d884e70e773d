// Steps of a rider's task, and their effect on the job: picking up puts it in transit, completing delivers it. The job
// changes first, because that may be refused. A client that is interrupted in between repeats the request; steps that
// are already done are skipped.

internal import Access
package import EnrouteWire
internal import LiveState
package import NIOCore
internal import Redis

/// A step that a rider reports for a task.
package enum TaskStep: String, Sendable, CaseIterable {
    case accepted
    case arrivedAtStore = "arrived_at_store"
    case pickedUp = "picked_up"
    case inTransit = "in_transit"
    /// The task ends.
    case completed, cancelled

    /// The state of an active task; `nil` when the step ends the task.
    package var state: TaskState? { TaskState(rawValue: self.rawValue) }

    /// The job's status after this step; `nil` when it does not change.
    package func status(of kind: JobKind) -> JobStatus? {
        switch (self, kind) {
        case (.pickedUp, .delivery), (.inTransit, .delivery): .inTransit
        case (.inTransit, .service): .onTheWay
        case (.completed, .delivery): .delivered
        case (.completed, .service): .completed
        default: nil
        }
    }
}

extension RiderService {
    /// Carries out a step of a rider's task, and its effect on the job. Safe to repeat.
    ///
    /// - Returns: the rider after the step; fails with `Refused`.
    package func report(
        _ step: TaskStep, with job: JobID, by rider: PersonID, source: String, request: String = ""
    ) -> EventLoopFuture<RegisteredRider> {
        self.jobs.ledger.recover(job).flatMap { recovery in
            guard let record = recovery?.record, record.rider == rider else {
                return self.loop.makeFailedFuture(Refused.noSuchJob)
            }
            return self.read(rider).flatMap { known in
                self.checkAllowed(step, with: job, record, known).flatMap {
                    self.change(job, record, to: step.status(of: record.kind), by: rider, source, request)
                }.flatMap {
                    self.updateTask(step, job, rider, known.zone)
                }.flatMap { self.read(rider) }
            }
        }
    }

    private var loop: any EventLoop { self.riders.eventLoop }

    /// Checks that the task allows this step, before the job is changed.
    private func checkAllowed(
        _ step: TaskStep, with job: JobID, _ record: JobRecord, _ known: RegisteredRider
    ) -> EventLoopFuture<Void> {
        if record.kind == .service, step == .arrivedAtStore || step == .pickedUp {
            return self.loop.makeFailedFuture(
                Refused(code: .illegalTransition, message: "A service visit has no store.", status: record.status))
        }
        guard let current = known.record.tasks[job] else {
            // The task has already ended: a repeated completion succeeds.
            let isDone = step == .completed && record.status.end == .completed
            return isDone ? self.loop.makeSucceededVoidFuture() : self.loop.makeFailedFuture(Refused.noSuchTask)
        }
        guard let state = step.state, state != current, record.kind == .delivery,
            !state.predecessors.contains(current)
        else { return self.loop.makeSucceededVoidFuture() }
        return self.loop.makeFailedFuture(Refused(task: current, cannotBecome: state))
    }

    private func change(
        _ job: JobID, _ record: JobRecord, to status: JobStatus?, by rider: PersonID, _ source: String,
        _ request: String
    ) -> EventLoopFuture<Void> {
        guard let status else { return self.loop.makeSucceededVoidFuture() }
        guard record.status != status else {
            // The change to this status may not have been finished.
            return status.endOfTravel == nil
                ? self.loop.makeSucceededVoidFuture() : self.jobs.finish(job, by: rider)
        }
        return self.jobs.change(job, to: status, by: rider, source: source, request: request, party: .rider).map { _ in
        }
    }

    private func updateTask(
        _ step: TaskStep, _ job: JobID, _ rider: PersonID, _ zone: ZoneID
    ) -> EventLoopFuture<Void> {
        let requester = Riders.Requester(rider)
        switch step {
        case .completed:
            return self.jobs.settleTask(job, of: rider, because: .completed, by: rider)
        // The job must be assigned to another rider.
        case .cancelled:
            return self.jobs.assign(job, to: .some(nil), of: nil, by: rider, from: .only(rider), outcome: .cancelled)
                .map { _ in }
        case .accepted, .arrivedAtStore, .pickedUp, .inTransit:
            guard let state = step.state else { return self.loop.makeSucceededVoidFuture() }
            return self.advance(job, rider, zone, to: state, requester)
        }
    }

    private func advance(
        _ job: JobID, _ rider: PersonID, _ zone: ZoneID, to state: TaskState, _ requester: Riders.Requester
    ) -> EventLoopFuture<Void> {
        self.riders.advance(job, of: rider, in: zone, to: state, by: requester).flatMapThrowing { answer in
            switch answer.value {
            case .advanced, .unchanged: break
            case .notTheirs: throw Refused.noSuchTask
            // A visit's task has no intermediate steps.
            case .notAllowed(.accepted) where state == .inTransit: break
            case .notAllowed(let current): throw Refused(task: current, cannotBecome: state)
            case .otherRequest: throw Refused.otherRequest
            }
        }
    }
}

extension Refused {
    static let noSuchTask = Refused(code: .notFound, message: "The job is not one of your tasks.")

    fileprivate init(task current: TaskState, cannotBecome state: TaskState) {
        self.init(
            code: .illegalTransition,
            message: "The task is \(current.rawValue) and cannot become \(state.rawValue).")
    }
}

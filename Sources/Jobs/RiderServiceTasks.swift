// What a rider does with a task, and what that makes of the order: picking up brings it on its way, completing delivers it.
// The order goes first, since it may refuse; who is interrupted in between asks again, and what is so already is passed over.

internal import Access
package import EnrouteWire
internal import LiveState
package import NIOCore
internal import Redis

/// What a rider says of a task.
package enum TaskStep: String, Sendable, CaseIterable {
    case accepted
    case arrivedAtStore = "arrived_at_store"
    case pickedUp = "picked_up"
    case inTransit = "in_transit"
    /// It is no task any more.
    case completed, cancelled

    /// The state of an active task; `nil` at its end.
    package var state: TaskState? { TaskState(rawValue: self.rawValue) }

    /// What it makes of the job; `nil`: nothing.
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
    /// - Returns: the rider after it; fails with `Refused`.
    package func take(
        _ step: TaskStep, with job: JobID, by rider: PersonID, source: String, request: String = ""
    ) -> EventLoopFuture<KnownRider> {
        self.jobs.ledger.recover(job).flatMap { recovery in
            guard let record = recovery?.record, record.rider == rider else {
                return self.loop.makeFailedFuture(Refused.noSuchJob)
            }
            return self.read(rider).flatMap { known in
                self.mayTake(step, with: job, record, known).flatMap {
                    self.change(job, record, to: step.status(of: record.kind), by: rider, source, request)
                }.flatMap {
                    self.settle(step, job, rider, known.zone)
                }.flatMap { self.read(rider) }
            }
        }
    }

    private var loop: any EventLoop { self.riders.eventLoop }

    /// Whether the task can come to this, before the order is changed for it.
    private func mayTake(
        _ step: TaskStep, with job: JobID, _ record: JobRecord, _ known: KnownRider
    ) -> EventLoopFuture<Void> {
        if record.kind == .service, step == .arrivedAtStore || step == .pickedUp {
            return self.loop.makeFailedFuture(
                Refused(code: .illegalTransition, message: "A visit has no store.", status: record.status))
        }
        guard let current = known.record.tasks[job] else {
            // It is done with: whoever asks again is told so.
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
        guard let status, record.status != status else { return self.loop.makeSucceededVoidFuture() }
        return self.jobs.change(job, to: status, by: rider, source: source, request: request, party: .rider).map { _ in
        }
    }

    private func settle(
        _ step: TaskStep, _ job: JobID, _ rider: PersonID, _ zone: ZoneID
    ) -> EventLoopFuture<Void> {
        let asker = Riders.Asker(rider)
        switch step {
        case .completed:
            return self.riders.release(job, of: rider, in: zone, because: .completed, by: asker).map { _ in }
        // The job is to be given to somebody else.
        case .cancelled:
            return self.jobs.assign(job, to: .some(nil), of: nil, by: rider, from: .only(rider), outcome: .cancelled)
                .map { _ in }
        case .accepted, .arrivedAtStore, .pickedUp, .inTransit:
            guard let state = step.state else { return self.loop.makeSucceededVoidFuture() }
            return self.advance(job, rider, zone, to: state, asker)
        }
    }

    private func advance(
        _ job: JobID, _ rider: PersonID, _ zone: ZoneID, to state: TaskState, _ asker: Riders.Asker
    ) -> EventLoopFuture<Void> {
        self.riders.advance(job, of: rider, in: zone, to: state, by: asker).flatMapThrowing { answer in
            switch answer.value {
            case .advanced, .unchanged: break
            case .notTheirs: throw Refused.noSuchTask
            // A visit's task is underway, or not.
            case .notAllowed(.accepted) where state == .inTransit: break
            case .notAllowed(let current): throw Refused(task: current, cannotBecome: state)
            case .otherRequest: throw Refused.otherRequest
            }
        }
    }
}

extension Refused {
    static let noSuchTask = Refused(code: .notFound, message: "The job is not a task of yours.")

    fileprivate init(task current: TaskState, cannotBecome state: TaskState) {
        self.init(
            code: .illegalTransition,
            message: "The task is \(current.rawValue); it can not become \(state.rawValue) from there.")
    }
}

// Applies events from other systems to jobs. The ledger is called twice: first to read the job's status, from which EventOrder
// decides, then to change the job, only if it still has that status. The second call also reports whether the event was applied
// before; that takes precedence over the decision.

package import EnrouteWire
package import Events
internal import HTTPValues
internal import LiveState
package import NIOCore
internal import Redis

/// The result of an event.
package enum EventOutcome: Sendable, Hashable {
    /// The event was applied. `isRepeat`: it had already been applied before.
    case applied(StatusID?, isReplicationUnconfirmed: Bool, isRepeat: Bool)
    /// The job has already moved beyond this status, or a newer decision exists.
    case superseded(JobStatus?)
    /// An earlier step is missing; the event may be sent again.
    case notYet(String, JobStatus?)
    /// The event can never be applied.
    case rejected(String, JobStatus?)
}

/// A newer decision about the job's rider or customer exists.
struct Superseded: Error {
    let status: JobStatus
}

extension JobService {
    /// How often a change is retried when others change the job concurrently.
    private static let maxEventAttempts = 5

    /// Applies an event to its job. Safe to repeat.
    ///
    /// - Parameter actor: the sender of the event.
    /// - Returns: fails with `Refused` when Redis does not answer.
    package func apply(_ event: JobEvent, of cloudEvent: CloudEvent, by actor: PersonID) -> EventLoopFuture<
        EventOutcome
    > {
        switch event {
        case .created(let created): self.create(created, cloudEvent, actor)
        case .reached(let job, let status): self.applyStatus(job, status, cloudEvent, actor)
        case .assigned(let job, let rider, let customer, let at):
            self.assign(job, rider, customer, at, actor, request: cloudEvent.requestID)
        }
    }

    /// Uses the event's epoch for the record. So a job that this event already created is recognized, even after it was
    /// erased: a queue may deliver the event again, which must not undo the erasure.
    private func create(
        _ created: CreatedJob, _ event: CloudEvent, _ actor: PersonID
    ) -> EventLoopFuture<EventOutcome> {
        let new = NewJob(
            job: created.job, kind: created.kind, customer: created.customer, rider: created.rider,
            zone: created.zone, destination: created.destination, geocoded: created.geocoded,
            vendor: created.vendor, display: created.display, metadata: created.metadata,
            recipient: created.recipient, occurredAt: event.occurredAt, actor: actor)
        return self.create(new, epoch: event.epoch).map { creation in
            switch creation.value {
            case .created: .applied(nil, isReplicationUnconfirmed: creation.isReplicationUnconfirmed, isRepeat: false)
            case .exists(event.epoch, _):
                .applied(nil, isReplicationUnconfirmed: creation.isReplicationUnconfirmed, isRepeat: true)
            case .exists, .erased: .superseded(nil)
            }
        }.flatMapErrorThrowing { error in
            guard let refused = error as? Refused, refused.isOfRider else { throw error }
            return .notYet(refused.message, nil)
        }
    }

    private func applyStatus(
        _ job: JobID, _ status: JobStatus, _ event: CloudEvent, _ actor: PersonID, attempt: Int = 1,
        receivedAt: Int64 = WallClock.nowMilliseconds
    ) -> EventLoopFuture<EventOutcome> {
        self.ledger.recover(job).flatMap { recovery in
            guard let record = recovery?.record else { return self.loop.makeSucceededFuture(Self.notCreatedYet) }
            return self.order(of: status, job, record, event.occurredAt).flatMap { order in
                self.applyStatus(job, status, event, actor, record, order, attempt, receivedAt)
            }
        }
    }

    /// Returns how a status relates to the job's current status. A status from before a correction is superseded:
    /// whoever corrected the job knew what other systems had reported until then.
    private func order(
        of status: JobStatus, _ job: JobID, _ record: JobRecord, _ occurredAt: Int64?
    ) -> EventLoopFuture<EventOrder> {
        let order = EventOrder(
            status, of: record.kind, after: record.status, since: record.statusAt, occurredAt: occurredAt)
        guard order == .next || order == .notYet, let occurredAt, occurredAt < record.statusAt else {
            return self.loop.makeSucceededFuture(order)
        }
        return self.ledger.log(of: job).map { log in
            log.contains { $0.corrected != nil && $0.at > occurredAt } ? .superseded : order
        }
    }

    private func applyStatus(
        _ job: JobID, _ status: JobStatus, _ event: CloudEvent, _ actor: PersonID, _ record: JobRecord,
        _ order: EventOrder, _ attempt: Int, _ receivedAt: Int64
    ) -> EventLoopFuture<EventOutcome> {
        let loop = self.loop
        return self.ledger.publishDurably(
            status, of: job, by: actor, source: "event", occurredAt: event.occurredAt, request: event.requestID,
            after: order == .next ? [record.status] : [], origin: ChangeOrigin(receivedAt: receivedAt)
        ).flatMap { answer in
            let (outcome, isReplicationUnconfirmed): (EventOutcome, Bool) = (
                EventOutcome(order, record.status), answer.isReplicationUnconfirmed
            )
            switch answer.value {
            case .published(let event):
                self.updateZoneListing(of: job)
                return self.finishing(
                    job, status,
                    .applied(event.id, isReplicationUnconfirmed: isReplicationUnconfirmed, isRepeat: false), actor)
            case .repeated(let event):
                return self.finishing(
                    job, status,
                    .applied(event.id, isReplicationUnconfirmed: isReplicationUnconfirmed, isRepeat: true), actor)
            case .notAllowed(let current) where current == record.status && order == .superseded:
                return self.ledger.recordLate(
                    .status(status, happensOnce: EventOrder.happensOnce(status)), of: job, by: actor,
                    occurredAt: event.occurredAt, request: event.requestID
                ).map { _ in outcome }
            case .notAllowed(let current) where current == record.status && order != .next:
                return loop.makeSucceededFuture(outcome)
            case .notAllowed where attempt < Self.maxEventAttempts:
                return self.applyStatus(
                    job, status, event, actor, attempt: attempt + 1, receivedAt: receivedAt)
            case .notAllowed, .overtaken:
                return loop.makeFailedFuture(Refused.changedConcurrently)
            case .noSuchJob, .notTheirs: return loop.makeSucceededFuture(Self.notCreatedYet)
            }
        }
    }

    /// Finishes repeated events too, because the first attempt may have been interrupted before this step.
    private func finishing(
        _ job: JobID, _ status: JobStatus, _ outcome: EventOutcome, _ actor: PersonID
    ) -> EventLoopFuture<EventOutcome> {
        guard case .applied(_, _, let isRepeat) = outcome, status.endOfTravel != nil else {
            return self.ledger.eventLoop.makeSucceededFuture(outcome)
        }
        // After a repeated event, the job may already have moved on.
        return (isRepeat ? self.finish(job, by: actor) : self.finishPersistently(job, by: actor)).map { outcome }
    }

    private func assign(
        _ job: JobID, _ rider: PersonID??, _ customer: PersonID?, _ at: Int64, _ actor: PersonID, request: String
    ) -> EventLoopFuture<EventOutcome> {
        let assigned: EventLoopFuture<EventOutcome> = self.ledger.recover(job).flatMap { before in
            self.assign(job, to: rider, of: customer, by: actor, occurredAt: at).map { answer in
                let parties = before.map { Parties(customer: $0.record.customer, rider: $0.record.rider) }
                return .applied(
                    nil, isReplicationUnconfirmed: answer.isReplicationUnconfirmed,
                    isRepeat: parties == answer.value.parties)
            }
        }.flatMapErrorThrowing { error in
            switch error {
            case let superseded as Superseded: return .superseded(superseded.status)
            case let refused as Refused where refused.code == .notFound: return Self.notCreatedYet
            // The rider may come online or finish another task.
            case let refused as Refused where refused.isOfRider:
                return .notYet(refused.message, nil)
            // The job has ended in the meantime.
            case let refused as Refused where refused.code == .illegalTransition: return .superseded(refused.status)
            default: throw error
            }
        }
        return assigned.flatMap { outcome in
            guard case .superseded = outcome else { return self.loop.makeSucceededFuture(outcome) }
            // A newer decision exists, or the job has ended: the log still records who should have had the job.
            return self.ledger.recordLate(
                .assignment(LateAssignment(rider: rider, customer: customer)), of: job, by: actor, occurredAt: at,
                request: request
            ).map { _ in outcome }
        }
    }

    /// Verifies that no newer decision about the job's rider or customer exists. Call it after reading the record: a
    /// later decision changes the record's fence.
    ///
    /// - Returns: fails with `Superseded`.
    func checkNotSuperseded(
        _ job: JobID, _ parties: Parties, _ record: JobRecord, _ occurredAt: Int64?
    ) -> EventLoopFuture<Void> {
        guard let occurredAt, parties != Parties(customer: record.customer, rider: record.rider) else {
            return self.ledger.eventLoop.makeSucceededVoidFuture()
        }
        return self.ledger.assignedAt(job).flatMapThrowing { assignedAt in
            if let assignedAt, occurredAt <= assignedAt { throw Superseded(status: record.status) }
        }
    }

    private static let notCreatedYet = EventOutcome.notYet("The job does not exist yet.", nil)
}

extension EventOutcome {
    fileprivate init(_ order: EventOrder, _ current: JobStatus) {
        self =
            switch order {
            case .next: .notYet("The job was changed concurrently.", current)
            case .superseded: .superseded(current)
            case .notYet: .notYet("The job is \(current.rawValue): an earlier step is missing.", current)
            case .rejected(let reason): .rejected(reason, current)
            }
    }
}

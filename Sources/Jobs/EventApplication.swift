// What an event from outside does to a job. The ledger is asked twice: once for where the job stands, from which EventOrder
// decides, and once to change it, from exactly there. The second also says whether the event was there before, which goes
// before whatever was decided.

package import EnrouteWire
package import Events
internal import LiveState
package import NIOCore
internal import Redis

/// What became of an event.
package enum EventOutcome: Sendable, Hashable {
    /// Done. `isRepeat`: it had been done already.
    case applied(StatusID?, isReplicationUnconfirmed: Bool, isRepeat: Bool)
    /// The job stands further, or something newer was decided.
    case superseded(JobStatus?)
    /// What must come before it is missing.
    case notYet(String, JobStatus?)
    /// It can never be done.
    case rejected(String, JobStatus?)
}

/// Something newer was decided about who has the job.
struct Superseded: Error {
    let status: JobStatus
}

extension JobService {
    /// Others may change the job in between; so many times it is begun anew.
    private static let mostEventAttempts = 5

    /// - Parameter actor: who sent it.
    /// - Returns: fails with `Refused` when Redis does not answer.
    package func apply(_ event: JobEvent, of cloudEvent: CloudEvent, by actor: PersonID) -> EventLoopFuture<
        EventOutcome
    > {
        switch event {
        case .created(let created): self.create(created, cloudEvent, actor)
        case .reached(let job, let status): self.reach(job, status, cloudEvent, actor)
        case .assigned(let job, let rider, let customer, let at): self.assign(job, rider, customer, at, actor)
        }
    }

    /// The epoch is the event's own, so that a job it has made already is known as such.
    private func create(
        _ created: CreatedJob, _ event: CloudEvent, _ actor: PersonID
    ) -> EventLoopFuture<EventOutcome> {
        let new = NewJob(
            job: created.job, kind: created.kind, customer: created.customer, rider: created.rider,
            zone: created.zone, destination: created.destination, geocoded: created.geocoded,
            vendor: created.vendor, actor: actor)
        return self.create(new, epoch: event.epoch).map { creation in
            switch creation.value {
            case .created: .applied(nil, isReplicationUnconfirmed: creation.isReplicationUnconfirmed, isRepeat: false)
            case .exists(event.epoch, _): .applied(nil, isReplicationUnconfirmed: false, isRepeat: true)
            case .exists: .superseded(nil)
            }
        }.flatMapErrorThrowing { error in
            guard let refused = error as? Refused, refused.isOfRider else { throw error }
            return .notYet(refused.message, nil)
        }
    }

    private func reach(
        _ job: JobID, _ status: JobStatus, _ event: CloudEvent, _ actor: PersonID, attempt: Int = 1
    ) -> EventLoopFuture<EventOutcome> {
        self.ledger.recover(job).flatMap { recovery in
            let loop = self.ledger.eventLoop
            guard let record = recovery?.record else { return loop.makeSucceededFuture(Self.notCreatedYet) }
            let order = EventOrder(
                status, of: record.kind, after: record.status, since: record.statusAt, occurredAt: event.occurredAt)
            return self.ledger.publishDurably(
                status, of: job, by: actor, source: "event", occurredAt: event.occurredAt, request: event.requestID,
                after: order == .next ? [record.status] : []
            ).flatMap { answer in
                let (outcome, isReplicationUnconfirmed): (EventOutcome, Bool) = (
                    EventOutcome(order, record.status), answer.isReplicationUnconfirmed
                )
                switch answer.value {
                case .published(let event):
                    self.updateZoneListing(of: job)
                    return self.ending(
                        job, status,
                        .applied(event.id, isReplicationUnconfirmed: isReplicationUnconfirmed, isRepeat: false), actor)
                case .repeated(let event):
                    return self.ending(
                        job, status,
                        .applied(event.id, isReplicationUnconfirmed: isReplicationUnconfirmed, isRepeat: true), actor)
                case .notAllowed(let current) where current == record.status && order != .next:
                    return loop.makeSucceededFuture(outcome)
                case .notAllowed where attempt < Self.mostEventAttempts:
                    return self.reach(job, status, event, actor, attempt: attempt + 1)
                case .notAllowed, .overtaken:
                    return loop.makeFailedFuture(
                        Refused(code: .unavailable, message: "Others change the job at the same time. Try again."))
                case .noSuchJob, .notTheirs: return loop.makeSucceededFuture(Self.notCreatedYet)
                }
            }
        }
    }

    /// Also when it is repeated: whoever came first may not have come so far.
    private func ending(
        _ job: JobID, _ status: JobStatus, _ outcome: EventOutcome, _ actor: PersonID
    ) -> EventLoopFuture<EventOutcome> {
        guard case .applied(_, _, let isRepeat) = outcome, status.endOfTravel != nil else {
            return self.ledger.eventLoop.makeSucceededFuture(outcome)
        }
        guard isRepeat else { return self.finish(job, as: status, by: actor).map { outcome } }
        // Since then the job may have gone on, and travel mode with it.
        return self.ledger.recover(job).flatMap { recovery in
            guard recovery?.record.status.endOfTravel != nil else {
                return self.ledger.eventLoop.makeSucceededFuture(outcome)
            }
            return self.finish(job, as: status, by: actor).map { outcome }
        }
    }

    private func assign(
        _ job: JobID, _ rider: PersonID??, _ customer: PersonID?, _ at: Int64, _ actor: PersonID
    ) -> EventLoopFuture<EventOutcome> {
        self.ledger.recover(job).flatMap { before in
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
            // The rider may come online, or be done with another.
            case let refused as Refused where refused.isOfRider:
                return .notYet(refused.message, nil)
            // It has ended since.
            case let refused as Refused where refused.code == .illegalTransition: return .superseded(refused.status)
            default: throw error
            }
        }
    }

    /// Nothing newer was decided about who has the job. Read after the record: what comes later draws another fence.
    ///
    /// - Returns: fails with `Superseded`.
    func isNewest(
        _ job: JobID, _ parties: Parties, _ record: JobRecord, _ occurredAt: Int64?
    ) -> EventLoopFuture<Void> {
        guard let occurredAt, parties != Parties(customer: record.customer, rider: record.rider) else {
            return self.ledger.eventLoop.makeSucceededVoidFuture()
        }
        return self.ledger.assignedAt(job).flatMapThrowing { assignedAt in
            if let assignedAt, occurredAt <= assignedAt { throw Superseded(status: record.status) }
        }
    }

    private static let notCreatedYet = EventOutcome.notYet("There is no such job yet.", nil)
}

extension EventOutcome {
    fileprivate init(_ order: EventOrder, _ current: JobStatus) {
        self =
            switch order {
            case .next: .notYet("The job changed in between.", current)
            case .superseded: .superseded(current)
            case .notYet: .notYet("The job is \(current.rawValue): what comes before this is missing.", current)
            case .rejected(let reason): .rejected(reason, current)
            }
    }
}

// Corrections: services and operations staff return a job from a wrong status to the right one. If the job had ended,
// its rider gets the task again. Two instances and two slots are involved, so the order matters. The zone assigns the
// task first, so that no rider is offline with a job. Then one script changes the record, its log and its events.
// Positions are stopped last, as after any change of status.

package import EnrouteWire
internal import HTTPValues
package import LiveState
package import NIOCore
package import Redis

extension JobService {
    /// How often a correction is retried when others change the job concurrently.
    private static let maxCorrectionAttempts = 5

    /// Returns a job to another status. Followers receive a `reset`. Everything that the status allows is possible
    /// again: links open sessions, travel mode can be switched on, and the job is on the lists of open jobs.
    ///
    /// A rider who cannot get the task again (offline, or at capacity) loses the job, so that it can be assigned to
    /// another rider.
    ///
    /// - Parameters:
    ///   - expected: the newest event must be this one; `nil` for any.
    ///   - audit: called as soon as the status has changed, again for a repeated request and in the background if it fails.
    /// - Returns: fails with `Refused`, or with the error of Redis if the correction was made and its remaining steps
    ///   have to be repeated.
    package func correct(
        _ job: JobID, _ correction: StatusCorrection, expected: ExpectedHead? = nil, attempt: Int = 1,
        audit: @escaping @Sendable (CorrectedStatus) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<Durable<CorrectedStatus>> {
        let loop = self.loop
        let made: EventLoopFuture<Durable<CorrectedStatus>> = self.ledger.recover(job).flatMap { recovery in
            guard let record = recovery?.record else { return loop.makeFailedFuture(Refused.noSuchJob) }
            return self.isMade(correction, of: job).flatMap { isMade in
                self.correct(job, correction, of: record, expected, isMade: isMade, audit)
            }
        }
        return made.flatMapError { error in
            guard error is Overtaken else { return loop.makeFailedFuture(error) }
            guard attempt < Self.maxCorrectionAttempts else {
                return loop.makeFailedFuture(Refused.changedConcurrently)
            }
            return self.correct(job, correction, expected: expected, attempt: attempt + 1, audit: audit)
        }
    }

    /// - Parameters:
    ///   - record: as it was read. Fails with `Overtaken` if the job has changed since.
    ///   - isMade: an earlier attempt has made the correction, so only its result is read.
    private func correct(
        _ job: JobID, _ correction: StatusCorrection, of record: JobRecord, _ expected: ExpectedHead?, isMade: Bool,
        _ audit: @escaping @Sendable (CorrectedStatus) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<Durable<CorrectedStatus>> {
        if !isMade, let refused = Self.refusal(of: correction, expected, record) {
            guard refused.code == .illegalTransition else { return self.loop.makeFailedFuture(refused) }
            return self.refuse(job, alreadyIn: record.status, by: correction.actor)
        }
        let regained: EventLoopFuture<Regained> =
            isMade ? self.loop.makeSucceededFuture(.notNeeded) : self.regain(job, record, correction)
        return regained.flatMap { task in
            self.write(correction, of: job, record, task).flatMap { self.finish($0, job, by: correction.actor, audit) }
                .flatMapError { error in self.giveUp(job, record, task, correction.actor, because: error) }
        }
    }

    private func finish(
        _ answer: Durable<JobLedger.Correction>, _ job: JobID, by actor: PersonID,
        _ audit: @escaping @Sendable (CorrectedStatus) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<Durable<CorrectedStatus>> {
        switch answer.value {
        case .corrected(let corrected), .repeated(let corrected):
            self.updateZoneListing(of: job)
            // Each is repeated on its own, so that a feed that cannot be closed does not repeat the audit entry.
            return self.unfinished.attempt(job, on: self.loop, audit(corrected)) { audit(corrected) }.thenAlways {
                self.unfinished.attempt(job, on: self.loop, self.settle(job, by: actor)) {
                    self.settle(job, by: actor)
                }
            }.map { Durable(value: corrected, replicas: answer.replicas) }
        case .unchanged(let status): return self.refuse(job, alreadyIn: status, by: actor)
        case .noSuchJob: return self.loop.makeFailedFuture(Refused.noSuchJob)
        case .overtaken: return self.loop.makeFailedFuture(Overtaken())
        }
    }

    /// Finishes the change to the current status, which may have failed after it changed the record, and refuses the
    /// correction.
    private func refuse(
        _ job: JobID, alreadyIn status: JobStatus, by actor: PersonID
    ) -> EventLoopFuture<Durable<CorrectedStatus>> {
        self.finish(job, by: actor).flatMapThrowing { throw Refused(alreadyIn: status) }
    }

    /// Releases the task again if the record certainly did not change.
    private func giveUp(
        _ job: JobID, _ record: JobRecord, _ task: Regained, _ actor: PersonID, because error: any Error
    ) -> EventLoopFuture<Durable<CorrectedStatus>> {
        guard case .acquired(let acquired) = task else { return self.loop.makeFailedFuture(error) }
        let reason: any Error = error is Overtaken ? Refused.noSuchJob : error
        return self.rollBack(job, acquired, of: record.rider, by: actor, because: reason).flatMapThrowing {
            throw error
        }
    }

    /// The job has changed since it was read.
    private struct Overtaken: Error {}

    /// Whether an earlier attempt of the same request by the same person has made the correction.
    private func isMade(_ correction: StatusCorrection, of job: JobID) -> EventLoopFuture<Bool> {
        guard !correction.request.isEmpty else { return self.loop.makeSucceededFuture(false) }
        return self.ledger.log(of: job).map { log in
            log.contains {
                $0.request == correction.request && $0.actor == correction.actor.text
                    && $0.status == correction.status && $0.corrected != nil
            }
        }
    }

    private static func refusal(
        of correction: StatusCorrection, _ expected: ExpectedHead?, _ record: JobRecord
    ) -> Refused? {
        let status = correction.status
        if let expected, expected.id != record.head || expected.epoch.map({ $0 != record.epoch }) ?? false {
            return Refused(expected: expected, butIs: record.status, record.head)
        }
        guard record.kind.statuses.contains(status) else {
            let statuses = record.kind.statuses.map(\.rawValue).joined(separator: ", ")
            return Refused(
                code: .unprocessable,
                message: "A \(record.kind.rawValue) never has the status \(status.rawValue). Use one of \(statuses).",
                status: record.status)
        }
        return status == record.status ? Refused(alreadyIn: status) : nil
    }

    /// The result of regaining the task of a job that had ended.
    private enum Regained: Sendable {
        /// The job had not ended, ends with the correction too, or has no rider.
        case notNeeded
        /// `nil`: the rider is in no zone.
        case acquired(AcquiredTask?)
        case refused
    }

    /// Assigns the task again to the rider of a job that had ended.
    private func regain(
        _ job: JobID, _ record: JobRecord, _ correction: StatusCorrection
    ) -> EventLoopFuture<Regained> {
        guard record.status.end != nil, correction.status.end == nil, record.rider != nil else {
            return self.loop.makeSucceededFuture(.notNeeded)
        }
        return self.acquireTask(
            job, for: record.rider, from: nil, as: TaskState(of: correction.status), by: correction.actor
        ).map { .acquired($0) }.flatMapErrorThrowing { error in
            guard let refused = error as? Refused, refused.isOfRider else { throw error }
            return .refused
        }
    }

    private func write(
        _ correction: StatusCorrection, of job: JobID, _ record: JobRecord, _ task: Regained
    ) -> EventLoopFuture<Durable<JobLedger.Correction>> {
        let dropsRider = if case .refused = task { true } else { false }
        // The lists are written before the record names rider and customer, so that no job is missing from a list.
        return self.ledger.list(
            job, rider: record.rider, customer: record.customer, now: WallClock.nowMilliseconds, record: record
        ).flatMap { self.ledger.correct(job, correction, of: record, dropsRider: dropsRider) }
    }

    /// Stops everything that the status does not allow. The rider of an open job keeps the task, even if another
    /// gateway has just released it because the job had ended, and continues it from the corrected status.
    private func settle(_ job: JobID, by actor: PersonID) -> EventLoopFuture<Void> {
        self.finish(job, by: actor).thenAlways {
            self.ledger.state(of: job).flatMap { state in
                guard let state, let rider = state.rider, state.status.end == nil else {
                    return self.loop.makeSucceededVoidFuture()
                }
                return self.settleTask(job, of: rider, because: .reassigned, by: actor).flatMap {
                    self.resetTask(job, of: rider, by: actor)
                }
            }
        }
    }
}

extension Refused {
    fileprivate init(alreadyIn status: JobStatus) {
        self.init(
            code: .illegalTransition, message: "The job is \(status.rawValue) already: there is nothing to correct.",
            status: status)
    }
}

// Whose a job is. Two arbiters agree on that: the zone, which gives a rider a task only while it may have one, and the job's
// record, which draws the fence. The zone is asked first, so that no rider is offline with a job; what one of them refuses
// is taken back at the other. Riders that the service never put into a zone have no availability, and are given what it says.

internal import Access
package import EnrouteWire
internal import HTTPValues
package import LiveState
package import NIOCore
package import Redis

/// A task that was taken for a rider, and may have to be given back.
private struct TakenTask {
    let zone: ZoneID
    /// It was not its task before.
    let isNew: Bool
    /// Who has it by the job's record.
    let former: PersonID?
}

extension JobService {
    /// Who may have the job now, for it to be given to another.
    package enum Holder: Sendable, Hashable {
        case whoever
        /// Nobody, or this rider: of two who give the same job to different riders one is refused.
        case only(PersonID?)
    }

    /// Others may switch travel mode on, or assign the same job, in between; so many times it is begun anew.
    private static let mostAssignAttempts = 5

    /// Gives a job to another rider or customer. What the old rider sent before is not shown any more, what it sends after
    /// is refused, and followers who may not see the job any more are told so.
    ///
    /// - Parameters:
    ///   - rider: `nil` leaves it as it is, `.some(nil)` takes the job from its rider.
    ///   - customer: `nil` leaves it as it is.
    ///   - holder: who may have it now.
    ///   - occurredAt: when it was decided, ms since the epoch; `nil` for now. Fails with `Superseded` when something newer
    ///     has been decided.
    ///   - outcome: what becomes of the task of whoever has it now.
    package func assign(
        _ job: JobID, to rider: PersonID??, of customer: PersonID?, by actor: PersonID, from holder: Holder = .whoever,
        occurredAt: Int64? = nil, outcome: TaskOutcome = .reassigned, attempt: Int = 1
    ) -> EventLoopFuture<Durable<Assigned>> {
        let loop = self.loop
        return self.ledger.recover(job).flatMap { recovery in
            guard let record = recovery?.record else { return loop.makeFailedFuture(Refused.noSuchJob) }
            let parties = Parties(customer: customer ?? record.customer, rider: rider ?? record.rider)
            if record.status.end == nil, case .only(let holder) = holder, let current = record.rider,
                current != parties.rider, current != holder
            {
                return loop.makeFailedFuture(Refused(jobIsOf: current))
            }
            return self.isNewest(job, parties, record, occurredAt).flatMap {
                // Whose the job is is not touched where no rider is named.
                record.status.end == nil && rider != nil
                    ? self.take(job, for: parties.rider, from: record.rider, by: actor)
                    : loop.makeSucceededFuture(nil)
            }.flatMap { task in
                self.move(job, to: parties, record, occurredAt).flatMap { answer in
                    switch answer.value {
                    case .assigned(let fence), .unchanged(let fence):
                        self.updateZoneListing(of: job)
                        let assigned = Assigned(parties: parties, fence: fence)
                        return self.leave(job, record.rider, parties.rider, outcome, by: actor).map {
                            Durable(value: assigned, replicas: answer.replicas)
                        }
                    case .noSuchJob: return loop.makeFailedFuture(Refused.noSuchJob)
                    case .ended(let status): return loop.makeFailedFuture(Refused(nobodysAs: status))
                    case .overtaken where attempt < Self.mostAssignAttempts:
                        return self.assign(
                            job, to: rider, of: customer, by: actor, from: holder, occurredAt: occurredAt,
                            outcome: outcome, attempt: attempt + 1)
                    case .overtaken:
                        return loop.makeFailedFuture(
                            Refused(code: .unavailable, message: "Others change the job at the same time. Try again."))
                    }
                }.flatMapError { error in
                    self.giveBack(job, task, of: parties.rider, by: actor, because: error).flatMapThrowing {
                        throw error
                    }
                }
            }
        }
    }

    /// In the job's record; its feed is closed before the ledger knows, so that nothing of the old rider comes after.
    private func move(
        _ job: JobID, to parties: Parties, _ record: JobRecord, _ occurredAt: Int64?
    ) -> EventLoopFuture<Durable<JobLedger.Assignment>> {
        let closed =
            parties.rider != record.rider && record.status.end == nil
            ? self.close(job, because: .reassigned, fence: record.fence + 1).map { _ in }
            : self.loop.makeSucceededVoidFuture()
        return closed.flatMap {
            self.ledger.assign(
                job, to: parties.rider, of: parties.customer, expected: record.fence, occurredAt: occurredAt)
        }
    }

    /// Creates a job; it is its rider's task from the beginning. Safe to repeat.
    package func create(_ new: NewJob, epoch: String) -> EventLoopFuture<Durable<JobLedger.Creation>> {
        self.take(new.job, for: new.rider, from: nil, by: new.actor).flatMap { task in
            self.ledger.createDurably(new, epoch: epoch).flatMap { creation in
                self.updateZoneListing(of: new.job)
                guard case .exists = creation.value, task?.isNew == true else {
                    return self.loop.makeSucceededFuture(creation)
                }
                return self.ledger.recover(new.job).flatMap { recovery in
                    let isTheirs = recovery?.record.rider == new.rider && recovery?.record.status.end == nil
                    return isTheirs
                        ? self.loop.makeSucceededFuture(creation)
                        : self.giveBack(new.job, task, of: new.rider, by: new.actor, because: Refused.noSuchJob).map {
                            creation
                        }
                }
            }.flatMapError { error in
                self.giveBack(new.job, task, of: new.rider, by: new.actor, because: error).flatMapThrowing {
                    throw error
                }
            }
        }
    }

    // MARK: the zone's half

    /// Makes the job a task of its rider-to-be. Whoever has it by its record has it too until `leave`.
    ///
    /// - Parameter former: who has the job by its record.
    /// - Returns: `nil` where no zone keeps this rider. Fails with `Refused` when it may not have one.
    private func take(
        _ job: JobID, for rider: PersonID?, from former: PersonID?, by actor: PersonID
    ) -> EventLoopFuture<TakenTask?> {
        guard let rider else { return self.loop.makeSucceededFuture(nil) }
        return self.riders.zone(of: rider).flatMap { zone in
            guard let zone else { return self.loop.makeSucceededFuture(nil) }
            return self.take(job, for: rider, in: zone, from: former, by: actor, mayRepair: true)
        }
    }

    private func take(
        _ job: JobID, for rider: PersonID, in zone: ZoneID, from former: PersonID?, by actor: PersonID, mayRepair: Bool
    ) -> EventLoopFuture<TakenTask?> {
        let loop = self.loop
        return self.riders.assign(job, to: rider, in: zone, insteadOf: former, by: .init(actor)).flatMap { answer in
            let inTheWay: (tasks: [JobID], of: PersonID)
            switch answer.value {
            case .assigned: return loop.makeSucceededFuture(TakenTask(zone: zone, isNew: true, former: former))
            case .unchanged: return loop.makeSucceededFuture(TakenTask(zone: zone, isNew: false, former: former))
            case .noSuchRider: return loop.makeSucceededFuture(nil)
            // By its record it is not that one's: it is being given to it, or what a gateway that died left behind.
            case .taken(let other) where mayRepair: inTheWay = ([job], other)
            case .full(let jobs) where mayRepair: inTheWay = (jobs, rider)
            case .full, .taken, .offline, .notApproved, .unreachable, .otherRequest:
                return loop.makeFailedFuture(Refused(rider, cannotTake: answer.value))
            }
            return self.releaseDone(inTheWay.tasks, of: inTheWay.of, in: zone).flatMap { released in
                released > 0
                    ? self.take(job, for: rider, in: zone, from: former, by: actor, mayRepair: false)
                    : loop.makeFailedFuture(Refused(rider, cannotTake: answer.value))
            }
        }
    }

    /// What was refused is not the rider's task, and is its former rider's alone.
    private func giveBack(
        _ job: JobID, _ task: TakenTask?, of rider: PersonID?, by actor: PersonID, because error: any Error
    ) -> EventLoopFuture<Void> {
        // What became of a decision that Redis did not answer is not known: it may have been made, and then the task is due.
        guard error is Refused, let task, task.isNew, let rider else { return self.loop.makeSucceededVoidFuture() }
        return self.riders.release(job, of: rider, in: task.zone, because: .reassigned, by: .init(actor)).flatMap { _ in
            guard let former = task.former else { return self.loop.makeSucceededVoidFuture() }
            // It never ceased to have it; where it is in another zone nothing was changed there.
            return self.riders.assign(job, to: former, in: task.zone, by: .init(actor)).map { _ in }
        }
    }

    /// Who had the job before has it no more.
    private func leave(
        _ job: JobID, _ former: PersonID?, _ rider: PersonID?, _ outcome: TaskOutcome, by actor: PersonID
    ) -> EventLoopFuture<Void> {
        guard let former, former != rider else { return self.loop.makeSucceededVoidFuture() }
        return self.release(job, of: former, because: outcome, by: actor)
    }

    /// A task is its rider's no more; does nothing where it was none.
    package func release(
        _ job: JobID, of rider: PersonID, because outcome: TaskOutcome, by actor: PersonID
    ) -> EventLoopFuture<Void> {
        self.riders.zone(of: rider).flatMap { zone in
            guard let zone else { return self.loop.makeSucceededVoidFuture() }
            return self.riders.release(job, of: rider, in: zone, because: outcome, by: Riders.Asker(actor)).map { _ in }
        }
    }

    // MARK: what a gateway that died left behind

    /// Releases those tasks whose jobs are done, gone, or somebody else's. A decision that is being made writes the task first
    /// and the job after, so a rider that changed lately is left alone.
    ///
    /// - Returns: how many.
    package func releaseDone(_ jobs: [JobID], of rider: PersonID, in zone: ZoneID) -> EventLoopFuture<Int> {
        self.riders.read(rider, in: zone).flatMap { record in
            guard let record, .now - record.version / 1000 > Self.longestDecision else {
                return self.loop.makeSucceededFuture(0)
            }
            let looks = jobs.map { self.releaseIfDone($0, of: rider, in: zone) }
            return EventLoopFuture.whenAllSucceed(looks, on: self.loop).map { $0.count { $0 } }
        }
    }

    /// No assignment takes longer, ms: every answer of Redis has a bound far below.
    private static let longestDecision: Int64 = 60_000

    private func releaseIfDone(_ job: JobID, of rider: PersonID, in zone: ZoneID) -> EventLoopFuture<Bool> {
        self.ledger.recover(job).flatMap { recovery in
            let record = recovery?.record
            guard record?.rider != rider || record?.status.end != nil else {
                return self.loop.makeSucceededFuture(false)
            }
            let outcome = TaskOutcome(of: record?.status) ?? .reassigned
            return self.riders.release(job, of: rider, in: zone, because: outcome, by: .gateway).map { _ in true }
        }
    }
}

/// Whose a job is now, and the number of that decision: of two the later one has the greater.
package struct Assigned: Sendable, Hashable {
    package var parties: Parties
    package var fence: Int64
}

extension Riders.Asker {
    /// What nobody asked for.
    package static let gateway = Self(PersonID("enroute")!)
}

extension TaskOutcome {
    /// What the end of a job makes of its task; `nil` where it has not ended.
    package init?(of status: JobStatus?) {
        switch status?.end {
        case .completed: self = .completed
        case .cancelled: self = .cancelled
        default: return nil
        }
    }
}

extension Refused {
    /// The rider may come online, or be done with another task: later it may do.
    var isOfRider: Bool { [.riderOffline, .riderBusy, .conflict].contains(self.code) }

    fileprivate init(jobIsOf rider: PersonID) {
        self.init(
            code: .conflict,
            message: "The job is \(rider)'s. Name that rider as insteadOf to hand it over, or take it from it first.")
    }

    fileprivate init(nobodysAs status: JobStatus) {
        self.init(
            code: .illegalTransition, message: "The job is \(status.rawValue): it is nobody's to do.", status: status)
    }

    /// Why the zone gives a rider no task.
    fileprivate init(_ rider: PersonID, cannotTake answer: Riders.Assignment) {
        switch answer {
        case .full(let jobs):
            self.init(code: .riderBusy, message: "\(rider) has as many tasks as it may have: \(jobs.count).")
            self.tasks = jobs
        case .taken(let other):
            self.init(jobIsOf: other)
        case .notApproved:
            self.init(code: .riderOffline, message: "\(rider) is not approved: it finishes what it has.")
        case .unreachable:
            self.init(code: .riderOffline, message: "\(rider) is online, and has not been heard from lately.")
        default: self.init(code: .riderOffline, message: "\(rider) is offline.")
        }
    }
}

// Switches travel mode on and off. Two instances are involved, and two gateways may do opposite things at once. So a
// gateway that opens the feed checks afterwards that travel mode is still on in the ledger, and one that switches it
// off closes the feed before and after.

internal import Access
package import EnrouteWire
package import LiveState
package import NIOCore

extension JobService {
    /// Switches travel mode on, first in the ledger and then on the live instance.
    ///
    /// - Parameters:
    ///   - reporter: the device that reports from now on. Reports of any other device are refused.
    ///   - resumes: `true` only continues what this device started. It is refused if another device has started since,
    ///     or if travel mode was switched off since.
    /// - Returns: the deadline of travel mode, ms since the epoch.
    package func startTravel(
        _ job: JobID, by rider: PersonID, on reporter: Reporter, resumes: Bool = false
    ) -> EventLoopFuture<Int64> {
        guard !self.revocations.isRevoked(job) else { return self.loop.makeFailedFuture(Refused.noSuchJob) }
        return self.ledger.startTravel(for: job, by: rider, on: reporter, resumes: resumes).flatMap { travel in
            let loop = self.loop
            switch travel {
            case .on(let deadline, let fence):
                self.updateZoneListing(of: job)
                return self.feed.open(
                    job, for: rider, on: reporter, until: deadline, fence: fence, resumes ? .resume : .takeOver
                ).flatMapThrowing {
                    switch $0 {
                    case .open: return deadline
                    case .deadlinePassed: throw Self.timeLimit
                    case .overtaken: throw Refused.changedConcurrently
                    }
                }.flatMap { deadline in
                    self.unfinished.attempt(job, on: self.loop, self.closeIfStopped(job)) { self.closeIfStopped(job) }
                        .flatMap { self.closeIfRevoked(job) }.map { deadline }
                }
            case .noSuchJob, .otherRider: return loop.makeFailedFuture(Refused.noSuchJob)
            case .notInStatus(let status):
                let allowed = JobStatus.travelling.map(\.rawValue).joined(separator: " or ")
                return loop.makeFailedFuture(
                    Refused(
                        code: .illegalTransition,
                        message: "Travel mode requires the status \(allowed); the job is \(status.rawValue).",
                        status: status))
            case .timeLimit: return loop.makeFailedFuture(Self.timeLimit)
            case .otherDevice: return self.resumeByFeed(job, by: rider, on: reporter, otherwise: .otherDevice)
            case .neverOn: return self.resumeByFeed(job, by: rider, on: reporter, otherwise: .travelModeOff)
            case .switchedOff: return loop.makeFailedFuture(Refused.travelModeOff)
            }
        }
    }

    /// The ledger names another device, whose start may have failed before the feed was opened, or it has lost this
    /// device's start. If the feed is open for this device, it still reports.
    private func resumeByFeed(
        _ job: JobID, by rider: PersonID, on reporter: Reporter, otherwise refusal: Refused
    ) -> EventLoopFuture<Int64> {
        self.feed.isOpen(job, for: rider, on: reporter).flatMap { isOpen in
            isOpen ? self.startTravel(job, by: rider, on: reporter) : self.loop.makeFailedFuture(refusal)
        }
    }

    /// Reopens the feed after the live instance lost its data: travel mode is on again until the same deadline, if it
    /// is on for this rider in the ledger.
    ///
    /// - Returns: whether positions may be published.
    package func reopen(_ job: JobID, for rider: PersonID) -> EventLoopFuture<Bool> {
        self.ledger.recover(job).flatMap { recovery in
            guard let record = recovery?.record, record.isTravelling, record.rider == rider,
                record.status.endOfTravel == nil, !self.revocations.isRevoked(job), let deadline = record.travelDeadline
            else { return self.loop.makeSucceededFuture(false) }
            return self.feed.open(
                job, for: rider, on: record.reporter, until: deadline, fence: record.fence, .ifAbsent
            ).map { $0 == .open }
        }
    }

    /// Closes the feed if travel mode is off in the ledger. Safe to repeat: a feed that a later decision opens stays
    /// open.
    package func closeIfStopped(_ job: JobID) -> EventLoopFuture<Void> {
        self.ledger.recover(job).flatMap { recovery in
            guard let record = recovery?.record, record.isStopped else { return self.loop.makeSucceededVoidFuture() }
            let reason = record.status.endOfTravel ?? .deactivated
            return self.close(job, because: reason, notLaterThan: record.fence).flatMap { closing in
                guard closing == .overtaken else { return self.loop.makeSucceededVoidFuture() }
                return self.ledger.recover(job).flatMap { again in
                    // The ledger issues a fence before the feed is opened. If it has issued none, it lost data, and no
                    // decision that it still knows opened the feed.
                    guard again?.record.fence == record.fence, again?.record.isStopped == true else {
                        return self.loop.makeSucceededVoidFuture()
                    }
                    return self.close(job, because: reason).map { _ in }
                }
            }
        }
    }

    /// Closes the feed of a job that was revoked while the feed was being opened.
    private func closeIfRevoked(_ job: JobID) -> EventLoopFuture<Void> {
        guard self.revocations.isRevoked(job) else { return self.loop.makeSucceededVoidFuture() }
        return self.close(job, because: .revoked).flatMapThrowing { _ in throw Refused.noSuchJob }
    }

    package func stopTravel(
        _ job: JobID, by rider: PersonID, because reason: EndReason = .deactivated
    ) -> EventLoopFuture<Void> {
        self.close(job, of: rider, because: reason).flatMap { closing in
            guard closing != .otherRider else { return self.loop.makeFailedFuture(Refused.noSuchJob) }
            return self.recordStop(of: job, by: rider, because: reason, startedOn: nil)
        }
    }

    /// Switches travel mode off because the rider has arrived. Nobody requests this, so nobody would repeat it: it is
    /// repeated in the background until it succeeds or is refused, for example because another rider has the job.
    ///
    /// - Parameters:
    ///   - isDue: whether to try again. Called on the event loop, like `onStopped`.
    ///   - onStopped: called once, when travel mode is off.
    /// - Returns: the result of the first attempt.
    @discardableResult
    package func stopTravelOnArrival(
        _ job: JobID, of rider: PersonID, while isDue: @escaping @Sendable () -> Bool,
        onStopped: @escaping @Sendable () -> Void
    ) -> EventLoopFuture<Void> {
        let stop = { @Sendable in
            // The note only explains the stop, so the stop does not depend on it.
            self.notes.note(job, by: rider, annotations: [.stoppedByArrival(true)]).flatMapErrorThrowing { _ in }
                .flatMap {
                    self.stopTravel(job, by: rider, because: .arrived)
                }.map(onStopped).flatMapErrorThrowing { error in
                    guard error is Refused else { throw error }
                }.hop(to: self.loop)
        }
        return self.unfinished.attempt(job, on: self.loop, stop()) {
            isDue() ? stop() : self.loop.makeSucceededVoidFuture()
        }
    }

    /// Switches travel mode off if this device started it, for a device that was offline when its rider did so. The ledger
    /// decides first, because another device may have taken over.
    package func stopTravel(_ job: JobID, by rider: PersonID, startedOn reporter: Reporter) -> EventLoopFuture<Void> {
        self.recordStop(of: job, by: rider, because: .deactivated, startedOn: reporter)
    }

    private func recordStop(
        of job: JobID, by rider: PersonID, because reason: EndReason, startedOn reporter: Reporter?
    ) -> EventLoopFuture<Void> {
        self.recordStop(of: job, by: rider, startedOn: reporter).flatMap { stop in
            switch stop {
            case .noSuchJob: return self.loop.makeFailedFuture(Refused.noSuchJob)
            case .otherDevice: return self.loop.makeFailedFuture(Refused.otherDevice)
            case .off(let fence), .wasOff(let fence):
                // Another gateway may have opened it since, because of an earlier decision.
                let closeAgain = { @Sendable in
                    self.close(job, because: reason, notLaterThan: fence).map { _ in }
                }
                return self.unfinished.attempt(job, on: self.loop, closeAgain(), again: closeAgain)
            }
        }
    }

    /// Switches travel mode off in the ledger, like `JobLedger.stopTravel`.
    private func recordStop(
        of job: JobID, by rider: PersonID?, atLimit deadline: Int64? = nil, startedOn reporter: Reporter? = nil
    ) -> EventLoopFuture<JobLedger.Stop> {
        self.ledger.stopTravel(for: job, by: rider, atLimit: deadline, startedOn: reporter).map { stop in
            if case .off = stop { self.updateZoneListing(of: job) }
            return stop
        }
    }

    private func close(
        _ job: JobID, because reason: EndReason, notLaterThan fence: Int64
    ) -> EventLoopFuture<JobFeed.Closing> {
        self.erasing(job, reason, self.feed.close(job, because: reason, notLaterThan: fence))
    }

    /// Stops a job's positions and reports what was erased.
    package func close(
        _ job: JobID, of rider: PersonID? = nil, because reason: EndReason, fence: Int64? = nil
    ) -> EventLoopFuture<JobFeed.Closing> {
        self.erasing(job, reason, self.feed.close(job, of: rider, because: reason, fence: fence))
    }

    /// Stops the positions of a revoked job, for all followers.
    package func closeRevoked(_ job: JobID) -> EventLoopFuture<Void> {
        self.close(job, because: .revoked).flatMap { _ in self.recordStop(of: job, by: nil) }.map { _ in }
    }

    /// Stops a job's positions when the deadline for sharing has passed. The gateway that closed the feed then records
    /// this in the ledger, without waiting. If that fails, the next change of the job corrects the ledger.
    package func close(_ job: JobID, atLimit deadline: Int64) -> EventLoopFuture<JobFeed.Closing> {
        self.erasing(job, .timeLimit, self.feed.close(job, atLimit: deadline)).map { closing in
            if case .closed(let erased) = closing, erased > 0 {
                _ = self.recordStop(of: job, by: nil, atLimit: deadline)
            }
            return closing
        }
    }

    private func erasing(
        _ job: JobID, _ reason: EndReason, _ closing: EventLoopFuture<JobFeed.Closing>
    ) -> EventLoopFuture<JobFeed.Closing> {
        let onErased = self.onErased
        return closing.map { closing in
            if case .closed(let erased) = closing, erased > 0 { onErased(job, erased, reason) }
            return closing
        }
    }

    private static let timeLimit = Refused(
        code: .forbidden, message: "The time limit for sharing positions for this job has been reached.")
}

extension JobRecord {
    /// Whether travel mode is off, or not allowed in this status.
    fileprivate var isStopped: Bool { !self.isTravelling || !self.status.allowsTravel }
}

// What people and services do to a job, in the order that keeps the promises: a position is never visible longer than
// the ledger allows, so the live half closes as early as it can and opens last. WebSocket and REST both come here.

package import Access
package import EnrouteWire
internal import HTTPValues
package import LiveState
package import NIOCore
package import Redis

/// Reading and changing jobs. May be used from any thread.
package struct JobService: Sendable {
    package let ledger: JobLedger
    package let feed: JobFeed
    package let riders: Riders
    package let revocations: Revocations
    /// What is known of the rider's readings.
    package let notes: ValidationSummaryStore
    /// Positions older than this are stale.
    package var freshness: Duration = .seconds(30)
    /// How long a position is kept, and may be shared.
    package var settings = LiveStateSettings()
    /// What was erased, and why: keys that held something.
    package let onErased: @Sendable (JobID, Int, EndReason) -> Void

    package init(
        ledger: JobLedger, feed: JobFeed, riders: Riders, revocations: Revocations, notes: ValidationSummaryStore,
        freshness: Duration = .seconds(30), settings: LiveStateSettings = LiveStateSettings(),
        onErased: @escaping @Sendable (JobID, Int, EndReason) -> Void
    ) {
        self.ledger = ledger
        self.feed = feed
        self.riders = riders
        self.revocations = revocations
        self.notes = notes
        self.freshness = freshness
        self.settings = settings
        self.onErased = onErased
    }

    /// The whole state of a job: what a subscription starts with and what REST answers.
    ///
    /// - Returns: `nil` when there is no such job.
    package func view(_ job: JobID, since: ResumePoint? = nil) -> EventLoopFuture<JobView?> {
        let recovery = self.ledger.recover(job, since: since)
        return recovery.and(self.feed.read(job).and(self.notes.read(job))).map { recovery, live in
            recovery.map { JobView($0, live.0, live.1, now: .now, freshness: self.freshness) }
        }
    }

    /// What followers have to agree with: the newest status, and whether and where the rider is.
    ///
    /// - Returns: `nil` when there is no such job.
    package func check(_ job: JobID) -> EventLoopFuture<JobCheck?> {
        self.ledger.head(job).and(self.feed.read(job)).map { head, feed in
            head.map { JobCheck($0, feed) }
        }
    }

    /// - Parameter request: with the same id the same change may be asked for again, by who does not know whether it was
    ///   made.
    package func change(
        _ job: JobID, to status: JobStatus, by actor: PersonID, source: String, occurredAt: Int64? = nil,
        request: String = "", expected: ExpectedHead? = nil, party: JobParty = .service
    ) -> EventLoopFuture<Durable<StatusEvent>> {
        self.ledger.publishDurably(
            status, of: job, by: actor, source: source, occurredAt: occurredAt, request: request, expected: expected,
            party: party
        ).flatMap { answer in
            let loop = self.loop
            switch answer.value {
            case .published(let event), .repeated(let event):
                self.updateZoneListing(of: job)
                let event = Durable(value: event, replicas: answer.replicas)
                return self.finish(job, as: status, by: actor).map { event }
            case .notAllowed(let current):
                return loop.makeFailedFuture(
                    Refused(
                        code: .illegalTransition,
                        message: "The job is \(current.rawValue); it can not become \(status.rawValue) from there.",
                        status: current))
            case .overtaken(let current, let head):
                return loop.makeFailedFuture(Refused(overtakenBy: current, head))
            case .noSuchJob, .notTheirs: return loop.makeFailedFuture(Refused.noSuchJob)
            }
        }
    }

    /// What ends with a status: the rider's positions, and with the job its task. Safe to repeat.
    package func finish(_ job: JobID, as status: JobStatus, by actor: PersonID) -> EventLoopFuture<Void> {
        guard let end = status.endOfTravel else { return self.loop.makeSucceededVoidFuture() }
        return self.close(job, because: end).flatMap { _ in
            guard let outcome = TaskOutcome(of: status) else { return self.loop.makeSucceededVoidFuture() }
            return self.ledger.recover(job).flatMap { recovery in
                guard let rider = recovery?.record.rider else { return self.loop.makeSucceededVoidFuture() }
                return self.release(job, of: rider, because: outcome, by: actor)
            }
        }
    }

    /// - Returns: until when travel mode is on, ms since the epoch.
    package func startTravel(_ job: JobID, by rider: PersonID) -> EventLoopFuture<Int64> {
        guard !self.revocations.isRevoked(job) else { return self.loop.makeFailedFuture(Refused.noSuchJob) }
        return self.ledger.startTravel(for: job, by: rider).flatMap { travel in
            let loop = self.loop
            switch travel {
            case .on(let deadline, let fence):
                return self.feed.open(job, for: rider, until: deadline, fence: fence).flatMapThrowing { opening in
                    switch opening {
                    case .open: return deadline
                    case .deadlinePassed: throw Self.timeLimit
                    case .overtaken: throw Refused.noSuchJob
                    }
                }.flatMap { deadline in self.closeIfRevoked(job).map { deadline } }
            case .noSuchJob, .otherRider: return loop.makeFailedFuture(Refused.noSuchJob)
            case .notInStatus(let status):
                let allowed = JobStatus.travelling.map(\.rawValue).joined(separator: " or ")
                return loop.makeFailedFuture(
                    Refused(
                        code: .illegalTransition,
                        message: "Travel mode can be on while the job is \(allowed); it is \(status.rawValue).",
                        status: status))
            case .timeLimit: return loop.makeFailedFuture(Self.timeLimit)
            }
        }
    }

    /// After the live instance lost its memory: travel mode is on again, until the same time, when the ledger says that it
    /// is on for this rider.
    ///
    /// - Returns: whether positions may be published.
    package func reopen(_ job: JobID, for rider: PersonID) -> EventLoopFuture<Bool> {
        self.ledger.recover(job).flatMap { recovery in
            guard let record = recovery?.record, record.isTravelling, record.rider == rider,
                record.status.endOfTravel == nil, !self.revocations.isRevoked(job), let deadline = record.travelDeadline
            else { return self.loop.makeSucceededFuture(false) }
            return self.feed.open(job, for: rider, until: deadline, fence: record.fence, ifAbsent: true).map {
                $0 == .open
            }
        }
    }

    /// For a job that was revoked while its feed was being opened.
    private func closeIfRevoked(_ job: JobID) -> EventLoopFuture<Void> {
        guard self.revocations.isRevoked(job) else { return self.loop.makeSucceededVoidFuture() }
        return self.close(job, because: .revoked).flatMapThrowing { _ in throw Refused.noSuchJob }
    }

    package func stopTravel(
        _ job: JobID, by rider: PersonID, because reason: EndReason = .deactivated
    ) -> EventLoopFuture<Void> {
        self.close(job, of: rider, because: reason).flatMap { closing in
            guard closing != .otherRider else { return self.loop.makeFailedFuture(Refused.noSuchJob) }
            return self.ledger.stopTravel(for: job, by: rider).flatMapThrowing { isTheirs in
                guard isTheirs else { throw Refused.noSuchJob }
            }
        }
    }

    /// Ends a job's positions, and says what that erased.
    package func close(
        _ job: JobID, of rider: PersonID? = nil, because reason: EndReason, fence: Int64? = nil
    ) -> EventLoopFuture<JobFeed.Closing> {
        self.erasing(job, reason, self.feed.close(job, of: rider, because: reason, fence: fence))
    }

    /// The same when the time is over in which its rider may share its position.
    package func close(_ job: JobID, atLimit deadline: Int64) -> EventLoopFuture<JobFeed.Closing> {
        self.erasing(job, .timeLimit, self.feed.close(job, atLimit: deadline))
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
        code: .forbidden, message: "The time for which this job's rider may share its position is used up.")

    package var loop: any EventLoop { self.ledger.eventLoop }

    /// After each change of a job, for operations to find it. Nobody waits for it: what fails is made good by the next change.
    package func updateZoneListing(of job: JobID) { _ = self.ledger.listing.update(job, now: .now) }
}

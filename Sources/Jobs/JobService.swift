// Operations on jobs, for WebSocket and REST. They change the two instances in the order that guarantees that a position is
// never visible longer than the ledger allows: the live half closes first and opens last.

package import Access
package import EnrouteWire
internal import HTTPValues
package import LiveState
package import Logging
package import NIOCore
package import Redis
package import Tracking

/// Reads and changes jobs. Safe to use from any thread.
package struct JobService: Sendable {
    package let ledger: JobLedger
    package let feed: JobFeed
    package let riders: Riders
    package let revocations: Revocations
    /// Validation results of the rider's fixes.
    package let notes: ValidationSummaryStore
    /// Positions older than this are stale.
    package var freshness: Duration = .seconds(30)
    /// How long preparation and pickup take, for the arrival time before the rider is on the way.
    package var early = EarlyArrival.Settings()
    /// How long positions are stored and may be shared.
    package var settings = LiveStateSettings()
    /// Called when positions were erased: the job, the number of keys cleared, and the reason.
    package let onErased: @Sendable (JobID, Int, EndReason) -> Void
    /// Changes of the ledger whose rest failed and is repeated.
    let unfinished: UnfinishedChanges

    package init(
        ledger: JobLedger, feed: JobFeed, riders: Riders, revocations: Revocations, notes: ValidationSummaryStore,
        freshness: Duration = .seconds(30), early: EarlyArrival.Settings = .init(),
        settings: LiveStateSettings = LiveStateSettings(), logger: Logger = Logger(label: "enroute"),
        onErased: @escaping @Sendable (JobID, Int, EndReason) -> Void
    ) {
        self.ledger = ledger
        self.feed = feed
        self.riders = riders
        self.revocations = revocations
        self.notes = notes
        self.freshness = freshness
        self.early = early
        self.settings = settings
        self.onErased = onErased
        self.unfinished = UnfinishedChanges(logger: logger)
    }

    /// The complete state of a job, for a new subscription or a REST answer.
    ///
    /// - Returns: `nil` when there is no such job.
    package func view(_ job: JobID, since: ResumePoint? = nil) -> EventLoopFuture<JobView?> {
        let recovery = self.ledger.recover(job, since: since).flatMap { recovery in
            self.card(for: recovery?.record).map { (recovery, $0) }
        }
        return recovery.and(self.feed.read(job).and(self.notes.read(job))).map { ledger, live in
            ledger.0.map {
                JobView(
                    $0, live.0, live.1, card: ledger.1, early: self.early, now: WallClock.nowMilliseconds,
                    freshness: self.freshness)
            }
        }
    }

    /// What a job's rider travels with: as the job says, or else the rider's card; `nil` if it is unknown.
    package func vehicle(for record: JobRecord) -> EventLoopFuture<Vehicle?> {
        if let vehicle = record.display?.vehicle { return self.loop.makeSucceededFuture(vehicle) }
        guard let rider = record.rider else { return self.loop.makeSucceededFuture(nil) }
        return self.riders.card(of: rider).map { $0?.vehicle }
    }

    /// The name on the card of the rider who came, for a customer who opens the page afterwards.
    ///
    /// - Returns: `nil` before the job has ended, if it was cancelled, and without a card.
    package func nameOfRider(after record: JobRecord) -> EventLoopFuture<String?> {
        guard record.status.end == .completed, let rider = record.rider else {
            return self.loop.makeSucceededFuture(nil)
        }
        return self.riders.card(of: rider).map { $0?.name }
    }

    /// The card of a job's rider, if followers may see it. Read after the record, from another slot: the record decides whose
    /// card it is, and a change of either makes followers read both again (decisions/rider-card.md).
    private func card(for record: JobRecord?) -> EventLoopFuture<RiderCard?> {
        guard let record, let rider = record.rider, record.status.showsRider else {
            return self.loop.makeSucceededFuture(nil)
        }
        return self.riders.card(of: rider)
    }

    /// What followers must agree with: the newest status, and the rider's last position.
    ///
    /// - Returns: `nil` when there is no such job.
    package func check(_ job: JobID) -> EventLoopFuture<JobCheck?> {
        self.ledger.head(job).and(self.feed.read(job)).map { head, feed in
            head.map { JobCheck($0, feed) }
        }
    }

    /// A reader for checks of one job.
    package func checkReader(of job: JobID) -> JobCheckReader {
        JobCheckReader(job, ledger: self.ledger, feed: self.feed)
    }

    /// Changes a job's status.
    ///
    /// - Parameter request: a client that does not know whether its change was made can repeat it with the same id.
    package func change(
        _ job: JobID, to status: JobStatus, by actor: PersonID, source: String, occurredAt: Int64? = nil,
        request: String = "", expected: ExpectedHead? = nil, party: JobParty = .service,
        origin: ChangeOrigin = ChangeOrigin(receivedAt: WallClock.nowMilliseconds)
    ) -> EventLoopFuture<Durable<StatusEvent>> {
        self.ledger.publishDurably(
            status, of: job, by: actor, source: source, occurredAt: occurredAt, request: request, expected: expected,
            party: party, origin: origin
        ).flatMap { answer in
            let loop = self.loop
            switch answer.value {
            case .published(let event):
                self.updateZoneListing(of: job)
                let event = Durable(value: event, replicas: answer.replicas)
                return self.finishPersistently(job, as: status, by: actor).map { event }
            case .repeated(let event):
                self.updateZoneListing(of: job)
                let event = Durable(value: event, replicas: answer.replicas)
                return self.finishIfStill(job, as: status, by: actor).map { event }
            case .notAllowed(let current):
                let refused = Refused(
                    code: .illegalTransition,
                    message: "The job is \(current.rawValue) and cannot become \(status.rawValue).", status: current)
                guard current == status, status.endOfTravel != nil else { return loop.makeFailedFuture(refused) }
                // The change that made it so may not have been finished.
                return self.finishIfStill(job, as: status, by: actor).flatMapThrowing { throw refused }
            case .overtaken(let current, let head):
                return loop.makeFailedFuture(Refused(overtakenBy: current, head))
            case .noSuchJob, .notTheirs: return loop.makeFailedFuture(Refused.noSuchJob)
            }
        }
    }

    /// Stops what ends with a status: the rider's positions and, when the job ends, its task, even if the positions cannot be
    /// stopped. Safe to repeat.
    package func finish(_ job: JobID, as status: JobStatus, by actor: PersonID) -> EventLoopFuture<Void> {
        guard let end = status.endOfTravel else { return self.loop.makeSucceededVoidFuture() }
        return self.close(job, because: end).map { _ in }.thenAlways {
            guard let outcome = TaskOutcome(of: status) else { return self.loop.makeSucceededVoidFuture() }
            return self.ledger.recover(job).flatMap { recovery in
                guard let rider = recovery?.record.rider else { return self.loop.makeSucceededVoidFuture() }
                return self.release(job, of: rider, because: outcome, by: actor)
            }
        }
    }

    /// - Parameters:
    ///   - reporter: the device that reports from now on. Reports of any other device are refused.
    ///   - resumes: only goes on with what this device started; refused if another one has started since.
    /// - Returns: the deadline of travel mode, ms since the epoch.
    package func startTravel(
        _ job: JobID, by rider: PersonID, on reporter: Reporter, resumes: Bool = false
    ) -> EventLoopFuture<Int64> {
        guard !self.revocations.isRevoked(job) else { return self.loop.makeFailedFuture(Refused.noSuchJob) }
        return self.ledger.startTravel(for: job, by: rider, on: reporter, resumes: resumes).flatMap { travel in
            let loop = self.loop
            switch travel {
            case .on(let deadline, let fence):
                return self.feed.open(job, for: rider, on: reporter, until: deadline, fence: fence).flatMapThrowing {
                    switch $0 {
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
                        message: "Travel mode requires the status \(allowed); the job is \(status.rawValue).",
                        status: status))
            case .timeLimit: return loop.makeFailedFuture(Self.timeLimit)
            case .otherDevice: return loop.makeFailedFuture(Refused.otherDevice)
            }
        }
    }

    /// Reopens the feed after the live instance lost its data: travel mode is on again until the same deadline, if the ledger
    /// has it on for this rider.
    ///
    /// - Returns: whether positions may be published.
    package func reopen(_ job: JobID, for rider: PersonID) -> EventLoopFuture<Bool> {
        self.ledger.recover(job).flatMap { recovery in
            guard let record = recovery?.record, record.isTravelling, record.rider == rider,
                record.status.endOfTravel == nil, !self.revocations.isRevoked(job), let deadline = record.travelDeadline
            else { return self.loop.makeSucceededFuture(false) }
            return self.feed.open(
                job, for: rider, on: record.reporter, until: deadline, fence: record.fence, ifAbsent: true
            ).map { $0 == .open }
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
            return self.ledger.stopTravel(for: job, by: rider).flatMapThrowing { isTheirs in
                guard isTheirs else { throw Refused.noSuchJob }
            }
        }
    }

    /// Stops a job's positions and reports what was erased.
    package func close(
        _ job: JobID, of rider: PersonID? = nil, because reason: EndReason, fence: Int64? = nil
    ) -> EventLoopFuture<JobFeed.Closing> {
        self.erasing(job, reason, self.feed.close(job, of: rider, because: reason, fence: fence))
    }

    /// Stops a job's positions when the deadline for sharing has passed. The gateway that closed the feed then records it at
    /// the ledger, which nobody waits for: if that fails, the ledger learns it at the next change of the job.
    package func close(_ job: JobID, atLimit deadline: Int64) -> EventLoopFuture<JobFeed.Closing> {
        let ledger = self.ledger
        return self.erasing(job, .timeLimit, self.feed.close(job, atLimit: deadline)).map { closing in
            if case .closed(let erased) = closing, erased > 0 {
                _ = ledger.stopTravel(for: job, by: nil, atLimit: deadline)
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

    package var loop: any EventLoop { self.ledger.eventLoop }

    /// Keeps a job on the lists of its rider and customer for longer, and restores its entries. Nothing waits for it.
    package func refreshPersonLists(of job: JobID) {
        self.ledger.recover(job).whenSuccess { recovery in
            guard let record = recovery?.record else { return }
            _ = self.ledger.list(
                job, rider: record.rider, customer: record.customer, now: WallClock.nowMilliseconds, isRefresh: true)
        }
    }

    /// Updates the zone's list after a change of the job. Nothing waits for it: after a failure the next change corrects the
    /// list.
    package func updateZoneListing(of job: JobID) {
        _ = self.ledger.listing.update(job, now: WallClock.nowMilliseconds)
    }
}

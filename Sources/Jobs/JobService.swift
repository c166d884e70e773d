// Operations on jobs, for WebSocket and REST. They change the two instances in the order that guarantees that a position is
// never visible longer than the ledger allows: the live instance closes the feed first and opens it last.

package import Access
package import EnrouteWire
internal import HTTPValues
package import LiveState
package import Logging
package import NIOCore
package import Redis
package import Telemetry
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
    /// Changes of the ledger whose remaining steps failed and are repeated.
    let unfinished: UnfinishedChanges

    package init(
        ledger: JobLedger, feed: JobFeed, riders: Riders, revocations: Revocations, notes: ValidationSummaryStore,
        freshness: Duration = .seconds(30), early: EarlyArrival.Settings = .init(),
        settings: LiveStateSettings = LiveStateSettings(), logger: Logger = Logger(label: "enroute"),
        count: @escaping @Sendable (Metric) -> Void = { _ in },
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
        self.unfinished = UnfinishedChanges(logger: logger, count: count)
    }

    /// The complete state of a job, for a new subscription or a REST response.
    ///
    /// - Returns: `nil` when there is no such job.
    package func view(_ job: JobID, since: ResumePoint? = nil) -> EventLoopFuture<JobView?> {
        self.recoverWithCard(job, since: since).and(self.feed.read(job).and(self.notes.read(job))).map { ledger, live in
            ledger.0.map {
                JobView(
                    $0, live.0, live.1, card: ledger.1, early: self.early, now: WallClock.nowMilliseconds,
                    freshness: self.freshness)
            }
        }
    }

    /// The state of a job that was just changed, for the response. While the live instance is unavailable, it contains
    /// only what the ledger stores, without a position or an arrival time: an error would claim that nothing was
    /// changed.
    ///
    /// - Returns: `nil` when there is no such job.
    package func viewAfterChange(of job: JobID) -> EventLoopFuture<JobView?> {
        self.view(job).flatMapError { error in
            guard let error = error as? RedisError, error.isOutage else {
                return self.loop.makeFailedFuture(error)
            }
            // This also fails if the ledger is unavailable.
            return self.recoverWithCard(job).map { recovery, card in
                recovery.map {
                    // The progress of a rider on the way is unknown.
                    let early = $0.record.isTravelling ? .off : self.early
                    return JobView(
                        $0, JobFeed.State(), card: card, early: early, now: WallClock.nowMilliseconds,
                        freshness: self.freshness)
                }
            }
        }
    }

    private func recoverWithCard(
        _ job: JobID, since: ResumePoint? = nil
    ) -> EventLoopFuture<(JobLedger.Recovery?, RiderCard?)> {
        self.ledger.recover(job, since: since).flatMap { recovery in
            self.card(for: recovery?.record).map { (recovery, $0) }
        }
    }

    /// The vehicle of a job's rider: the one in the job's details, or else the one on the rider's card; `nil` if
    /// unknown.
    package func vehicle(for record: JobRecord) -> EventLoopFuture<Vehicle?> {
        if let vehicle = record.display?.vehicle { return self.loop.makeSucceededFuture(vehicle) }
        guard let rider = record.rider else { return self.loop.makeSucceededFuture(nil) }
        return self.riders.card(of: rider).map { $0?.vehicle }
    }

    /// The name on the rider's card, for a customer who opens the page after the job has ended.
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

    /// What up-to-date followers have seen: the newest status, and the rider's last position.
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
                guard status.endOfTravel != nil else { return loop.makeSucceededFuture(event) }
                return self.finishPersistently(job, by: actor).map { event }
            case .repeated(let event):
                self.updateZoneListing(of: job)
                let event = Durable(value: event, replicas: answer.replicas)
                return self.finish(job, by: actor).map { event }
            case .notAllowed(let current):
                let refused = Refused(current, cannotBecome: status, by: party)
                guard current == status, status.endOfTravel != nil else { return loop.makeFailedFuture(refused) }
                // The change to the current status may not have been finished.
                return self.finish(job, by: actor).flatMapThrowing { throw refused }
            case .overtaken(let current, let head):
                return loop.makeFailedFuture(Refused(expected: expected, butIs: current, head))
            case .noSuchJob, .notTheirs: return loop.makeFailedFuture(Refused.noSuchJob)
            }
        }
    }

    /// Stops everything that the job's status does not allow: the rider's positions and, when the job has ended, its
    /// task, even if the positions cannot be stopped. Safe to repeat, even if the job has moved on.
    package func finish(_ job: JobID, by actor: PersonID) -> EventLoopFuture<Void> {
        self.closeIfStopped(job).thenAlways {
            self.ledger.recover(job).flatMap { recovery in
                guard let record = recovery?.record, let rider = record.rider,
                    let outcome = TaskOutcome(of: record.status)
                else { return self.loop.makeSucceededVoidFuture() }
                return self.settleTask(job, of: rider, because: outcome, by: actor)
            }
        }
    }

    package var loop: any EventLoop { self.ledger.eventLoop }

    /// Keeps a job on the lists of its rider and customer for as long as its record is stored, and restores missing
    /// entries. The caller does not wait.
    package func refreshPersonLists(of job: JobID) {
        self.ledger.recover(job).whenSuccess { recovery in
            guard let record = recovery?.record else { return }
            _ = self.ledger.list(
                job, rider: record.rider, customer: record.customer, now: WallClock.nowMilliseconds, record: record)
        }
    }

    /// Updates the zone's list after a change of the job, and keeps it revoked if it is. Called after every change that
    /// extends the life of the record, so that the entries live as long. The caller does not wait: after a failure the
    /// next change corrects the list.
    package func updateZoneListing(of job: JobID) {
        _ = self.ledger.listing.update(job, now: WallClock.nowMilliseconds)
        self.renewRevocation(of: job)
    }
}

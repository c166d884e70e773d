// Riders that report by REST requests. They get the same guidance as a rider with a session (RiderGuidance,
// StopSequence), in the responses to their requests.
//
// Such a rider has no session whose end would show that it has disconnected. It counts as disconnected when it has sent
// no report for so long that its last position is stale, and no other gateway has received a newer one.

package import EnrouteWire
internal import HTTPValues
package import Jobs
package import LiveState
package import NIOCore
internal import Tracking
internal import TrafficControl

/// The riders whose REST reports arrive on one loop. Confined to it.
package final class RESTReporters {
    private struct Entry {
        var rate = ReportRate()
        let stopSequence: StopSequence
        /// The device whose position or reason followers were shown last, or the first device.
        var reporter: Reporter
        var published = PublishedPositions(most: LocationReport.maxJobs)
        /// The jobs of its last reports, at most `LocationReport.maxJobs`.
        var jobs: [JobID] = []
        var lastReportAt = NIODeadline.now()
        /// When the rider counts as silent. Each report moves it to a later time.
        var silence: Deadline?
    }

    private unowned let loop: LoopState
    private let most: Int
    private var entries: [PersonID: Entry] = [:]
    private var oldest = LeastRecentlyUsed<PersonID>()

    /// How much later than the age at which a position becomes stale a report may arrive.
    private static let grace = TimeAmount.seconds(2)

    /// - Parameter most: the maximum number of riders remembered at the same time. Beyond it, the rider with the oldest report
    ///   is forgotten.
    init(loop: LoopState, most: Int) { (self.loop, self.most) = (loop, most) }

    /// Guidance for the rider in the response to its report.
    package struct Guidance: Sendable {
        /// The interval at which to report, in seconds; `nil` before the first position.
        package var rate: Double?
        /// The proximity state of each job whose destination is near.
        package var proximities: [(job: JobID, state: ProximityState)] = []
    }

    /// Called when a batch of fixes has been validated.
    ///
    /// - Parameters:
    ///   - jobs: all jobs of the batch, in the order of their stops.
    ///   - accepted: the jobs whose followers are shown a position of the batch.
    ///   - reporter: the device that sent it.
    package func batchValidated(
        _ jobs: [JobID], accepted: [JobID], of rider: PersonID, on reporter: Reporter
    ) -> Guidance {
        func trip(_ job: JobID) -> TripValidators.Key { .init(rider: rider, job: job, reporter: reporter) }
        self.reportReceived(for: jobs, of: rider, on: reporter)
        if !accepted.isEmpty { self.entries[rider]?.reporter = reporter }
        guard let index = self.entries.index(forKey: rider) else { return Guidance() }
        self.entries.values[index].stopSequence.stops = jobs
        for job in accepted { self.entries.values[index].stopSequence.accepted(job) }
        // Reports arrive, but followers are shown no position, so the location may be unavailable.
        for job in jobs where !accepted.contains(job) {
            self.loop.restTrips.reportUnavailability(of: trip(job))
        }
        if !accepted.isEmpty {
            let trips = self.entries.values[index].jobs.map(trip)
            _ = self.entries.values[index].rate.observe(self.loop.restTrips.circumstances(of: trips))
        }
        // Included in every response, because the previous response may have been lost.
        let proximities = accepted.compactMap { job in
            self.loop.restTrips.proximity(of: trip(job)).map { (job: job, state: $0) }
        }
        return Guidance(rate: self.entries.values[index].rate.interval, proximities: proximities)
    }

    /// Redis accepted a position.
    package func published(_ fix: Fix, of job: JobID, by rider: PersonID, on reporter: Reporter, receivedAt: Int64) {
        // Otherwise, an entry without a timer would remain if the rest of the request fails.
        self.reportReceived(for: [job], of: rider, on: reporter)
        self.entries[rider]?.reporter = reporter
        self.entries[rider]?.published.remember(fix, of: job, receivedAt: receivedAt)
    }

    /// Travel mode was switched off, by whichever device.
    package func stopped(_ job: JobID, of rider: PersonID) {
        self.loop.restTrips.restart(job, of: rider)
        self.entries[rider]?.published.forget(job)
    }

    /// A new master of the live instance may lack positions that the previous one accepted.
    func republish() {
        for rider in Array(self.entries.keys) {
            for (job, taken) in self.entries[rider]?.published.recent(now: WallClock.nowMilliseconds) ?? [:] {
                self.loop.republish(taken, of: job, by: rider, on: self.entries[rider]?.reporter ?? .requests)
            }
        }
    }

    /// The phone reports why it has no location for a job that is assigned to this rider.
    ///
    /// - Parameter reporter: the device that reports it.
    /// - Returns: the same as `TripValidators.reported`.
    package func reported(
        _ reason: UnavailableReason, for job: JobID, of rider: PersonID, on reporter: Reporter
    ) -> EventLoopFuture<Refused?> {
        self.reportReceived(for: [job], of: rider, on: reporter)
        let trip = TripValidators.Key(rider: rider, job: job, reporter: reporter)
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        // Read from Redis each time, because another gateway may have published a position or another reason since.
        return self.loop.restTrips.read(trip, again: true).flatMap {
            bound.value.loop.restTrips.reported(reason, trip, isAssigned: true)
        }.map { refused in
            if refused == nil {
                bound.value.entries[rider]?.reporter = reporter
            } else {
                bound.value.loop.restTrips.restart(trip)
            }
            return refused
        }
    }

    // MARK: silence

    private func reportReceived(for jobs: [JobID], of rider: PersonID, on reporter: Reporter) {
        let now = NIODeadline.now()
        var entry = self.entries[rider] ?? self.newEntry(on: reporter)
        entry.jobs = Array((jobs + entry.jobs.filter { !jobs.contains($0) }).prefix(LocationReport.maxJobs))
        entry.lastReportAt = now
        let end = now + .milliseconds(self.loop.settings.freshness.milliseconds) + Self.grace
        if let silence = entry.silence {
            self.loop.deadlines.move(silence, to: end)
        } else {
            entry.silence = self.loop.deadlines.at(end) { [weak self] in self?.becameSilent(rider) }
        }
        self.entries[rider] = entry
    }

    private func newEntry(on reporter: Reporter) -> Entry {
        if self.entries.count >= self.most, let oldest = self.oldest.next(in: self.entries, by: \.lastReportAt) {
            self.entries.removeValue(forKey: oldest)?.silence?.cancel()
        }
        return Entry(stopSequence: StopSequence(store: self.loop.stopSequences), reporter: reporter)
    }

    private func becameSilent(_ rider: PersonID) {
        guard let entry = self.entries.removeValue(forKey: rider) else { return }
        for job in entry.jobs {
            self.loop.restTrips.becameSilent(.init(rider: rider, job: job, reporter: entry.reporter))
        }
    }
}

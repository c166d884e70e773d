// Riders who report by requests: they are told what a session's rider is told (RiderGuidance, StopSequence), in the answers to
// their requests. No end of a session says that one of them is gone, so its silence does: when nothing came for so long that
// what is shown is old, and nobody else has shown anything, its connection is gone.

package import EnrouteWire
internal import HTTPValues
internal import LiveState
package import NIOCore
internal import Tracking
internal import TrafficControl

/// The riders whose reports come in on one loop by requests. Confined to it.
package final class RESTReporters {
    private struct Entry {
        var rate = ReportRate()
        let stopSequence: StopSequence
        var published = PublishedPositions(most: LocationReport.mostJobs)
        /// Those it told of last, at most `LocationReport.mostJobs`.
        var jobs: [JobID] = []
        var lastReportAt = NIODeadline.now()
        /// When it counts as silent; later with each report.
        var silence: Deadline?
    }

    private unowned let loop: LoopState
    private let most: Int
    private var entries: [PersonID: Entry] = [:]

    /// What a report may be late beyond the age at which a position is old.
    private static let grace = TimeAmount.seconds(2)

    /// - Parameter most: riders that are known at once; of more the one heard longest ago is forgotten.
    init(loop: LoopState, most: Int) { (self.loop, self.most) = (loop, most) }

    /// What an answer tells the rider of itself.
    package struct Guidance: Sendable {
        /// It is to report every so many s; `nil` before its first position.
        package var rate: Double?
        /// What its place suggests, of the jobs whose destination it is near.
        package var proximities: [(job: JobID, state: ProximityState)] = []
    }

    /// A batch was judged.
    ///
    /// - Parameters:
    ///   - jobs: all that it was for, in the order of their stops.
    ///   - accepted: those of them whose followers are shown it.
    package func batchValidated(_ jobs: [JobID], accepted: [JobID], of rider: PersonID) -> Guidance {
        self.reportReceived(for: jobs, of: rider)
        guard let index = self.entries.index(forKey: rider) else { return Guidance() }
        self.entries.values[index].stopSequence.stops = jobs
        for job in accepted { self.entries.values[index].stopSequence.accepted(job) }
        // Reports come, and nobody is shown one: that is a silence too.
        for job in jobs where !accepted.contains(job) {
            self.loop.restTrips.reportUnavailability(of: self.trip(job, rider))
        }
        if !accepted.isEmpty {
            let trips = self.entries.values[index].jobs.map { self.trip($0, rider) }
            _ = self.entries.values[index].rate.observe(self.loop.restTrips.circumstances(of: trips))
        }
        // Each time, since the answer before this one may have been lost.
        let proximities = accepted.compactMap { job in
            self.loop.restTrips.proximity(of: self.trip(job, rider)).map { (job: job, state: $0) }
        }
        return Guidance(rate: self.entries.values[index].rate.interval, proximities: proximities)
    }

    /// Redis took a position.
    package func published(_ fix: Fix, of job: JobID, by rider: PersonID, receivedAt: Int64) {
        var entry = self.entries[rider] ?? self.newEntry()
        entry.published.remember(fix, of: job, receivedAt: receivedAt)
        self.entries[rider] = entry
    }

    /// Travel mode was switched off.
    package func stopped(_ job: JobID, of rider: PersonID) { self.entries[rider]?.published.forget(job) }

    /// Another master of the live instance may lack what the last one took.
    func republish() {
        for rider in Array(self.entries.keys) {
            for (job, taken) in self.entries[rider]?.published.recent(now: .now) ?? [:] {
                self.loop.republish(taken, of: job, by: rider)
            }
        }
    }

    /// The phone says why it has no position for a job, which is this rider's.
    ///
    /// - Returns: as `TripValidators.reported`.
    package func reported(_ reason: UnavailableReason, for job: JobID, of rider: PersonID) -> EventLoopFuture<Bool> {
        self.reportReceived(for: [job], of: rider)
        return self.loop.restTrips.reported(reason, self.trip(job, rider), isAssigned: true)
    }

    private func trip(_ job: JobID, _ rider: PersonID) -> TripValidators.Key { .init(rider: rider, job: job) }

    // MARK: silence

    private func reportReceived(for jobs: [JobID], of rider: PersonID) {
        let now = NIODeadline.now()
        var entry = self.entries[rider] ?? self.newEntry()
        entry.jobs = Array((jobs + entry.jobs.filter { !jobs.contains($0) }).prefix(LocationReport.mostJobs))
        entry.lastReportAt = now
        let end = now + .milliseconds(self.loop.settings.freshness.milliseconds) + Self.grace
        if let silence = entry.silence {
            self.loop.deadlines.move(silence, to: end)
        } else {
            entry.silence = self.loop.deadlines.at(end) { [weak self] in self?.becameSilent(rider) }
        }
        self.entries[rider] = entry
    }

    private func newEntry() -> Entry {
        if self.entries.count >= self.most,
            let oldest = self.entries.min(by: { $0.value.lastReportAt < $1.value.lastReportAt })
        {
            self.entries.removeValue(forKey: oldest.key)?.silence?.cancel()
        }
        return Entry(stopSequence: StopSequence(store: self.loop.stopSequences))
    }

    private func becameSilent(_ rider: PersonID) {
        guard let entry = self.entries.removeValue(forKey: rider) else { return }
        for job in entry.jobs { self.loop.restTrips.becameSilent(self.trip(job, rider)) }
    }
}

// What Redis stores about one rider, read for an explanation.

package import EnrouteWire
internal import Redis

/// The facts about one rider at one moment.
package struct RiderFacts: Sendable {
    package var rider: PersonID
    /// ms since the epoch, by the clock of Redis if at least one instance answers.
    package var now: Int64
    package var zone: Reading<ZoneID> = .absent
    package var record: Reading<RiderRecord> = .absent
    /// When the next presence check is due, ms since the epoch; infinite for an unreachable rider with a task.
    package var nextCheck: Reading<Double> = .absent
    package var isInPool: Reading<Bool> = .absent
    /// Whether the open jobs from before the rider entered the zone become tasks only when the rider goes online there.
    package var isJoining: Reading<Bool> = .absent
    /// The newest of the rider's jobs, at most `maxJobs`; read while `isJoining`.
    package var listed: Reading<[JobID]> = .absent
    /// The jobs of the rider's tasks, and jobs without a task; at most `maxJobs`.
    package var jobs: [TaskFacts] = []
    /// The latest changes of the rider, newest first.
    package var changes: Reading<[AuditStreams.StoredEntry]> = .absent
    /// Jobs that the rider's sessions follow, and the gateways that the rider is connected to.
    package var watching = WatchingFacts()
    package var revocations = RevocationFacts()
    package var ledgerKeys = KeyFacts()

    /// Maximum number of jobs that are read.
    package static let maxJobs = 20

    package init(rider: PersonID, now: Int64) { (self.rider, self.now) = (rider, now) }

    /// One task of the rider.
    package struct TaskFacts: Sendable {
        package var job: JobID
        package var state: TaskState?
        package var record: Reading<JobRecord>
        package var travel: Reading<JobFeed.Travel>

        package init(job: JobID, state: TaskState?, record: Reading<JobRecord>, travel: Reading<JobFeed.Travel>) {
            (self.job, self.state, self.record, self.travel) = (job, state, record, travel)
        }
    }

    /// All keys whose content is malformed.
    package var malformed: [MalformedKey] {
        MalformedKey.list(
            ledger: [
                self.zone.malformedKey, self.record.malformedKey, self.nextCheck.malformedKey,
                self.isInPool.malformedKey, self.isJoining.malformedKey, self.listed.malformedKey,
                self.changes.malformedKey, self.revocations.malformedKey,
                self.watching.sessions.malformedKey,
            ] + self.jobs.map { $0.record.malformedKey },
            live: self.jobs.map { $0.travel.malformedKey } + self.watching.malformedKeys)
    }

    /// Why facts are missing.
    package var failures: [RoleFailure] {
        RoleFailure.list(
            ledger: [
                self.zone.error, self.record.error, self.nextCheck.error, self.isInPool.error, self.isJoining.error,
                self.listed.error, self.changes.error, self.revocations.error, self.watching.sessions.error,
                self.ledgerKeys.error,
            ] + self.jobs.map { $0.record.error },
            live: self.jobs.map { $0.travel.error } + self.watching.errorsOfGateways)
    }
}

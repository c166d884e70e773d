// Reports that cannot be judged yet: what followers have been shown of their job is being read. Of each job the newest few
// wait, and of no more jobs than a rider may follow.

internal import EnrouteWire

/// The reports of one rider that wait to be judged. A value.
struct UnvalidatedReports: Sendable {
    enum Outcome: Hashable, Sendable {
        /// It is the first of its job: read what followers have been shown.
        case read
        case waits
        /// The oldest of its job is given up for it.
        case replaces
        /// Reports of too many jobs wait: it was not added.
        case tooMany
    }

    private var waiting: [JobID: [LocationReport]] = [:]
    let mostJobs: Int

    /// Reports of a job that wait to be judged, at most: a few milliseconds' worth.
    static let maxPerJob = 16

    init(mostJobs: Int) { self.mostJobs = mostJobs }

    mutating func add(_ report: LocationReport) -> Outcome {
        guard let waiting = self.waiting[report.job] else {
            guard self.waiting.count < self.mostJobs else { return .tooMany }
            self.waiting[report.job] = [report]
            return .read
        }
        self.waiting[report.job] = waiting.suffix(Self.maxPerJob - 1) + [report]
        return waiting.count < Self.maxPerJob ? .waits : .replaces
    }

    /// What waits of a job, in the order in which it came.
    mutating func take(_ job: JobID) -> [LocationReport] { self.waiting.removeValue(forKey: job) ?? [] }
}

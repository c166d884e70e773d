// Reports that cannot be validated yet, because what followers of their job have been shown is still being read. Only
// the newest reports per job are buffered, and only for as many jobs as a rider may follow.

internal import EnrouteWire

/// The reports of one rider that wait for validation. A value.
struct UnvalidatedReports: Sendable {
    enum Outcome: Hashable, Sendable {
        /// This is the first report of its job: read what followers have been shown.
        case read
        case waits
        /// The oldest report of the job was dropped for this one.
        case replaces
        /// Reports of too many jobs are waiting, so this one was not added.
        case tooMany
    }

    private var waiting: [JobID: [LocationReport]] = [:]
    let maxJobs: Int

    /// The maximum number of waiting reports per job, enough for a few milliseconds.
    static let maxPerJob = 16

    init(maxJobs: Int) { self.maxJobs = maxJobs }

    mutating func add(_ report: LocationReport) -> Outcome {
        guard let waiting = self.waiting[report.job] else {
            guard self.waiting.count < self.maxJobs else { return .tooMany }
            self.waiting[report.job] = [report]
            return .read
        }
        self.waiting[report.job] = waiting.suffix(Self.maxPerJob - 1) + [report]
        return waiting.count < Self.maxPerJob ? .waits : .replaces
    }

    /// Removes and returns the waiting reports of a job in the order they arrived.
    mutating func take(_ job: JobID) -> [LocationReport] { self.waiting.removeValue(forKey: job) ?? [] }
}

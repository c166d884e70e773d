// What a watcher of a zone's jobs still has to receive: the rest of the list, or the jobs that have changed since. A
// job waits at most once, however often it changes, and its state at the time of sending is sent. A slow reader
// therefore gets fewer messages, not older ones.

internal import EnrouteWire
internal import Jobs

/// The open jobs of a zone on one event loop.
struct ZoneJobsTable {
    private(set) var rows: [JobID: JobRow]
    /// Sorted by id; `nil` after jobs were added or removed.
    private var sorted: [JobID]?

    init(_ rows: [JobID: JobRow]) { self.rows = rows }

    mutating func apply(_ changes: ZoneRows.Changes) {
        for job in changes.gone where self.rows.removeValue(forKey: job) != nil { self.sorted = nil }
        for row in changes.rows where self.rows.updateValue(row, forKey: row.job) == nil { self.sorted = nil }
    }

    /// The jobs after `last`, or from the first one, at most `most`.
    mutating func jobs(after last: JobID?, most: Int) -> ArraySlice<JobID> {
        let all = self.sorted ?? self.rows.keys.sorted { $0.text < $1.text }
        self.sorted = all
        guard let last else { return all.prefix(most) }
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].text <= last.text { low = middle + 1 } else { high = middle }
        }
        return all[low...].prefix(most)
    }
}

/// What one watcher has received of a `ZoneJobsTable`, and what it needs next.
struct ZoneJobsBacklog {
    private enum Phase {
        /// The list, from the beginning.
        case start
        /// The list, after this job.
        case list(after: JobID)
        case changes
    }

    private var phase = Phase.start
    /// Jobs that have changed since the watcher received them, in the order of their first change.
    private var waiting: [JobID] = []
    private var isWaiting: Set<JobID> = []

    /// Jobs in one message: about 35 KB.
    static let pageSize = 100
    /// Maximum number of jobs that wait. Beyond it, the list is sent again from the beginning.
    static let maxWaiting = 2_000

    /// Notes that jobs have changed.
    ///
    /// - Returns: `false` if too many are waiting, and the list starts again.
    mutating func note(_ changes: ZoneRows.Changes) -> Bool {
        for job in changes.gone { self.note(job) }
        for row in changes.rows { self.note(row.job) }
        guard self.waiting.count > Self.maxWaiting else { return true }
        self = ZoneJobsBacklog()
        return false
    }

    private mutating func note(_ job: JobID) {
        switch self.phase {
        // The list will contain the job's state at that time.
        case .start: return
        case .list(let last) where job.text > last.text: return
        default: if self.isWaiting.insert(job).inserted { self.waiting.append(job) }
        }
    }

    /// The next message; `nil` if the watcher has received everything.
    mutating func next(of zone: ZoneID, _ table: inout ZoneJobsTable) -> ZoneJobsView? {
        var view = ZoneJobsView(zone: zone, count: table.rows.count)
        let jobs: ArraySlice<JobID>
        switch self.phase {
        case .changes:
            guard !self.waiting.isEmpty else { return nil }
            jobs = self.waiting.prefix(Self.pageSize)
            self.waiting.removeFirst(jobs.count)
            self.isWaiting.subtract(jobs)
        case .start, .list:
            var last: JobID?
            if case .list(let after) = self.phase { last = after }
            // One more, to find out whether this message is the last one.
            let rest = table.jobs(after: last, most: Self.pageSize + 1)
            jobs = rest.prefix(Self.pageSize)
            view.isReset = last == nil
            view.hasMore = rest.count > jobs.count
            self.phase = if view.hasMore, let after = jobs.last { .list(after: after) } else { .changes }
        }
        for job in jobs {
            if let row = table.rows[job] { view.jobs.append(row) } else { view.gone.append(job) }
        }
        return view
    }
}

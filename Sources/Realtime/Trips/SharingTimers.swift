// The timers that notify a rider of their sharing time limits. A rider may switch travel mode on for many jobs in one
// session, and a job may end without the session learning of it. The number of timers is therefore limited.

internal import EnrouteWire

/// One timer per job for which a session switched travel mode on. A value; its owner cancels the timers it returns.
struct SharingTimers<Timer> {
    private var timers: [JobID: (deadline: Int64, timer: Timer)] = [:]
    let maxJobs: Int

    /// - Parameter maxJobs: the maximum number of timers. Beyond it, the timer that is due first is dropped, because
    ///   its job has most likely ended. If it has not, the job's next report is refused, which notifies the rider.
    init(maxJobs: Int) { self.maxJobs = max(1, maxJobs) }

    var count: Int { self.timers.count }

    /// - Parameter deadline: ms since the epoch.
    /// - Returns: a timer to cancel: the previous one of the job, or the one dropped for it.
    mutating func set(_ timer: Timer, for job: JobID, at deadline: Int64) -> Timer? {
        var cancelled = self.remove(job)
        if self.timers.count >= self.maxJobs, let first = self.timers.min(by: { $0.value.deadline < $1.value.deadline })
        {
            cancelled = self.remove(first.key)
        }
        self.timers[job] = (deadline, timer)
        return cancelled
    }

    /// - Returns: the timer to cancel.
    mutating func remove(_ job: JobID) -> Timer? { self.timers.removeValue(forKey: job)?.timer }

    /// - Returns: the timers to cancel.
    mutating func removeAll() -> [Timer] {
        defer { self.timers = [:] }
        return self.timers.values.map(\.timer)
    }
}

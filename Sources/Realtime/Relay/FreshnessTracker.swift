// When a followed job's last position is old: counted by this machine's monotonic clock from when the position came
// here, so that all followers of a loop are told at the same time, and no clock of a phone, of Redis or of a browser
// matters.

internal import EnrouteWire
internal import LiveState
internal import NIOCore
internal import TrafficControl

/// How old the last positions of the jobs are that one loop follows. Confined to it.
final class FreshnessTracker {
    private struct Entry {
        var shownAt: NIODeadline
        /// Set while it is not old.
        var deadline: Deadline?
    }

    private let deadlines: Deadlines
    private let freshness: TimeAmount
    private let clock: () -> NIODeadline
    private var entries: [JobID: Entry] = [:]

    /// A job's position has become old.
    var onStale: (JobID) -> Void = { _ in }

    /// - Parameter freshness: a position is old when it came longer ago.
    init(
        deadlines: Deadlines, freshness: Duration, clock: @escaping () -> NIODeadline = { .now() }
    ) {
        self.clock = clock
        self.deadlines = deadlines
        self.freshness = .milliseconds(freshness.milliseconds)
    }

    /// A position came. Cost: one look-up; a deadline that stands is moved when it happens, not here.
    ///
    /// - Parameter age: when it was read, not heard: how long ago it was published.
    func positionReceived(_ job: JobID, age: TimeAmount = .zero) {
        let now = self.clock()
        let shownAt = now - age
        guard let index = self.entries.index(forKey: job) else {
            self.entries[job] = Entry(shownAt: shownAt)
            return self.scheduleStale(job, now)
        }
        guard shownAt > self.entries.values[index].shownAt else { return }
        self.entries.values[index].shownAt = shownAt
        if self.entries.values[index].deadline == nil { self.scheduleStale(job, now) }
    }

    /// Nothing is shown of it any more.
    func forget(_ job: JobID) { self.entries.removeValue(forKey: job)?.deadline?.cancel() }

    /// `live` or `stale`; `nil` when no position came.
    func state(of job: JobID) -> TrackingState? {
        guard let entry = self.entries[job] else { return nil }
        return entry.deadline == nil ? .stale : .live
    }

    private func scheduleStale(_ job: JobID, _ now: NIODeadline) {
        guard let entry = self.entries[job] else { return }
        let left = entry.shownAt + self.freshness - now
        guard left > .zero else {
            self.entries[job]?.deadline = nil
            return
        }
        self.entries[job]?.deadline = self.deadlines.at(now + left) { [weak self] in
            guard let self else { return }
            self.scheduleStale(job, self.clock())
            if self.entries[job]?.deadline == nil, self.entries[job] != nil { self.onStale(job) }
        }
    }
}

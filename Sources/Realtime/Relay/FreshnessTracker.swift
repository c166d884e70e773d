// Decides when the last position of a followed job becomes stale. The age is measured with this machine's monotonic
// clock, from the arrival of the position. Therefore all followers on a loop are notified at the same time, and the
// clocks of phones, Redis and browsers do not matter.

internal import EnrouteWire
internal import LiveState
internal import NIOCore
internal import TrafficControl

/// The age of the last position of each job followed on one loop. Confined to it.
final class FreshnessTracker {
    private struct Entry {
        var shownAt: NIODeadline
        /// Set while the position is fresh.
        var deadline: Deadline?
    }

    private let deadlines: Deadlines
    private let freshness: TimeAmount
    private let clock: () -> NIODeadline
    private var entries: [JobID: Entry] = [:]

    /// Called when a job's position becomes stale.
    var onStale: (JobID) -> Void = { _ in }

    /// - Parameter freshness: a position older than this is stale.
    init(
        deadlines: Deadlines, freshness: Duration, clock: @escaping () -> NIODeadline = { .now() }
    ) {
        self.clock = clock
        self.deadlines = deadlines
        self.freshness = .milliseconds(freshness.milliseconds)
    }

    /// Records that a position arrived. Costs one lookup: if there already is a deadline, it is moved when it fires,
    /// not here.
    ///
    /// - Parameter age: how long ago the position was published, if it was read rather than received.
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

    /// Positions of this job are no longer shown.
    func forget(_ job: JobID) { self.entries.removeValue(forKey: job)?.deadline?.cancel() }

    /// `live` or `stale`; `nil` if no position has arrived.
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

// One watcher's view of a zone's pool, from asking to leaving: what comes before the first view waits, what the view
// already says is passed over, and each change names the one before it, so that a gap shows. The view can be the pool
// itself or what changed since a version; for the order both are the same: everything up to its version is known.

/// What a watcher has seen of a zone.
package struct PoolSyncState: Sendable {
    /// One change: its version grows, and names that of the change before it.
    package struct Change: Sendable {
        package let version: Int64
        package let previous: Int64
        package let frame: [UInt8]

        package init(version: Int64, previous: Int64, frame: [UInt8]) {
            self.version = version
            self.previous = previous
            self.frame = frame
        }
    }

    private enum Phase {
        /// The view is not here yet; `waiting` is what came meanwhile.
        case waiting
        /// The same, but more came than is kept: it has to be read again.
        case waitingForNewSnapshot
        case live
    }

    private var phase = Phase.waiting
    private var waiting: [Change] = []
    /// The newest version that was shown; of who has just come, the one it says that it has seen.
    package private(set) var seen: Int64?
    /// It was unsynchronised: only a view that was asked for since then will do, the one that is read for all.
    package private(set) var needsResync = false

    /// Changes that wait for the view, at most; with more the zone is read again.
    package static let mostWaiting = 1_000

    package init(since version: Int64?) { self.seen = version }

    package var isLive: Bool { if case .live = self.phase { true } else { false } }

    package enum Verdict: Hashable, Sendable {
        case show
        /// It was seen, or waits for the view.
        case skip
        /// Something is missing before it: read the zone again.
        case gap
    }

    package mutating func change(_ change: Change) -> Verdict {
        switch self.phase {
        case .live:
            guard let seen, change.version > seen else { return .skip }
            guard change.previous == seen else { return .gap }
            self.seen = change.version
            return .show
        case .waiting:
            guard self.waiting.count < Self.mostWaiting else {
                self.phase = .waitingForNewSnapshot
                self.waiting = []
                return .gap
            }
            self.waiting.append(change)
            return .skip
        case .waitingForNewSnapshot: return .skip
        }
    }

    /// The view is here: it includes everything up to `version`. It was read from the master after everything shown
    /// so far, so it is believed even where it goes back.
    ///
    /// - Returns: frames of what waited and is newer, in order; `nil` when something is missing between the two, or
    ///   was not kept: nothing of it may be shown, read the zone again.
    package mutating func view(at version: Int64) -> [[UInt8]]? {
        guard !self.isLive else { return [] }
        let (isWhole, waited) = (self.phase == .waiting, self.waiting)
        self.phase = .live
        self.waiting = []
        self.needsResync = false
        self.seen = version
        guard isWhole else { return nil }
        var (newest, frames) = (version, [[UInt8]]())
        for change in waited where change.version > newest {
            guard change.previous == newest else { return nil }
            newest = change.version
            frames.append(change.frame)
        }
        self.seen = newest
        return frames
    }

    /// Something may have been missed: from now on wait for a new view.
    package mutating func invalidate() {
        self.phase = .waiting
        self.waiting = []
        self.needsResync = true
    }
}

/// Whether watchers have seen what is. A zone may change all the time, so what a look finds and they have not seen
/// may be on its way: it is expected, and the next look asks whether it has come.
package struct PoolConsistencyCheck: Sendable {
    private var expected: Int64?

    package init() {}

    /// - Parameters:
    ///   - asked: the version since which was asked.
    ///   - version: the newest that Redis knows.
    ///   - isKnown: the log holds `asked`.
    ///   - seen: the oldest that a watcher has seen, now that the answer is here.
    /// - Returns: whether nothing is missing; `false` once may mean that it is on its way, twice that it was lost.
    package mutating func agrees(asked: Int64, version: Int64, isKnown: Bool, seen: Int64) -> Bool {
        // Another master, which has not heard of what was shown.
        if !isKnown, version < asked { return false }
        if let expected {
            self.expected = nil
            return seen >= expected
        }
        guard seen < version else { return true }
        self.expected = version
        return false
    }
}

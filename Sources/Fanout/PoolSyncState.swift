// What one watcher has seen of a zone's rider pool, from its subscription to its end. Changes that arrive before the
// first view are buffered, changes that the view already contains are skipped, and each change contains the version of
// the one before it, which reveals gaps. A view is either the whole pool or the changes since a version. Both include
// everything up to its version.

/// What a watcher has seen of a zone's pool.
package struct PoolSyncState: Sendable {
    /// One change. A later change has a greater version; `previous` is the version of the change before.
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
        /// Waits for the view. `waiting` contains the changes that arrived in the meantime.
        case waiting
        /// Waits for the view, but more changes arrived than can be buffered. Another view is needed.
        case waitingForNewSnapshot
        case live
    }

    private var phase = Phase.waiting
    private var waiting: [Change] = []
    /// The newest version that was sent. For a new watcher, the version it says it has seen.
    package private(set) var seen: Int64?
    /// Whether the watcher was invalidated. It then needs a view that was requested afterwards: the one that is read
    /// for all watchers.
    package private(set) var needsResync = false

    /// The maximum number of changes buffered while waiting for the view. With more, the zone is read again.
    package static let maxWaiting = 1_000

    package init(since version: Int64?) { self.seen = version }

    package var isLive: Bool { if case .live = self.phase { true } else { false } }

    package enum Verdict: Hashable, Sendable {
        case show
        /// The watcher has seen it, or it is buffered until the view.
        case skip
        /// A change before this one is missing: read the zone again.
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
            guard self.waiting.count < Self.maxWaiting else {
                self.phase = .waitingForNewSnapshot
                self.waiting = []
                return .gap
            }
            self.waiting.append(change)
            return .skip
        case .waitingForNewSnapshot: return .skip
        }
    }

    /// Accepts the view, which includes everything up to `version`. It was read from the master after everything that
    /// was sent so far, so it is accepted even if it is older.
    ///
    /// - Returns: the frames of buffered changes that are newer, in order; `nil` when a change is missing between the
    ///   view and the buffered ones. Then send nothing and read the zone again.
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

    /// Discards the state, because changes may have been missed. The watcher waits for a new view.
    package mutating func invalidate() {
        self.phase = .waiting
        self.waiting = []
        self.needsResync = true
    }
}

/// Checks whether watchers have seen all changes of a zone. A zone may change all the time, so a change that Redis has
/// and the watchers have not may still be on its way. The first check notes it, and the next one decides whether it was
/// lost.
package struct PoolConsistencyCheck: Sendable {
    private var expected: Int64?

    package init() {}

    /// - Parameters:
    ///   - asked: the version from which the check read.
    ///   - version: the newest version in Redis.
    ///   - isKnown: whether the log contains `asked`.
    ///   - seen: the oldest version that a watcher has seen when the reply arrives.
    /// - Returns: whether nothing is missing. `false` once may mean that a change is on its way; `false` twice that it
    ///   was lost.
    package mutating func agrees(asked: Int64, version: Int64, isKnown: Bool, seen: Int64) -> Bool {
        // A new master, which lacks changes that were sent.
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

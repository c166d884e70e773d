// One follower's view of one job, from asking to leaving: what arrives before the snapshot waits, what the snapshot
// already says is passed over, and what comes twice is shown once. Positions are ordered by their id; statuses by theirs,
// and each names the one before it, so that a gap shows.
//
// Generic, and called once per follower and message from another module. Swift makes a copy for the caller's types only
// where it is `@inlinable public`; a `package` one goes through runtime metadata (decisions/public-generics.md).

/// What a follower has seen of a job. `StatusID` grows with every status event.
public struct FollowerSyncState<StatusID: Comparable> {
    @usableFromInline enum Phase {
        /// The snapshot is not here yet. The newest position and all statuses that came meanwhile.
        case waiting(position: (id: UInt64, frame: [UInt8])?, statuses: [Status])
        /// The same, but what came can not be put in order with the snapshot: it has to be read again.
        case waitingForNewSnapshot
        case live
    }

    public struct Status {
        public let id: StatusID
        public let previous: StatusID?
        public let epoch: String
        public let frame: [UInt8]

        @inlinable
        public init(id: StatusID, previous: StatusID?, epoch: String, frame: [UInt8]) {
            self.id = id
            self.previous = previous
            self.epoch = epoch
            self.frame = frame
        }
    }

    @usableFromInline var phase = Phase.waiting(position: nil, statuses: [])
    @usableFromInline var lastPosition: UInt64 = 0
    @usableFromInline var lastStatus: StatusID?
    @usableFromInline var epoch = ""
    /// It was unsynchronised: only a view that was asked for since then will do, which is the one read for all followers
    /// of the job. Who has just come waits for a view of its own instead: that of a repair may have been asked for before
    /// it came, and what was published in between it has not heard.
    @inlinable
    public var needsResync: Bool { self.isResyncNeeded }
    @usableFromInline var isResyncNeeded = false

    /// Statuses that wait for the snapshot, at most; with more the job is read again.
    @inlinable
    public static var mostWaitingStatuses: Int { 64 }

    @inlinable
    public init() {}

    @inlinable
    public var isLive: Bool { if case .live = self.phase { true } else { false } }
    /// Where it could go on: epoch and id of the last status seen.
    @inlinable
    public var seen: (epoch: String, id: StatusID)? { self.lastStatus.map { (self.epoch, $0) } }

    public typealias StatusVerdict = FollowedStatusVerdict

    /// Whether a position is to be shown now.
    @inlinable
    public mutating func position(_ id: UInt64, _ frame: [UInt8]) -> Bool {
        switch self.phase {
        case .live:
            guard id > self.lastPosition else { return false }
            self.lastPosition = id
            return true
        case .waiting(let position, let statuses):
            if id > position?.id ?? 0 { self.phase = .waiting(position: (id, frame), statuses: statuses) }
            return false
        case .waitingForNewSnapshot: return false
        }
    }

    @inlinable
    public mutating func status(_ status: Status) -> StatusVerdict {
        switch self.phase {
        case .live:
            if status.epoch == self.epoch, let lastStatus, status.id <= lastStatus { return .skip }
            guard status.epoch == self.epoch, status.previous == self.lastStatus else { return .gap }
            self.lastStatus = status.id
            return .show
        case .waiting(let position, let statuses):
            guard statuses.count < Self.mostWaitingStatuses else {
                self.phase = .waitingForNewSnapshot
                return .gap
            }
            self.phase = .waiting(position: position, statuses: statuses + [status])
            return .skip
        // The snapshot is not shown as it is anyway: nobody else has to read the job again for that.
        case .waitingForNewSnapshot: return .skip
        }
    }

    /// The snapshot that is being read cannot be put in order with what came meanwhile.
    @inlinable
    public var needsNewSnapshot: Bool { if case .waitingForNewSnapshot = self.phase { true } else { false } }

    /// Waits for another snapshot, asked for from now on: it includes what came until now.
    @inlinable
    public mutating func restartWaiting() { self.phase = .waiting(position: nil, statuses: []) }

    /// Whether a word on the positions as a whole (they begin, they end) is to be shown now. It has no id, so that only
    /// its place among what comes says what it means: while the snapshot is being read it can not be told which of the
    /// two is the later.
    @inlinable
    public mutating func tracking() -> Bool {
        if self.isLive { return true }
        self.phase = .waitingForNewSnapshot
        return false
    }

    /// Frames that came while the snapshot was read, to be shown after it in this order.
    public struct Buffered: Hashable, Sendable {
        public var statuses: [[UInt8]]
        public var position: [UInt8]?

        @inlinable
        init(statuses: [[UInt8]] = [], position: [UInt8]? = nil) {
            self.statuses = statuses
            self.position = position
        }

        @inlinable
        public var frames: [[UInt8]] { self.statuses + [self.position].compactMap { $0 } }
    }

    /// The snapshot is here: it includes positions up to `position` and statuses up to `status` of `epoch`. It was read
    /// from the master after everything shown so far, so it is believed even where it goes back: then the master is
    /// another one, which had not heard of the rest.
    ///
    /// - Returns: what waited and is newer; `nil` when something is missing between the snapshot and what waited: read the
    ///   job again.
    @inlinable
    public mutating func snapshot(position: UInt64?, epoch: String, status: StatusID) -> Buffered? {
        let before = self.phase
        if case .live = before { return Buffered() }
        self.phase = .live
        self.isResyncNeeded = false
        self.epoch = epoch
        self.lastStatus = status
        self.lastPosition = position ?? 0
        guard case .waiting(let waitingPosition, let statuses) = before else { return nil }
        var frames: [[UInt8]] = []
        for waiting in statuses {
            switch self.status(waiting) {
            case .show: frames.append(waiting.frame)
            case .skip: break
            case .gap: return nil
            }
        }
        guard let waitingPosition, self.position(waitingPosition.id, waitingPosition.frame) else {
            return Buffered(statuses: frames)
        }
        return Buffered(statuses: frames, position: waitingPosition.frame)
    }

    /// Whether what was seen is what is: epoch and newest status of the job. Who waits for a snapshot agrees.
    @inlinable
    public func agrees(epoch: String, status: StatusID) -> Bool {
        guard self.isLive else { return true }
        return epoch == self.epoch && status == self.lastStatus
    }

    /// Something may have been missed: from now on wait for a new snapshot.
    @inlinable
    public mutating func invalidate() {
        self.phase = .waiting(position: nil, statuses: [])
        self.isResyncNeeded = true
    }

    /// The positions begin anew: another rider's, or those after travel mode was off.
    @inlinable
    public mutating func forgetPosition() { self.lastPosition = 0 }
}

/// What becomes of a status for one follower. Not inside `FollowerSyncState`, where comparing two would need its metadata.
public enum FollowedStatusVerdict: Hashable, Sendable {
    case show
    /// It was seen, or waits for the snapshot.
    case skip
    /// Something is missing before it: read the job again.
    case gap
}

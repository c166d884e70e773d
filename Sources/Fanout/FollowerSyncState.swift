// What one follower has seen of one job, from its subscription to its end. Messages that arrive before the snapshot are
// buffered, messages that the snapshot already contains are skipped, and duplicates are sent once. Positions are
// ordered by their id. Statuses are too, and each contains the id of the one before it, which reveals gaps.
//
// This code is generic and runs once per follower and message, called from another module. Swift specializes it for the
// caller's types only if it is `@inlinable public`; `package` code goes through runtime metadata
// (decisions/public-generics.md).

/// What a follower has seen of a job. A later status event has a greater `StatusID`.
public struct FollowerSyncState<StatusID: Comparable> {
    @usableFromInline enum Phase {
        /// Waits for the snapshot. Contains the newest position and all statuses that arrived in the meantime.
        case waiting(position: (id: UInt64, frame: [UInt8])?, statuses: [Status])
        /// Waits for the snapshot, but a message arrived that cannot be ordered relative to it. Another snapshot is
        /// needed.
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
    /// Whether the follower was invalidated. It then needs a snapshot that was requested afterwards: the one that is
    /// read for all followers of the job. A new follower waits for its own snapshot instead. A resync snapshot may have
    /// been requested before the follower subscribed, and would miss messages published in between.
    @inlinable
    public var needsResync: Bool { self.isResyncNeeded }
    @usableFromInline var isResyncNeeded = false

    /// The maximum number of statuses buffered while waiting for the snapshot. With more, the job is read again.
    @inlinable
    public static var maxWaitingStatuses: Int { 64 }

    @inlinable
    public init() {}

    @inlinable
    public var isLive: Bool { if case .live = self.phase { true } else { false } }
    /// Epoch and id of the last status that was sent, from which the follower can resume.
    @inlinable
    public var seen: (epoch: String, id: StatusID)? { self.lastStatus.map { (self.epoch, $0) } }

    public typealias StatusVerdict = FollowedStatusVerdict

    /// Returns whether to send a position now.
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

    /// The id of the newest position that was sent; 0 if none was.
    @inlinable
    public var newestPosition: UInt64 { self.lastPosition }

    /// Whether `position` would send or store a position with this id.
    @inlinable
    public func wants(position id: UInt64) -> Bool {
        if case .live = self.phase { id > self.lastPosition } else { true }
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
            guard statuses.count < Self.maxWaitingStatuses else {
                self.phase = .waitingForNewSnapshot
                return .gap
            }
            self.phase = .waiting(position: position, statuses: statuses + [status])
            return .skip
        // Another snapshot is needed anyway, so this status does not have to cause a read for all followers.
        case .waitingForNewSnapshot: return .skip
        }
    }

    /// Whether the snapshot that is being read cannot be ordered relative to a message that arrived in the meantime.
    @inlinable
    public var needsNewSnapshot: Bool { if case .waitingForNewSnapshot = self.phase { true } else { false } }

    /// Starts waiting for a snapshot that is requested after this call. It includes everything that has arrived so far.
    @inlinable
    public mutating func restartWaiting() { self.phase = .waiting(position: nil, statuses: []) }

    /// Returns whether to send a message that starts or ends positions. Such a message has no id, so only its order
    /// among the other messages gives it meaning. While the snapshot is being read, it is unknown which of the two is
    /// later.
    @inlinable
    public mutating func tracking() -> Bool {
        if self.isLive { return true }
        self.phase = .waitingForNewSnapshot
        return false
    }

    /// Frames that arrived while the snapshot was read, to be sent after it in this order.
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

    /// Accepts the snapshot, which includes positions up to `position` and statuses up to `status` of `epoch`. It was
    /// read from the master after everything that was sent so far, so it is accepted even if it is older: then a
    /// failover lost the rest.
    ///
    /// - Returns: the buffered frames that are newer; `nil` when a message is missing between the snapshot and the
    ///   buffered ones, so the job must be read again.
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

    /// Returns whether the follower has seen the job's newest status; always true while it waits for a snapshot.
    @inlinable
    public func agrees(epoch: String, status: StatusID) -> Bool {
        guard self.isLive else { return true }
        return epoch == self.epoch && status == self.lastStatus
    }

    /// Discards the state, because messages may have been missed. The follower waits for a new snapshot.
    @inlinable
    public mutating func invalidate() {
        self.phase = .waiting(position: nil, statuses: [])
        self.isResyncNeeded = true
    }

    /// Accepts positions with smaller ids again: for another rider, or after travel mode was off.
    @inlinable
    public mutating func forgetPosition() { self.lastPosition = 0 }
}

/// What to do with a status for one follower. Not nested in `FollowerSyncState`, because comparing two nested values
/// would need the metadata of the generic type.
public enum FollowedStatusVerdict: Hashable, Sendable {
    case show
    /// The follower has seen it, or it is buffered until the snapshot.
    case skip
    /// A status before this one is missing: read the job again.
    case gap
}

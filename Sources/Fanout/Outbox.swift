// The outgoing queue of one socket. Positions are conflated: a new one replaces an unsent one of the same topic. All
// other messages keep their order and are never dropped. When they exceed the limit, the connection has to be closed.
//
// This code is generic and runs once per follower and message, called from another module. Swift specializes it for the
// caller's types only if it is `@inlinable public`; `package` code goes through runtime metadata
// (decisions/public-generics.md).

/// The frames queued for one socket.
public struct Outbox<Topic: Hashable> {
    /// How a queued frame is treated.
    public enum Kind {
        /// A newer frame of the same topic replaces it.
        case conflated(Topic)
        case ordered
    }

    public typealias Outcome = QueueingOutcome

    @usableFromInline struct Waiting {
        @usableFromInline var topic: Topic?
        /// Empty once a newer frame has replaced it.
        @usableFromInline var frame: [UInt8]
        @usableFromInline var receivedAt: Int64

        @inlinable
        init(topic: Topic?, frame: [UInt8], receivedAt: Int64) {
            self.topic = topic
            self.frame = frame
            self.receivedAt = receivedAt
        }
    }

    @usableFromInline var waiting: [Waiting] = []
    /// Index of the first frame that has not been removed.
    @usableFromInline var first = 0
    @usableFromInline var places: [Topic: Int] = [:]
    /// The number of queued frames: the entries of `waiting` that are not empty.
    @usableFromInline var count = 0
    /// Bytes of all queued frames.
    @inlinable
    public var bytes: Int { self.waitingBytes }
    @usableFromInline var waitingBytes = 0
    @inlinable
    public var maxBytes: Int { self.bound }
    @usableFromInline var bound: Int

    /// - Parameter maxBytes: the maximum number of queued bytes. A frame that would exceed it overflows.
    @inlinable
    public init(maxBytes: Int) { self.bound = maxBytes }

    @inlinable
    public var isEmpty: Bool { self.bytes == 0 }

    /// Raises the maximum number of queued bytes. Never lowers it.
    @inlinable
    public mutating func widen(to bytes: Int) { self.bound = max(self.bound, bytes) }

    /// Queues a frame.
    ///
    /// - Parameter receivedAt: when a gateway received its content, ms since the epoch; 0 if that is not measured.
    @inlinable
    public mutating func add(_ frame: [UInt8], _ kind: Kind, receivedAt: Int64 = 0) -> Outcome {
        switch kind {
        case .ordered:
            guard self.bytes + frame.count <= self.maxBytes else { return .overflow }
            self.append(Waiting(topic: nil, frame: frame, receivedAt: receivedAt))
            return .queued
        case .conflated(let topic):
            let place = self.places[topic]
            let freed = place.map { self.waiting[$0].frame.count } ?? 0
            guard self.bytes - freed + frame.count <= self.maxBytes else { return .overflow }
            // The new frame goes to the end, after the messages that were queued since the old one.
            if let place { self.empty(place) }
            self.append(Waiting(topic: topic, frame: frame, receivedAt: receivedAt))
            return place == nil ? .queued : .replaced
        }
    }

    /// Removes and returns the oldest frame.
    @inlinable
    public mutating func removeFirst(ifAllowed isAllowed: (Topic) -> Bool = { _ in true }) -> [UInt8]? {
        self.removeFirstWithTime(ifAllowed: isAllowed)?.frame
    }

    /// Removes and returns the oldest frame, and when a gateway received its content: ms since the epoch, or 0.
    ///
    /// - Parameter isAllowed: whether a position of this topic may still be sent. If not, the position is dropped.
    @inlinable
    public mutating func removeFirstWithTime(
        ifAllowed isAllowed: (Topic) -> Bool = { _ in true }
    ) -> (frame: [UInt8], receivedAt: Int64)? {
        while self.first < self.waiting.count {
            let next = self.waiting[self.first]
            self.first += 1
            guard !next.frame.isEmpty else { continue }
            self.empty(self.first - 1)
            if let topic = next.topic { self.places[topic] = nil }
            if self.isEmpty { self.removeAll() }
            if let topic = next.topic, !isAllowed(topic) { continue }
            return (next.frame, next.receivedAt)
        }
        return nil
    }

    /// Drops the queued position of a topic that the client may no longer see.
    @inlinable
    public mutating func drop(_ topic: Topic) {
        guard let place = self.places.removeValue(forKey: topic) else { return }
        self.empty(place)
        if self.isEmpty { self.removeAll() }
    }

    @inlinable
    public mutating func removeAll() {
        self.waiting.removeAll()
        self.places.removeAll()
        self.first = 0
        self.waitingBytes = 0
        self.count = 0
    }

    @inlinable
    mutating func empty(_ place: Int) {
        self.waitingBytes -= self.waiting[place].frame.count
        self.waiting[place].frame = []
        self.count -= 1
    }

    @inlinable
    mutating func append(_ waiting: Waiting) {
        self.compact()
        if let topic = waiting.topic { self.places[topic] = self.waiting.count }
        self.waiting.append(waiting)
        self.waitingBytes += waiting.frame.count
        self.count += 1
    }

    /// Removes empty entries once they are half of the list. This bounds the memory of a position that is replaced for
    /// hours, and of a socket that never catches up. O(1) per frame on average.
    @inlinable
    mutating func compact() {
        guard self.waiting.count >= Self.fewestPlaces, self.count * 2 <= self.waiting.count else { return }
        self.waiting = self.waiting[self.first...].filter { !$0.frame.isEmpty }
        self.first = 0
        for (index, entry) in self.waiting.enumerated() { if let topic = entry.topic { self.places[topic] = index } }
    }

    @inlinable
    static var fewestPlaces: Int { 64 }
}

/// The outcome of queueing a frame. Not nested in `Outbox`, because comparing two nested values would need the metadata
/// of the generic type.
public enum QueueingOutcome: Hashable, Sendable {
    case queued
    /// Queued instead of an older message, which is never sent.
    case replaced
    /// The limit is exceeded; nothing was queued.
    case overflow
}

// What waits for a slow socket. A position replaces the one of the same topic that still waits: only the newest is worth
// sending. Everything else keeps its order and is never dropped; when it does not fit, the connection has to end.
//
// Generic, and called once per follower and message from another module. Swift makes a copy for the caller's types only
// where it is `@inlinable public`; a `package` one goes through runtime metadata (decisions/public-generics.md).

/// Frames that wait for one socket.
public struct Outbox<Topic: Hashable> {
    /// What may happen to a frame that has to wait.
    public enum Kind {
        /// A newer one of the same topic takes its place.
        case replaceable(Topic)
        case kept
    }

    public typealias Outcome = WaitingOutcome

    @usableFromInline struct Waiting {
        @usableFromInline var topic: Topic?
        /// Empty once a newer frame has taken over.
        @usableFromInline var frame: [UInt8]

        @inlinable
        init(topic: Topic?, frame: [UInt8]) {
            self.topic = topic
            self.frame = frame
        }
    }

    @usableFromInline var waiting: [Waiting] = []
    /// First frame that has not been taken.
    @usableFromInline var first = 0
    @usableFromInline var places: [Topic: Int] = [:]
    /// Frames that wait: entries of `waiting` that are not empty.
    @usableFromInline var count = 0
    /// Bytes of all frames that wait.
    @inlinable
    public var bytes: Int { self.waitingBytes }
    @usableFromInline var waitingBytes = 0
    @inlinable
    public var mostBytes: Int { self.bound }
    @usableFromInline var bound: Int

    /// - Parameter mostBytes: bytes that may wait; the frame that would pass it overflows.
    @inlinable
    public init(mostBytes: Int) { self.bound = mostBytes }

    @inlinable
    public var isEmpty: Bool { self.bytes == 0 }

    /// From now on so many bytes may wait, unless it was more before.
    @inlinable
    public mutating func widen(to bytes: Int) { self.bound = max(self.bound, bytes) }

    @inlinable
    public mutating func add(_ frame: [UInt8], _ kind: Kind) -> Outcome {
        switch kind {
        case .kept:
            guard self.bytes + frame.count <= self.mostBytes else { return .overflows }
            self.append(Waiting(topic: nil, frame: frame))
            return .waits
        case .replaceable(let topic):
            let place = self.places[topic]
            let freed = place.map { self.waiting[$0].frame.count } ?? 0
            guard self.bytes - freed + frame.count <= self.mostBytes else { return .overflows }
            // The new one goes to the end: what was said between the two comes before it.
            if let place { self.empty(place) }
            self.append(Waiting(topic: topic, frame: frame))
            return place == nil ? .waits : .replaced
        }
    }

    /// The frame that has waited longest.
    ///
    /// - Parameter mayGo: asked for the topic of a position as it is about to be written; what may not go is dropped.
    @inlinable
    public mutating func take(_ mayGo: (Topic) -> Bool = { _ in true }) -> [UInt8]? {
        while self.first < self.waiting.count {
            let next = self.waiting[self.first]
            self.first += 1
            guard !next.frame.isEmpty else { continue }
            self.empty(self.first - 1)
            if let topic = next.topic { self.places[topic] = nil }
            if self.isEmpty { self.removeAll() }
            if let topic = next.topic, !mayGo(topic) { continue }
            return next.frame
        }
        return nil
    }

    /// Drops the waiting position of a topic that may not be seen any more.
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

    /// Emptied places are given back once they are half of the list, so that neither a position that is replaced for hours
    /// nor a socket that never quite catches up costs memory. Cost: O(1) per frame on average.
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

/// What becomes of a frame that has to wait. Not inside `Outbox`, where comparing two would need its metadata.
public enum WaitingOutcome: Hashable, Sendable {
    case waits
    /// It waits and replaces an older message, which is never sent.
    case replaced
    /// The bound is passed: nothing was added.
    case overflows
}

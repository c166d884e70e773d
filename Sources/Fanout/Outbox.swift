// What waits for a slow socket. A position replaces the one of the same topic that still waits: only the newest is worth
// sending. Everything else keeps its order and is never dropped; when it does not fit, the connection has to end.

/// Frames that wait for one socket.
package struct Outbox<Topic: Hashable> {
    /// What may happen to a frame that has to wait.
    package enum Kind {
        /// A newer one of the same topic takes its place.
        case replaceable(Topic)
        case kept
    }

    package enum Outcome: Hashable, Sendable {
        case waits
        /// It waits in the place of an older one, which is never sent.
        case replaced
        /// The bound is passed: nothing was added.
        case overflows
    }

    private struct Waiting {
        var topic: Topic?
        /// Empty once a newer frame has taken over.
        var frame: [UInt8]
    }

    private var waiting: [Waiting] = []
    /// First frame that has not been taken.
    private var first = 0
    private var places: [Topic: Int] = [:]
    /// Frames that wait: entries of `waiting` that are not empty.
    private var count = 0
    /// Bytes of all frames that wait.
    package private(set) var bytes = 0
    package private(set) var mostBytes: Int

    /// - Parameter mostBytes: bytes that may wait; the frame that would pass it overflows.
    package init(mostBytes: Int) { self.mostBytes = mostBytes }

    package var isEmpty: Bool { self.bytes == 0 }

    /// From now on so many bytes may wait, unless it was more before.
    package mutating func widen(to bytes: Int) { self.mostBytes = max(self.mostBytes, bytes) }

    package mutating func add(_ frame: [UInt8], _ kind: Kind) -> Outcome {
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
    package mutating func take(_ mayGo: (Topic) -> Bool = { _ in true }) -> [UInt8]? {
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
    package mutating func drop(_ topic: Topic) {
        guard let place = self.places.removeValue(forKey: topic) else { return }
        self.empty(place)
        if self.isEmpty { self.removeAll() }
    }

    package mutating func removeAll() {
        self.waiting.removeAll()
        self.places.removeAll()
        self.first = 0
        self.bytes = 0
        self.count = 0
    }

    private mutating func empty(_ place: Int) {
        self.bytes -= self.waiting[place].frame.count
        self.waiting[place].frame = []
        self.count -= 1
    }

    private mutating func append(_ waiting: Waiting) {
        self.compact()
        if let topic = waiting.topic { self.places[topic] = self.waiting.count }
        self.waiting.append(waiting)
        self.bytes += waiting.frame.count
        self.count += 1
    }

    /// Emptied places are given back once they are half of the list, so that neither a position that is replaced for hours
    /// nor a socket that never quite catches up costs memory. Cost: O(1) per frame on average.
    private mutating func compact() {
        guard self.waiting.count >= Self.fewestPlaces, self.count * 2 <= self.waiting.count else { return }
        self.waiting = self.waiting[self.first...].filter { !$0.frame.isEmpty }
        self.first = 0
        for (index, entry) in self.waiting.enumerated() { if let topic = entry.topic { self.places[topic] = index } }
    }

    private static var fewestPlaces: Int { 64 }
}

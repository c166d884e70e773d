// Whether a history of concurrent calls can be explained by one call at a time, each at some moment between its beginning and
// its end. The search of Wing and Gong with the memory of Lowe (Testing for linearizability, 2017): what was tried once,
// the same calls done and the same state, is not tried again.

/// One call of a history.
struct Event: Hashable, Sendable {
    var call: Call
    /// `nil` when it is not known whether, or how, it was answered.
    var answer: Answer?
    /// Moments of one clock for all calls of the history.
    var begun: Int
    /// `nil` when it may still take effect, or never: it needs no place in the order.
    var ended: Int?
    /// It was answered by the master that died, and no replica was known to have it.
    var isForgettable = false
    /// It was answered by who came after the master that died.
    var isLater = false
}

/// A history of at most 64 calls of one rider.
struct History: Sendable {
    var events: [Event]

    private struct Visited: Hashable {
        var done: UInt64
        var state: RiderState
    }

    /// An order that explains every answer; `nil` when there is none.
    func linearization(from start: RiderState = RiderState()) -> [Int]? {
        precondition(self.events.count <= 64, "a history of \(self.events.count) calls is too long")
        var visited: Set<Visited> = []
        var order: [Int] = []
        let required = self.events.indices.reduce(UInt64(0)) { mask, index in
            self.events[index].ended == nil ? mask : mask | 1 << UInt64(index)
        }
        return self.search(0, start, required, &visited, &order) ? order : nil
    }

    private func search(
        _ done: UInt64, _ state: RiderState, _ required: UInt64, _ visited: inout Set<Visited>, _ order: inout [Int]
    ) -> Bool {
        if done & required == required { return true }
        guard visited.insert(Visited(done: done, state: state)).inserted else { return false }
        // Nothing can come after what had ended before it began.
        var horizon = Int.max
        for (index, event) in self.events.enumerated() where done & 1 << UInt64(index) == 0 {
            if let ended = event.ended { horizon = min(horizon, ended) }
        }
        for (index, event) in self.events.enumerated()
        where done & 1 << UInt64(index) == 0 && event.begun <= horizon {
            for outcome in state.outcomes(of: event.call) where event.answer == nil || event.answer == outcome.answer {
                order.append(index)
                if self.search(done | 1 << UInt64(index), outcome.after, required, &visited, &order) { return true }
                order.removeLast()
            }
        }
        return false
    }

    /// What the master that died had answered, by itself: what it answered has to be explained, whatever was lost later.
    var beforeFailover: History { self.withUnknown { $0.isLater } }

    /// What is left after a failover: what may have been lost was perhaps never done, and nothing holds its answer.
    var afterFailover: History { self.withUnknown { $0.isForgettable } }

    private func withUnknown(_ isReplicationUnconfirmed: (Event) -> Bool) -> History {
        History(
            events: self.events.map { event in
                guard isReplicationUnconfirmed(event) else { return event }
                var unknown = event
                (unknown.answer, unknown.ended) = (nil, nil)
                return unknown
            })
    }

    /// For people: the calls in the order they began.
    var story: String {
        self.events.sorted { $0.begun < $1.begun }.map { event in
            "\(event.begun)-\(event.ended.map(String.init) ?? "") \(event.call): "
                + (event.answer.map { "\($0)" } ?? "not known")
        }.joined(separator: "\n")
    }
}

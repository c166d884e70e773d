// Checks whether a history of concurrent calls is linearizable: whether it can be explained by calls that each take effect at
// one moment between their start and their end. The search of Wing and Gong with Lowe's cache (Testing for linearizability,
// 2017): a set of completed calls with the same state is not tried twice.

/// One call of a history.
struct Event: Hashable, Sendable {
    var call: Call
    /// `nil` when it is unknown whether, or how, it was answered.
    var answer: Answer?
    /// Times of one clock for all calls of the history.
    var begun: Int
    /// `nil` when it may still take effect, or never: it has no fixed position in the order.
    var ended: Int?
    /// Answered by the master that died, without confirmation from a replica.
    var isForgettable = false
    /// Answered by the successor of the master that died.
    var isLater = false
}

/// A history of at most 64 calls of one rider.
struct History: Sendable {
    var events: [Event]

    private struct Visited: Hashable {
        var done: UInt64
        var state: RiderState
    }

    /// An order that explains every reply; `nil` if there is none.
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
        // A call cannot come after one that had ended before it started.
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

    /// The answers of the master that died: they must be explained even if they were lost later.
    var beforeFailover: History { self.withUnknown { $0.isLater } }

    /// The history without the calls that a failover may have lost: perhaps they were never executed, so their replies
    /// do not count.
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

    /// A readable list of the calls in order of their start.
    var story: String {
        self.events.sorted { $0.begun < $1.begun }.map { event in
            "\(event.begun)-\(event.ended.map(String.init) ?? "") \(event.call): "
                + (event.answer.map { "\($0)" } ?? "unknown")
        }.joined(separator: "\n")
    }
}

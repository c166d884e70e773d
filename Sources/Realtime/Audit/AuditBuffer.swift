// What is to be written down and is not yet: a queue with a bound, sent in batches, one at a time. What was not acknowledged
// stays in front and is sent again, so an entry is written at least once, and perhaps twice.

/// Entries that wait to be acknowledged. A value: its clock is the ticks it is told.
struct AuditBuffer<Entry> {
    private var waiting: [Entry] = []
    /// How many of the first are on their way.
    private var inFlight = 0
    /// Not before this tick, after a failure.
    private var retryTick: UInt64 = 0

    /// Entries that wait, at most: in an outage later ones are lost.
    static var capacity: Int { 1_000 }
    /// Entries on their way at once.
    static var maxBatch: Int { 100 }
    /// Ticks before what failed is sent again.
    static var retryTicks: UInt64 { 10 }

    var isEmpty: Bool { self.waiting.isEmpty }
    /// A batch is full, and would be sent now.
    var isBatchReady: Bool { self.inFlight == 0 && self.retryTick == 0 && self.waiting.count >= Self.maxBatch }

    /// - Returns: `false` when there is no room: the entry is lost.
    mutating func add(_ entry: Entry) -> Bool {
        guard self.waiting.count < Self.capacity else { return false }
        self.waiting.append(entry)
        return true
    }

    /// What is to be sent now; nothing while a batch is on its way.
    mutating func nextBatch(at tick: UInt64) -> [Entry] {
        guard self.inFlight == 0, tick >= self.retryTick else { return [] }
        self.retryTick = 0
        self.inFlight = min(self.waiting.count, Self.maxBatch)
        return Array(self.waiting.prefix(self.inFlight))
    }

    /// - Parameter acknowledged: for each entry of the batch, in its order.
    mutating func complete(_ acknowledged: [Bool], at tick: UInt64) {
        precondition(acknowledged.count == self.inFlight, "a batch must be completed once, with one result per entry")
        let again = zip(self.waiting, acknowledged).filter { !$1 }.map(\.0)
        self.waiting.replaceSubrange(..<self.inFlight, with: again)
        self.inFlight = 0
        if !again.isEmpty { self.retryTick = tick + Self.retryTicks }
    }
}

// A bounded buffer of audit entries that are not written yet. It sends them in batches, one at a time. Unacknowledged
// entries stay at the front and are sent again, so an entry is written at least once and may be written twice.

/// Entries waiting to be acknowledged. A value; its owner passes in the time in ticks.
struct AuditBuffer<Entry> {
    private var waiting: [Entry] = []
    /// The number of entries at the front that have been sent but not acknowledged.
    private var inFlight = 0
    /// After a failure, no batch is sent before this tick.
    private var retryTick: UInt64 = 0

    /// The maximum number of buffered entries. During a long outage, later entries are dropped.
    static var capacity: Int { 1_000 }
    /// The maximum number of entries in a batch.
    static var maxBatch: Int { 100 }
    /// The number of ticks to wait before a failed batch is sent again.
    static var retryTicks: UInt64 { 10 }

    var isEmpty: Bool { self.waiting.isEmpty }
    /// A full batch is buffered and could be sent now.
    var isBatchReady: Bool { self.inFlight == 0 && self.retryTick == 0 && self.waiting.count >= Self.maxBatch }

    /// - Returns: `false` if the buffer is full and the entry was dropped.
    mutating func add(_ entry: Entry) -> Bool {
        guard self.waiting.count < Self.capacity else { return false }
        self.waiting.append(entry)
        return true
    }

    /// The entries to send now. Empty while a batch is in flight.
    mutating func nextBatch(at tick: UInt64) -> [Entry] {
        guard self.inFlight == 0, tick >= self.retryTick else { return [] }
        self.retryTick = 0
        self.inFlight = min(self.waiting.count, Self.maxBatch)
        return Array(self.waiting.prefix(self.inFlight))
    }

    /// - Parameter acknowledged: one result per entry of the batch, in the order of the batch.
    mutating func complete(_ acknowledged: [Bool], at tick: UInt64) {
        precondition(acknowledged.count == self.inFlight, "a batch must be completed once, with one result per entry")
        let again = zip(self.waiting, acknowledged).filter { !$1 }.map(\.0)
        self.waiting.replaceSubrange(..<self.inFlight, with: again)
        self.inFlight = 0
        if !again.isEmpty { self.retryTick = tick + Self.retryTicks }
    }
}

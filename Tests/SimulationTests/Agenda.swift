// The agenda of the simulation: a heap of events, ordered by virtual time and then by insertion. Nothing else advances the
// time, so the same seed gives the same run.

/// Every possible event. Links, gateways, followers and jobs are identified by their index.
enum Event {
    case tick(gateway: Int)
    /// A packet arrives at the gateway's end of a link, or at the server's.
    case arrives(link: Int, generation: Int, Packet)
    case reaches(link: Int, generation: Int, Packet)
    /// A connection attempt arrives at the server.
    case attempt(link: Int, generation: Int)
    /// The gateway learns the result of its attempt, or that its connection ended.
    case didConnect(link: Int, generation: Int)
    case didDisconnect(link: Int, generation: Int)
    /// The server learns that the gateway has closed a connection.
    case hungUp(link: Int, generation: Int)
    /// The gateway sends the subscriptions it has batched.
    case flush(link: Int)
    /// A refused subscription is requested again.
    case requestAgain(link: Int, channels: Channels)
    case publishPosition(job: Int)
    case publishStatus(job: Int)
    case come(follower: Int)
    case go(follower: Int)
    case fault(Int)
    case repaired(Int)
    /// From here on no faults occur.
    case calm
    case checkpoint
    case end
}

/// A packet on a link.
enum Packet {
    // To the server. Each is answered, in order.
    case ping
    case subscribe(Channels)
    case unsubscribe(Channels)
    case view(job: Int, epoch: Int, since: Int)
    case position(job: Int)
    case status(job: Int)

    // To the gateway.
    case done
    case refused
    /// Not an answer: the server ended subscriptions on its own, as it does when a slot moves.
    case ended(Channels)
    /// Index of a view that was read.
    case viewed(Int)
    /// Index of a message: the status that a publisher wrote.
    case written(Int)
    /// Index of a message.
    case message(Int)
}

/// A set of channels, one bit each: `2 * job` is the job's feed, `2 * job + 1` its events.
typealias Channels = UInt32

struct Agenda {
    struct Entry {
        let time: UInt64
        let order: UInt32
        let event: Event

        @inline(__always) func isBefore(_ other: Entry) -> Bool {
            self.time < other.time || self.time == other.time && self.order < other.order
        }
    }

    private var heap: ContiguousArray<Entry> = []
    private var lastOrder: UInt32 = 0

    init() { self.heap.reserveCapacity(256) }

    mutating func add(_ event: Event, at time: UInt64) {
        self.lastOrder += 1
        let entry = Entry(time: time, order: self.lastOrder, event: event)
        var child = self.heap.count
        self.heap.append(entry)
        while child > 0 {
            let parent = (child - 1) / 2
            guard entry.isBefore(self.heap[parent]) else { break }
            self.heap[child] = self.heap[parent]
            child = parent
        }
        self.heap[child] = entry
    }

    mutating func next() -> Entry? {
        guard let first = self.heap.first, let last = self.heap.popLast() else { return nil }
        let count = self.heap.count
        guard count > 0 else { return first }
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < count else { break }
            if child + 1 < count, self.heap[child + 1].isBefore(self.heap[child]) { child += 1 }
            guard self.heap[child].isBefore(last) else { break }
            self.heap[parent] = self.heap[child]
            parent = child
        }
        self.heap[parent] = last
        return first
    }
}

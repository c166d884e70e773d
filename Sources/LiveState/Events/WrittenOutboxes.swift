// The outboxes that this process has written to and that are not empty yet. The set wakes the forwarder. If a process
// loses its set, another gateway's sweep finds the events a little later.

internal import Synchronization

/// A set of slots. Thread-safe; at most one entry for each slot of a cluster.
package final class WrittenOutboxes: Sendable {
    private let slots = Mutex<Set<Int>>([])

    package init() {}

    func add(_ slot: Int) { self.slots.withLock { _ = $0.insert(slot) } }

    /// Returns all slots and forgets them.
    func takeAll() -> Set<Int> {
        self.slots.withLock { slots in
            defer { slots = [] }
            return slots
        }
    }
}

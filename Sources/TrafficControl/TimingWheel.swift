// Thousands of deadlines with one timer for each event loop, instead of one for each connection.
//
// This is a hashed timing wheel (Varghese and Lauck, 1987): each slot is one tick, and an item that is due in a later
// round stays in its slot until then. Adding an item is O(1), and a tick costs as much as its slot has items. Most
// deadlines never expire, because a connection that is alive moves its own again and again. Postponing a deadline
// therefore only changes its time; it moves to the right slot when its old slot is due. Cancelling only removes the
// action, and bringing a deadline forward only adds an item. Obsolete items are removed when their slot is visited,
// within one round. Otherwise a connection that sends many requests would collect one item for each, and cancelled
// deadlines would stay for the lifetime of a token.

package import NIOCore

/// Items by the tick at which they are due. A value without a clock.
struct TimingWheel<Item> {
    private var slots: [[(due: UInt64, item: Item)]]
    private(set) var now: UInt64 = 0

    /// - Parameter slots: the number of ticks in one round. Items that are due later are visited once in each round.
    init(slots: Int) { self.slots = Array(repeating: [], count: slots) }

    /// - Parameter tick: the tick at which the item is due, but no earlier than the next one.
    mutating func add(_ item: Item, due tick: UInt64) {
        let due = max(tick, self.now + 1)
        self.slots[Int(due % UInt64(self.slots.count))].append((due, item))
    }

    /// The number of items.
    var count: Int { self.slots.reduce(0) { $0 + $1.count } }

    /// Advances to `tick` and returns the items due by then, in the order of their ticks. Cost: O(ticks passed + items in
    /// their slots).
    ///
    /// - Parameter isNeeded: whether to keep an item of a visited slot that is not due. Items that are due are all returned.
    mutating func advance(to tick: UInt64, where isNeeded: (Item) -> Bool = { _ in true }) -> [Item] {
        let first = self.now + 1
        guard tick >= first else { return [] }
        self.now = tick
        // After a pause longer than a round, visit every slot once.
        let last = min(tick, first + UInt64(self.slots.count) - 1)
        var due: [(due: UInt64, item: Item)] = []
        for slot in first...last {
            let index = Int(slot % UInt64(self.slots.count))
            guard !self.slots[index].isEmpty else { continue }
            due += self.slots[index].filter { $0.due <= tick }
            // A new array, not `removeAll(where:)`: it releases the memory of a slot that was once very full.
            self.slots[index] = self.slots[index].filter { $0.due > tick && isNeeded($0.item) }
        }
        if last < tick { due.sort { $0.due < $1.due } }
        return due.map(\.item)
    }
}

/// An action that runs once, unless it is cancelled. Confined to its loop.
package final class Deadline {
    fileprivate var at: NIODeadline
    fileprivate var action: (() -> Void)?
    /// The number of items added for it; only the last one counts.
    fileprivate var items = 0

    fileprivate init(at: NIODeadline, action: @escaping () -> Void) {
        self.at = at
        self.action = action
    }

    package func cancel() { self.action = nil }
}

/// The deadlines of one event loop. Confined to it.
package final class Deadlines {
    private struct Item {
        let deadline: Deadline
        /// Which of the deadline's items this is.
        let number: Int

        init(of deadline: Deadline) {
            deadline.items += 1
            (self.deadline, self.number) = (deadline, deadline.items)
        }

        /// The deadline was neither cancelled nor brought forward since.
        var isNeeded: Bool { self.deadline.action != nil && self.number == self.deadline.items }
    }

    private var wheel: TimingWheel<Item>
    private let start: NIODeadline

    /// The resolution: an action runs up to this much late.
    package static let tick: TimeAmount = .milliseconds(100)
    /// One round takes 30 s, which is longer than most deadlines.
    private static let slots = 300

    package init(now: NIODeadline) {
        self.start = now
        self.wheel = TimingWheel(slots: Self.slots)
    }

    /// - Parameter action: must not retain the owner of the deadline.
    package func at(_ time: NIODeadline, _ action: @escaping () -> Void) -> Deadline {
        let deadline = Deadline(at: time, action: action)
        self.wheel.add(Item(of: deadline), due: self.tick(of: time))
        return deadline
    }

    package func after(_ delay: TimeAmount, _ action: @escaping () -> Void) -> Deadline {
        self.at(.now() + delay, action)
    }

    /// Moves a deadline. Postponing one is free until its old time is reached.
    package func move(_ deadline: Deadline, to time: NIODeadline) {
        let isEarlier = time < deadline.at
        deadline.at = time
        if isEarlier { self.wheel.add(Item(of: deadline), due: self.tick(of: time)) }
    }

    package func advance(to now: NIODeadline) {
        // Round down to whole ticks, so that no action runs early.
        let tick = UInt64(max(0, (now - self.start).nanoseconds) / Self.tick.nanoseconds)
        for item in self.wheel.advance(to: tick, where: { $0.isNeeded }) {
            let deadline = item.deadline
            guard item.isNeeded, let action = deadline.action else { continue }
            guard deadline.at <= now else {
                self.wheel.add(item, due: self.tick(of: deadline.at))
                continue
            }
            deadline.action = nil
            action()
        }
    }

    /// The number of items in the wheel: one for each deadline, plus obsolete ones that are removed within a round.
    var count: Int { self.wheel.count }

    /// Returns the first tick that is not before `time`.
    private func tick(of time: NIODeadline) -> UInt64 {
        let length = Self.tick.nanoseconds
        return UInt64((max(0, (time - self.start).nanoseconds) + length - 1) / length)
    }
}

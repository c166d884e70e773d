// Deadlines by the thousand: one timer for a loop, not one for a connection.
//
// A wheel of slots, one for each tick; what is due in a later round stays in its slot until then. Adding is O(1), a tick
// costs what is in one slot. Most deadlines never happen: a connection that is alive moves its own on, over and over. So
// moving one later only changes its time, and when its old slot comes it is put where it belongs; cancelling only takes
// its action away.

package import NIOCore

/// Items by the tick when they are due. A value: it knows no clock.
struct TimingWheel<Item> {
    private var slots: [[(due: UInt64, item: Item)]]
    private(set) var now: UInt64 = 0

    /// - Parameter slots: ticks of one round; a deadline that is further away costs a look in each round.
    init(slots: Int) { self.slots = Array(repeating: [], count: slots) }

    /// - Parameter tick: when it is due; in the next tick at the earliest.
    mutating func add(_ item: Item, due tick: UInt64) {
        let due = max(tick, self.now + 1)
        self.slots[Int(due % UInt64(self.slots.count))].append((due, item))
    }

    /// Goes to `tick`; what is due by then, the earliest tick first. Cost: O(ticks passed + items in their slots).
    mutating func advance(to tick: UInt64) -> [Item] {
        let first = self.now + 1
        guard tick >= first else { return [] }
        self.now = tick
        // After a pause longer than a round every slot is looked at, once.
        let last = min(tick, first + UInt64(self.slots.count) - 1)
        var due: [(due: UInt64, item: Item)] = []
        for slot in first...last {
            let index = Int(slot % UInt64(self.slots.count))
            guard !self.slots[index].isEmpty else { continue }
            due += self.slots[index].filter { $0.due <= tick }
            // Without its memory: the slot may have held a storm.
            self.slots[index] = self.slots[index].filter { $0.due > tick }
        }
        if last < tick { due.sort { $0.due < $1.due } }
        return due.map(\.item)
    }
}

/// Something that happens once, unless it is cancelled. Confined to its loop.
package final class Deadline {
    fileprivate var at: NIODeadline
    fileprivate var action: (() -> Void)?

    fileprivate init(at: NIODeadline, action: @escaping () -> Void) {
        self.at = at
        self.action = action
    }

    package func cancel() { self.action = nil }
}

/// The deadlines of one event loop. Confined to it.
package final class Deadlines {
    private var wheel: TimingWheel<Deadline>
    private let start: NIODeadline

    /// How exact a deadline is: it happens up to this much late.
    package static let tick: TimeAmount = .milliseconds(100)
    /// Half a minute in one round: longer than every deadline but few.
    private static let slots = 300

    package init(now: NIODeadline) {
        self.start = now
        self.wheel = TimingWheel(slots: Self.slots)
    }

    /// - Parameter action: what happens then; must not own what owns the deadline.
    package func at(_ time: NIODeadline, _ action: @escaping () -> Void) -> Deadline {
        let deadline = Deadline(at: time, action: action)
        self.wheel.add(deadline, due: self.tick(of: time))
        return deadline
    }

    package func after(_ delay: TimeAmount, _ action: @escaping () -> Void) -> Deadline {
        self.at(.now() + delay, action)
    }

    /// Cost: none when it moves later, until its old time has come.
    package func move(_ deadline: Deadline, to time: NIODeadline) {
        let isEarlier = time < deadline.at
        deadline.at = time
        if isEarlier { self.wheel.add(deadline, due: self.tick(of: time)) }
    }

    package func advance(to now: NIODeadline) {
        // A tick is over when all of it has passed: nothing happens early.
        let tick = UInt64(max(0, (now - self.start).nanoseconds) / Self.tick.nanoseconds)
        for deadline in self.wheel.advance(to: tick) {
            guard let action = deadline.action else { continue }
            guard deadline.at <= now else {
                self.wheel.add(deadline, due: self.tick(of: deadline.at))
                continue
            }
            deadline.action = nil
            action()
        }
    }

    /// The first tick that is not before `time`.
    private func tick(of time: NIODeadline) -> UInt64 {
        let length = Self.tick.nanoseconds
        return UInt64((max(0, (time - self.start).nanoseconds) + length - 1) / length)
    }
}

// Which tests may be on the machine together, decided without waiting: one kind of use at a time. Most tests share the
// machine. Those that measure how fast servers come back, and those that keep the processor busy, would each spoil what
// the others measure.

/// What a test does to the machine.
package enum MachineUse: Int, CaseIterable, Comparable, Sendable {
    /// Servers and gateways that answer at once, several tests at a time.
    case shared
    /// Servers that die, elect a master and come back; races that are counted; waits that are measured in seconds.
    case faults
    /// As much as the processors or a socket can take.
    case volume

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// Tests of one use go in together, and so does everybody of that use who comes while one of them is in. When the last one
/// has left, the machine goes to the first use in the order above that somebody waits for. Nobody starves: a run has so many
/// tests, each goes in once, and the machine changes hands when those of one use are done.
package struct MachineRounds {
    /// Whose round it is; `nil` before the first one.
    private var current: MachineUse?
    private var inside = 0
    private var waiting: Set<MachineUse> = []

    package init() {}

    package var isEmpty: Bool { self.inside == 0 }

    /// - Returns: whether it goes in at once; otherwise it waits for `next()`.
    package mutating func arrives(_ use: MachineUse) -> Bool {
        // Sharing begins at once: all tests of a run come at the same time, and those that share go first.
        guard self.current == use || (self.isEmpty && use == .shared) else {
            self.waiting.insert(use)
            return false
        }
        self.current = use
        self.inside += 1
        return true
    }

    package mutating func leaves() {
        precondition(self.inside > 0, "nobody is in")
        self.inside -= 1
    }

    /// The use whose tests all go in now; `nil` while somebody is in, or when nobody waits.
    package mutating func next(admitting count: (MachineUse) -> Int) -> MachineUse? {
        guard self.isEmpty, let use = self.waiting.min() else { return nil }
        self.waiting.remove(use)
        self.current = use
        self.inside = count(use)
        return use
    }
}

// Decides which tests may run together: one kind of use at a time. Most tests share the machine. Tests that measure how fast
// servers recover, and tests that saturate the processor, would each distort what the others measure.

/// How a test uses the machine.
package enum MachineUse: Int, CaseIterable, Comparable, Sendable {
    /// Servers and gateways that respond immediately, several tests at a time.
    case shared
    /// Servers that are killed, elect a master and recover; races that are counted; waits measured in seconds.
    case faults
    /// As much as the processors or a socket can handle.
    case volume

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// Tests of one use are admitted together, and so is every test of that use that arrives while one of them runs. When the last
/// one has finished, the machine is given to the first use in the order above for which a test waits. No test starves: a run
/// has a finite number of tests, each is admitted once, and the use changes when those of one use are finished.
package struct MachineRounds {
    /// The current use; `nil` before the first round.
    private var current: MachineUse?
    private var inside = 0
    private var waiting: Set<MachineUse> = []

    package init() {}

    package var isEmpty: Bool { self.inside == 0 }

    /// - Returns: whether it is admitted immediately; otherwise it waits for `next()`.
    package mutating func arrives(_ use: MachineUse) -> Bool {
        // Sharing starts immediately, because all tests of a run arrive at the same time, and those that share go first.
        guard self.current == use || (self.isEmpty && use == .shared) else {
            self.waiting.insert(use)
            return false
        }
        self.current = use
        self.inside += 1
        return true
    }

    package mutating func leaves() {
        precondition(self.inside > 0, "no test is running")
        self.inside -= 1
    }

    /// The use whose tests are all admitted now; `nil` while a test runs, or when none waits.
    package mutating func next(admitting count: (MachineUse) -> Int) -> MachineUse? {
        guard self.isEmpty, let use = self.waiting.min() else { return nil }
        self.waiting.remove(use)
        self.current = use
        self.inside = count(use)
        return use
    }
}

// The machine that tests run on, and the trait by which a suite has it without other kinds of tests: one run of all tests
// then needs no lists of suites that must not meet.

package import Testing

/// Lets tests in by the rounds that `MachineRounds` decides on. Who is in and asks again is let on.
package actor Machine {
    package static let this = Machine()

    /// What the task was let in for.
    @TaskLocal package static var use: MachineUse?

    /// The machine changes hands when nobody has come for so long: the next test of a serialized suite is about to.
    package static let pauseBetweenRounds = Duration.milliseconds(500)

    private var rounds = MachineRounds()
    private var waiting: [MachineUse: [CheckedContinuation<Void, Never>]] = [:]
    /// Counts who went in, so that a look after the pause knows whether anybody did.
    private var admissions = 0

    package init() {}

    package nonisolated(nonsending) func take<Result>(
        for use: MachineUse, _ body: () async throws -> Result
    ) async throws -> Result {
        guard Self.use == nil else { return try await body() }
        await self.enter(use)
        do {
            let result = try await Self.$use.withValue(use) { try await body() }
            await self.leave()
            return result
        } catch {
            await self.leave()
            throw error
        }
    }

    private func enter(_ use: MachineUse) async {
        if self.rounds.arrives(use) { return self.admissions += 1 }
        if self.rounds.isEmpty { self.lookLater() }
        await withCheckedContinuation { self.waiting[use, default: []].append($0) }
    }

    private func leave() {
        self.rounds.leaves()
        if self.rounds.isEmpty, !self.waiting.isEmpty { self.lookLater() }
    }

    private func lookLater() {
        let before = self.admissions
        Task {
            await pause(Self.pauseBetweenRounds)
            self.look(ifStill: before)
        }
    }

    private func look(ifStill before: Int) {
        guard self.admissions == before else { return }
        let waiting = self.waiting
        guard let use = self.rounds.next(admitting: { waiting[$0]?.count ?? 0 }) else { return }
        let next = self.waiting.removeValue(forKey: use) ?? []
        self.admissions += next.count
        for one in next { one.resume() }
    }
}

/// The tests of a suite, or one test, have the machine without those of another use.
package struct NeedsMachine: SuiteTrait, TestTrait, TestScoping {
    fileprivate let use: MachineUse

    package var isRecursive: Bool { true }

    @concurrent package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await Machine.this.take(for: self.use, function)
    }
}

extension Trait where Self == NeedsMachine {
    package static func needsMachine(for use: MachineUse) -> Self { NeedsMachine(use: use) }
}

/// Why a server that is meant to die did not start.
struct SharedMachine: Error, CustomStringConvertible {
    let description = "servers that die need the machine: @Suite(.needsMachine(for: .faults)), or @Test(...)"

    /// Throws where tests of others, which measure how fast servers answer, may be at work.
    static func refuse() throws {
        guard let use = Machine.use, use != .shared else { throw Self() }
    }
}

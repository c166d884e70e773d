// Exclusive use of the machine, and the trait by which a suite requests it. With it, all tests can run in one process, without
// lists of suites that must not run together.

package import Testing

/// Admits tests in the rounds that `MachineRounds` decides. A task that has been admitted may request again.
package actor Machine {
    package static let this = Machine()

    /// The use for which the task was admitted.
    @TaskLocal package static var use: MachineUse?

    /// The round ends when nobody has arrived for this long, because the next test of a serialized suite may be about to start.
    package static let pauseBetweenRounds = Duration.milliseconds(500)

    private var rounds = MachineRounds()
    private var waiting: [MachineUse: [CheckedContinuation<Void, Never>]] = [:]
    /// Counts admissions, so that a check after the pause knows whether there were any.
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

/// Reserves the machine for the tests of a suite, or for one test, without tests of another use.
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

/// Why a server that a test wants to kill did not start.
struct SharedMachine: Error, CustomStringConvertible {
    let description = "a test that kills servers needs @Suite(.needsMachine(for: .faults)) or @Test(...)"

    /// Throws if other tests, which measure response times, may be running.
    static func refuse() throws {
        guard let use = Machine.use, use != .shared else { throw Self() }
    }
}

import Synchronization
import TestSupport
import Testing

@Suite struct MachineRoundsTests {
    @Test func `only one use runs at a time, and every test is admitted`() throws {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<2_000 {
            var (rounds, waiting, inside) = (MachineRounds(), [MachineUse: Int](), [MachineUse: Int]())
            var toCome = (0..<20).map { _ in MachineUse.allCases.randomElement(using: &random)! }
            func isInOrder() -> Bool { inside.filter { $0.value > 0 }.count <= 1 }
            while !toCome.isEmpty || inside.values.contains(where: { $0 > 0 })
                || waiting.values.contains(where: { $0 > 0 })
            {
                switch Int.random(in: 0...2, using: &random) {
                case 0:
                    guard let use = toCome.popLast() else { continue }
                    if rounds.arrives(use) { inside[use, default: 0] += 1 } else { waiting[use, default: 0] += 1 }
                case 1:
                    guard let use = inside.first(where: { $0.value > 0 })?.key else { continue }
                    rounds.leaves()
                    inside[use, default: 0] -= 1
                default:
                    guard let use = rounds.next(admitting: { waiting[$0] ?? 0 }) else { continue }
                    inside[use, default: 0] += waiting.removeValue(forKey: use) ?? 0
                }
                try #require(isInOrder(), "\(inside)")
            }
            #expect(rounds.isEmpty)
        }
    }

    @Test func `sharing tests are admitted immediately and before all others`() {
        var rounds = MachineRounds()
        var (arrivals, admitted) = ([Bool](), [MachineUse?]())
        for use in [MachineUse.volume, .faults, .shared] { arrivals.append(rounds.arrives(use)) }
        #expect(arrivals == [false, false, true])
        admitted.append(rounds.next { _ in 1 })
        rounds.leaves()
        admitted.append(rounds.next { _ in 1 })
        // Another test of the same use joins the round; a sharing one arrives meanwhile and waits.
        arrivals = [rounds.arrives(.faults), rounds.arrives(.shared)]
        #expect(arrivals == [true, false])
        for _ in 0..<2 { rounds.leaves() }
        admitted.append(rounds.next { _ in 1 })
        rounds.leaves()
        admitted.append(rounds.next { _ in 1 })
        #expect(admitted == [nil, .faults, .shared, .volume])
    }
}

@Suite struct MachineTests {
    private final class Site: Sendable {
        private let inside = Mutex<[MachineUse]>([])
        let met = Mutex<Set<Set<MachineUse>>>([])

        func visit(_ use: MachineUse) async {
            let together = self.inside.withLock { inside in
                inside.append(use)
                return Set(inside)
            }
            self.met.withLock { _ = $0.insert(together) }
            for _ in 0..<10 { await Task.yield() }
            self.inside.withLock { _ = $0.remove(at: $0.firstIndex(of: use)!) }
        }
    }

    @Test func `tests of two uses never run together, and all of them get the machine`() async throws {
        let (machine, site) = (Machine(), Site())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<90 {
                let use = MachineUse.allCases[number % 3]
                group.addTask { try await machine.take(for: use) { await site.visit(use) } }
            }
            try await group.waitForAll()
        }
        #expect(site.met.withLock { $0 } == Set(MachineUse.allCases.map { [$0] }))
    }

    @Test func `a task that has the machine can request it again for any use`() async throws {
        let machine = Machine()
        let use = try await machine.take(for: .faults) {
            // A second round would wait for the end of the first.
            try await machine.take(for: .shared) { Machine.use }
        }
        #expect(use == .faults)
    }

    @Test func `a failing test passes the machine on to the next`() async throws {
        struct Failed: Error {}
        let machine = Machine()
        await #expect(throws: Failed.self) { try await machine.take(for: .volume) { throw Failed() } }
        #expect(try await machine.take(for: .faults) { Machine.use } == .faults)
    }

    @Test(.needsMachine(for: .volume)) func `the trait reserves the machine for its test`() {
        #expect(Machine.use == .volume)
    }

    @Test func `a server that is meant to die does not start among sharing tests`() async {
        await #expect(throws: (any Error).self) { try await RestartableRedis.running { _ in } }
        await #expect(throws: (any Error).self) {
            try await withServer { _ in try await RestartableRedis.running { _ in } }
        }
    }
}

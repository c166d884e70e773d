// Many seeds, on all cores. ENROUTE_SEEDS and ENROUTE_FIRST_SEED make it another number, or others.

import Foundation

struct SeedRange {
    var first: UInt64
    var count: UInt64

    /// Seeds that one task takes at a time.
    private static let chunk: UInt64 = 1_000

    static var ofThisRun: SeedRange {
        let environment = ProcessInfo.processInfo.environment
        return SeedRange(
            first: environment["ENROUTE_FIRST_SEED"].flatMap(UInt64.init) ?? 1_000_000,
            count: environment["ENROUTE_SEEDS"].flatMap(UInt64.init) ?? 200_000)
    }

    struct Run: Sendable {
        var failures: [UInt64] = []
        var events = 0
        var resets = 0
    }

    func run() async -> Run {
        await withTaskGroup(of: Run.self) { group in
            for start in stride(from: self.first, to: self.first + self.count, by: Int(Self.chunk)) {
                let seeds = start..<min(start + Self.chunk, self.first + self.count)
                group.addTask { @concurrent in Self.run(seeds) }
            }
            return await group.reduce(into: Run()) { whole, part in
                whole.failures = (whole.failures + part.failures).sorted()
                whole.events += part.events
                whole.resets += part.resets
            }
        }
    }

    private static func run(_ seeds: Range<UInt64>) -> Run {
        var run = Run()
        for seed in seeds {
            let outcome = World(seed: seed).run()
            if outcome.violation != nil { run.failures.append(seed) }
            run.events += outcome.events
            run.resets += outcome.resets
        }
        return run
    }
}

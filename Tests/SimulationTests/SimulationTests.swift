// Gateways, Redis and everything that can go wrong between them, by seed: the cores are the real ones, the rest is a model
// of a few hundred lines, and an oracle looks at what followers were shown.

import Resilience
import Testing

@Suite struct SimulationTests {
    @Test func `200,000 seeds pass`() async {
        let run = await SeedRange.ofThisRun.run()
        #expect(run.failures.isEmpty, "\(run.failures.first.map { story(seed: $0) } ?? "")\n\(run.failures.count) in all")
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `the same seed gives the same run`(seed: UInt64) {
        let (first, second) = (World(seed: seed).run(), World(seed: seed, isTraced: true).run())
        #expect(first.hash == second.hash && first.events == second.events)
        #expect(first.hash != World(seed: seed + 1).run().hash)
    }

    /// Seeds that failed once, and what was wrong.
    private static let past: [UInt64] = []

    @Test(arguments: Self.past)
    func `failing seeds of the past pass`(seed: UInt64) {
        #expect(failure(seed: seed) == nil)
    }

    @Test(arguments: Flaw.allCases)
    func `each way to get it wrong is caught within 2,000 seeds`(flaw: Flaw) {
        let caught = (0..<2_000 as Range<UInt64>).first { World(seed: $0, flaw: flaw).run().violation != nil }
        #expect(caught != nil, "\(flaw) passes")
    }
}

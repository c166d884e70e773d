// Gateways, Redis and every fault between them, derived from a seed. The state machines are the real ones, the rest is
// a model of a few hundred lines, and an oracle checks what followers were shown.

import Resilience
import Testing

/// It requests no use of the machine (`MachineUse`): the seeds use the processor time that other tests leave.
@Suite struct SimulationTests {
    @Test func `50,000 seeds pass`() async {
        let failures = await SeedRange.ofThisRun.failures()
        // Not the array itself: its description would fill the message.
        let (count, first) = (failures.count, failures.first)
        #expect(count == 0, "\(first.map { story(seed: $0) } ?? "")")
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `the same seed yields the same run`(seed: UInt64) {
        let (first, second) = (World(seed: seed).run(), World(seed: seed, isTraced: true).run())
        #expect(first.hash == second.hash && first.events == second.events)
        #expect(first.hash != World(seed: seed + 1).run().hash)
    }

    private static let past: [UInt64] = [
        // The result of a repair was shown to a follower that joined after the read was sent.
        1_000_888,
        // A promoted master gave a status the id of a lost one.
        1_051_186,
        // A slow read delayed the next check beyond the time limit for silent losses.
        50_236_571,
    ]

    @Test(arguments: Self.past)
    func `past failing seeds pass`(seed: UInt64) {
        #expect(failure(seed: seed) == nil)
    }

    @Test(arguments: Flaw.allCases)
    func `each deliberate flaw is caught within 2,000 seeds`(flaw: Flaw) {
        let caught = (0..<2_000 as Range<UInt64>).first { World(seed: $0, flaw: flaw).run().violation != nil }
        #expect(caught != nil, "\(flaw) passes")
    }
}

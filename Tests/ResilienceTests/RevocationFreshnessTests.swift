// When a loop's revocation state is stale, and when that is reported.

import Resilience
import Testing

@Suite struct SightTests {
    private func ticked(_ sight: RevocationFreshness, _ count: Int) -> RevocationFreshness {
        var sight = sight
        for _ in 0..<count { sight.tick() }
        return sight
    }

    @Test func `the state stays fresh for the patience from the time of the request, not of the answer`() {
        var sight = RevocationFreshness(now: 0)
        sight.answered(sentAt: .milliseconds(500))
        #expect(!sight.isRevocationStateStale(now: .milliseconds(1500)))
        #expect(sight.isRevocationStateStale(now: .milliseconds(1501)))
    }

    @Test func `an answer to an older request does not make the state staler`() {
        var sight = RevocationFreshness(now: 0)
        sight.answered(sentAt: .seconds(5))
        sight.answered(sentAt: .seconds(3))
        #expect(!sight.isRevocationStateStale(now: .seconds(6)))
    }

    @Test func `a running loop reports that its state is stale`() {
        let sight = self.ticked(RevocationFreshness(now: 0), RevocationFreshness.ticksToReport)
        #expect(!sight.isReportable(now: .seconds(1)))
        #expect(sight.isReportable(now: .milliseconds(1001)))
    }

    @Test func `a loop that was stopped is stale and reports nothing`() {
        let sight = self.ticked(RevocationFreshness(now: 0), RevocationFreshness.ticksToReport - 1)
        #expect(sight.isRevocationStateStale(now: .seconds(20)))
        #expect(!sight.isReportable(now: .seconds(20)))
    }

    @Test func `a late answer does not make the state fresh, a new one does`() {
        var sight = self.ticked(RevocationFreshness(now: 0), 50)
        sight.answered(sentAt: .milliseconds(100))
        #expect(sight.isRevocationStateStale(now: .seconds(5)))
        sight.answered(sentAt: .seconds(5))
        #expect(!sight.isRevocationStateStale(now: .seconds(5)))
    }

    @Test func `a stale state is reported immediately, and restored only when it is fresh again`() {
        var outage = Outage()
        #expect(
            outage.observe(unresponsiveSince: nil, isSettled: true, isRevocationStateStale: true, now: .seconds(1))
                == .degraded)
        #expect(
            outage.observe(unresponsiveSince: nil, isSettled: true, isRevocationStateStale: true, now: .seconds(2))
                == nil)
        #expect(
            outage.observe(unresponsiveSince: nil, isSettled: false, isRevocationStateStale: false, now: .seconds(3))
                == nil)
        #expect(
            outage.observe(unresponsiveSince: nil, isSettled: true, isRevocationStateStale: false, now: .seconds(4))
                == .restored)
    }
}

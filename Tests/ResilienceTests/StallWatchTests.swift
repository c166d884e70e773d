import Resilience
import Testing

/// How long a request has been waiting, on a loop that was blocked meanwhile. Times in ms.
@Suite struct StallWatchTests {
    private var watch = StallWatch(now: 0)

    private mutating func tick(_ times: UInt64...) {
        for time in times { self.watch.tick(now: .milliseconds(time)) }
    }

    private func waitingSince(_ requestedAt: UInt64, now: UInt64) -> UInt64 {
        self.watch.waitingSince(.milliseconds(requestedAt), now: .milliseconds(now)) / .milliseconds(1)
    }

    @Test mutating func `while the timer is punctual, a request has been waiting since it was sent`() {
        self.tick(50, 100, 1_000)
        #expect(self.waitingSince(60, now: 1_020) == 60)
    }

    @Test mutating func `after a stall, earlier requests count as waiting since the loop resumed`() {
        self.tick(50, 20_050)
        #expect(self.waitingSince(40, now: 20_060) == 20_050)
        self.tick(20_100, 20_150)
        #expect(self.waitingSince(40, now: 20_160) == 20_050)
    }

    @Test mutating func `a request sent after the stall has been waiting since it was sent`() {
        self.tick(50, 20_050, 20_100)
        #expect(self.waitingSince(20_070, now: 20_110) == 20_070)
    }

    @Test mutating func `another timer that fires before the late tick does not count the stall as waiting`() {
        self.tick(50)
        #expect(self.waitingSince(40, now: 20_050) == 20_050)
    }

    @Test mutating func `a loop that is always late still notices a silent server`() {
        self.tick(50, 2_050, 4_050, 6_050)
        #expect(self.waitingSince(40, now: 8_050) == 2_050)
    }
}

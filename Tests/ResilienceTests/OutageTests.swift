// When clients are notified that their view may be stale, and when that it is current again.

import Resilience
import Testing

@Suite struct OutageTests {
    @Test func `a short outage is not reported`() {
        var outage = Outage()
        #expect(outage.observe(unresponsiveSince: 100, isSettled: false, now: .seconds(2) + 99) == nil)
        #expect(outage.observe(unresponsiveSince: nil, isSettled: true, now: .seconds(2) + 99) == nil)
        #expect(!outage.isDegraded)
    }

    @Test func `a longer outage is reported once`() {
        var outage = Outage()
        #expect(outage.observe(unresponsiveSince: 100, isSettled: true, now: .seconds(2) + 100) == .degraded)
        #expect(outage.isDegraded)
        #expect(outage.observe(unresponsiveSince: 100, isSettled: true, now: .seconds(9)) == nil)
    }

    @Test func `restored is reported once, after everything is connected and resynced`() {
        var outage = Outage()
        _ = outage.observe(unresponsiveSince: 0, isSettled: false, now: .seconds(2))
        #expect(outage.observe(unresponsiveSince: .seconds(3), isSettled: true, now: .seconds(3)) == nil)
        #expect(outage.observe(unresponsiveSince: nil, isSettled: false, now: .seconds(4)) == nil)
        #expect(outage.isDegraded)
        #expect(outage.observe(unresponsiveSince: nil, isSettled: true, now: .seconds(5)) == .restored)
        #expect(outage.observe(unresponsiveSince: nil, isSettled: true, now: .seconds(6)) == nil)
    }

    @Test func `silence, connection loss and the following resync are one outage`() {
        var outage = Outage()
        #expect(outage.observe(unresponsiveSince: .milliseconds(100), isSettled: true, now: .milliseconds(700)) == nil)
        #expect(outage.observe(unresponsiveSince: .milliseconds(900), isSettled: false, now: .milliseconds(900)) == nil)
        #expect(outage.observe(unresponsiveSince: nil, isSettled: false, now: .milliseconds(2_099)) == nil)
        #expect(outage.observe(unresponsiveSince: nil, isSettled: false, now: .milliseconds(2_100)) == .degraded)
    }

    @Test func `a past outage does not count towards the next`() {
        var outage = Outage()
        _ = outage.observe(unresponsiveSince: 0, isSettled: true, now: .seconds(1))
        _ = outage.observe(unresponsiveSince: nil, isSettled: true, now: .milliseconds(1_100))
        #expect(outage.observe(unresponsiveSince: .seconds(2), isSettled: true, now: .milliseconds(3_999)) == nil)
        #expect(outage.observe(unresponsiveSince: .seconds(2), isSettled: true, now: .seconds(4)) == .degraded)
    }

    @Test func `an outage is under way, reported or not, until everything is connected and resynced`() {
        var outage = Outage()
        #expect(!outage.isUnderway)
        _ = outage.observe(unresponsiveSince: 0, isSettled: true, now: 1)
        #expect(outage.isUnderway && !outage.isDegraded)
        _ = outage.observe(unresponsiveSince: 0, isSettled: false, now: .seconds(2))
        #expect(outage.isUnderway && outage.isDegraded)
        _ = outage.observe(unresponsiveSince: nil, isSettled: false, now: .seconds(3))
        #expect(outage.isUnderway)
        _ = outage.observe(unresponsiveSince: nil, isSettled: true, now: .seconds(4))
        #expect(!outage.isUnderway)
        // A resync without an outage, for example after a lost message.
        _ = outage.observe(unresponsiveSince: nil, isSettled: false, now: .seconds(5))
        #expect(!outage.isUnderway)
    }

    @Test func `a resync without an outage is not reported`() {
        var outage = Outage()
        #expect(outage.observe(unresponsiveSince: nil, isSettled: false, now: 0) == nil)
        #expect(outage.observe(unresponsiveSince: nil, isSettled: false, now: .seconds(60)) == nil)
    }
}

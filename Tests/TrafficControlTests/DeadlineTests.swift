import NIOCore
import Testing

@testable import TrafficControl
@testable import WebSocket

@Suite struct TimingWheelTests {
    @Test func `each item is due in its tick, once`() {
        var wheel = TimingWheel<Int>(slots: 8)
        for due in [1, 2, 7, 8, 9, 20, 100] { wheel.add(due, due: UInt64(due)) }
        var seen: [Int] = []
        for tick in 1...120 {
            let due = wheel.advance(to: UInt64(tick))
            #expect(due.allSatisfy { $0 == tick })
            seen += due
        }
        #expect(seen == [1, 2, 7, 8, 9, 20, 100])
    }

    @Test(arguments: [3, 8, 9, 1000])
    func `after a pause all due items are returned, the earliest first`(pause: UInt64) {
        var wheel = TimingWheel<UInt64>(slots: 8)
        let dues = (1...40).map { UInt64($0 * 7 % 41) + 1 }
        for due in dues { wheel.add(due, due: due) }
        #expect(wheel.advance(to: pause) == dues.filter { $0 <= pause }.sorted())
        #expect(wheel.advance(to: 2000) == dues.filter { $0 > pause }.sorted())
    }

    @Test func `an overdue item is due in the next tick`() {
        var wheel = TimingWheel<Int>(slots: 4)
        _ = wheel.advance(to: 10)
        wheel.add(1, due: 3)
        #expect(wheel.advance(to: 11) == [1])
    }
}

@Suite struct DeadlinesTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test func `a deadline expires once, not early, and at most one tick late`() {
        let deadlines = Deadlines(now: Self.start)
        var count = 0
        _ = deadlines.at(Self.start + .milliseconds(250)) { count += 1 }
        deadlines.advance(to: Self.start + .milliseconds(249))
        #expect(count == 0)
        deadlines.advance(to: Self.start + .milliseconds(350))
        #expect(count == 1)
        deadlines.advance(to: Self.start + .seconds(100))
        #expect(count == 1)
    }

    @Test func `a cancelled deadline does not expire`() {
        let deadlines = Deadlines(now: Self.start)
        let deadline = deadlines.at(Self.start + .seconds(1)) { Issue.record("it happened") }
        deadline.cancel()
        deadlines.advance(to: Self.start + .seconds(2))
    }

    @Test func `a deadline can be postponed and brought forward`() {
        let deadlines = Deadlines(now: Self.start)
        var seen: [String] = []
        let later = deadlines.at(Self.start + .seconds(1)) { seen.append("later") }
        let earlier = deadlines.at(Self.start + .seconds(60)) { seen.append("earlier") }
        deadlines.move(later, to: Self.start + .seconds(40))
        deadlines.move(earlier, to: Self.start + .seconds(2))
        deadlines.advance(to: Self.start + .seconds(3))
        #expect(seen == ["earlier"])
        deadlines.advance(to: Self.start + .seconds(39))
        #expect(seen == ["earlier"])
        deadlines.advance(to: Self.start + .seconds(41))
        #expect(seen == ["earlier", "later"])
    }

    @Test func `a deadline that is brought forward and postponed again and again stays one`() {
        let deadlines = Deadlines(now: Self.start)
        let deadline = deadlines.at(Self.start + .seconds(60)) { Issue.record("it happened") }
        // As a connection does with each request whose head and body arrive separately.
        for second in 1...600 {
            let now = Self.start + .seconds(Int64(second))
            deadlines.move(deadline, to: now + .seconds(10))
            deadlines.move(deadline, to: now + .seconds(60))
            deadlines.advance(to: now)
        }
        #expect(deadlines.count <= 30)
    }

    @Test func `a cancelled deadline is removed within a round`() {
        let deadlines = Deadlines(now: Self.start)
        for _ in 0..<100 { deadlines.at(Self.start + .hours(48)) {}.cancel() }
        for second in 1...30 { deadlines.advance(to: Self.start + .seconds(Int64(second))) }
        #expect(deadlines.count == 0)
    }

    @Test func `the action of a deadline may set another deadline`() {
        let deadlines = Deadlines(now: Self.start)
        var count = 0
        func again() {
            count += 1
            _ = deadlines.at(Self.start + .seconds(Int64(count) + 1)) { again() }
        }
        _ = deadlines.at(Self.start + .seconds(1)) { again() }
        for tenth in 0...55 { deadlines.advance(to: Self.start + .milliseconds(Int64(tenth) * 100)) }
        #expect(count == 5)
    }
}

@Suite struct KeepaliveTests {
    private static let start = NIODeadline.uptimeNanoseconds(0)

    @Test func `silence causes a ping, and silence after the ping a timeout`() {
        var keepalive = Keepalive(pingSeconds: 25, pongSeconds: 10, now: Self.start)
        #expect(keepalive.firstCheck == Self.start + .seconds(25))
        #expect(keepalive.step(Self.start + .seconds(25)) == .ping(until: Self.start + .seconds(35)))
        #expect(keepalive.step(Self.start + .seconds(34)) == .wait(until: Self.start + .seconds(35)))
        #expect(keepalive.step(Self.start + .seconds(35)) == .timedOut)
    }

    @Test func `an active client is not pinged, and any frame answers a ping`() {
        var keepalive = Keepalive(pingSeconds: 25, pongSeconds: 10, now: Self.start)
        keepalive.received(Self.start + .seconds(20))
        #expect(keepalive.step(Self.start + .seconds(25)) == .wait(until: Self.start + .seconds(45)))
        #expect(keepalive.step(Self.start + .seconds(45)) == .ping(until: Self.start + .seconds(55)))
        keepalive.received(Self.start + .seconds(50))
        #expect(keepalive.step(Self.start + .seconds(55)) == .wait(until: Self.start + .seconds(75)))
    }
}

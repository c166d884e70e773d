// Tests of the timing rules and of the position queue, with given times.

import Foundation
import Testing

@testable import Enroute

/// The timing rules, as in Tests/JavaScript/enroute-timing.test.mjs.
@Suite struct TimingTests {
    @Test func `the delay before reconnecting is random, up to 3 s, then 2, 4, 8, 16 and 30 s`() {
        let ceilings = [0, 1, 2, 3, 4, 5, 6, 60].map {
            Reconnecting.delay(failures: $0, notBefore: nil, now: 0, random: 1)
        }
        #expect(ceilings == [3_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
        #expect(Reconnecting.delay(failures: 3, notBefore: nil, now: 0, random: 0) == 0)
    }

    @Test func `a time that the gateway specifies is used with a small spread and up to a maximum`() {
        #expect(Reconnecting.delay(failures: 5, notBefore: 9_000, now: 5_000, random: 0) == 4_000)
        #expect(Reconnecting.delay(failures: 0, notBefore: 9_000, now: 5_000, random: 1) == 4_300)
        #expect(Reconnecting.delay(failures: 0, notBefore: 4_000, now: 5_000, random: 0) == 0)
        #expect(Reconnecting.delay(failures: 0, notBefore: 1e12, now: 0, random: 0) == Reconnecting.longestNotBefore)
    }

    @Test func `close codes 4500 to 4999 end the connection, all others reconnect`() {
        for code: UInt16 in [1000, 1001, 1006, 1011, 4000, 4004, 4005, 4008, 4009, 4499] {
            #expect(Reconnecting.reconnects(after: code), "\(code)")
        }
        for code: UInt16 in [4500, 4501, 4504, 4505, 4506, 4999] {
            #expect(!Reconnecting.reconnects(after: code), "\(code)")
        }
        #expect(Reconnecting.retry(after: 4008) == nil)
        #expect(Reconnecting.retry(after: 4009) == 40_000)
        #expect(Reconnecting.errorCode(for: 4009) == .limitExceeded)
        #expect(Reconnecting.errorCode(for: 4777) == .unavailable)
    }

    @Test func `a silence is pinged after 20 s and given up after 40 s`() {
        var beat = Heartbeat(receivedAt: 0)
        #expect(beat.check(at: 19_999, expectsMessages: false) == (.wait, 1))
        #expect(beat.check(at: 20_000, expectsMessages: false) == (.ping, 20_000))
        beat.pingedAt = 20_000
        #expect(beat.check(at: 39_999, expectsMessages: false) == (.wait, 1))
        #expect(beat.check(at: 40_000, expectsMessages: false).step == .giveUp)
    }

    @Test func `where messages arrive every 8 s, a silence is pinged after 10 s`() {
        var beat = Heartbeat(receivedAt: 0)
        #expect(beat.check(at: 9_999, expectsMessages: true) == (.wait, 1))
        #expect(beat.check(at: 10_000, expectsMessages: true) == (.ping, 30_000))
        beat.pingedAt = 20_000
        #expect(beat.check(at: 39_999, expectsMessages: true).step == .wait)
        beat.pingedAt = 10_000
        #expect(beat.check(at: 40_000, expectsMessages: true).step == .giveUp)
    }

    @Test func `after a sleep, a device pings before it gives up, and a probe is given 4 s`() {
        #expect(Heartbeat(receivedAt: 0).check(at: 3_600_000, expectsMessages: false).step == .ping)
        var probe = Heartbeat(receivedAt: 10, isProbing: true)
        #expect(probe.check(at: 11, expectsMessages: false) == (.ping, 4_000))
        probe.pingedAt = 11
        #expect(probe.check(at: 4_010, expectsMessages: false) == (.wait, 1))
        #expect(probe.check(at: 4_011, expectsMessages: false).step == .giveUp)
    }

    @Test func `messages are sent in a burst, then at a constant rate`() {
        var budget = MessageBudget(now: 0)
        for _ in 0..<30 { #expect(budget.take(at: 0) == 0) }
        let wait = budget.take(at: 0)
        #expect(wait == 67)
        #expect(budget.take(at: wait) == 0)
        #expect(budget.take(at: wait) > 0)
        let taken = stride(from: 10_000.0, to: 20_000, by: 10).count { budget.take(at: $0) == 0 }
        #expect(taken <= 30 + 150)
    }

    @Test(arguments: [(1.0, 1.0, 0.75), (4, 3, 3), (10, 7, 3.75), (40, 30, 15), (1_000, 30, 15)])
    func `the client sends at three quarters of the gateway's limits, and at most at its own`(
        limit: Double, burst: Double, perSecond: Double
    ) {
        let rate = [1: 1.0, 4: 4, 10: 5, 40: 20, 1_000: 500][limit]
        var budget = MessageBudget(WireLimits(messagesPerSecond: rate, messagesBurst: limit), now: 0)
        var taken = 0.0
        while budget.take(at: 0) == 0 { taken += 1 }
        #expect(taken == burst)
        let inAMinute = stride(from: 0.0, to: 60_000, by: 10).count { budget.take(at: $0) == 0 }
        #expect(abs(Double(inAMinute) - 60 * perSecond) <= 1)
    }

    @Test func `a gateway that states no limits, or odd ones, is sent the usual number of messages, or at least a few`()
    {
        for (rate, burst, taken) in [(nil, nil, 30), (0, 0, 1), (-5, -5, 1), (1e300, 1e300, 30)]
            as [(Double?, Double?, Int)]
        {
            var budget = MessageBudget(WireLimits(messagesPerSecond: rate, messagesBurst: burst), now: 0)
            #expect((0..<100).count { _ in budget.take(at: 0) == 0 } == taken)
            #expect(budget.take(at: 0) <= 1_334)
        }
    }

    @Test func `a token is renewed a minute before it expires, a short one at half of its life`() {
        #expect(TokenRenewal.delay(expiry: 900_000, serverTime: 0) == 840_000)
        #expect(TokenRenewal.delay(expiry: 80_000, serverTime: 0) == 40_000)
        #expect(TokenRenewal.delay(expiry: 0, serverTime: 1) == nil)
        let claims = Data(#"{"sub":"anna","exp":1795248617}"#.utf8).base64EncodedString()
            .replacing("=", with: "").replacing("+", with: "-").replacing("/", with: "_")
        #expect(TokenRenewal.expiry(of: "a.\(claims).c") == 1_795_248_617_000)
        #expect(TokenRenewal.expiry(of: PlayedClient.token) == nil)
        for garbage in ["", "a.b", "a.!!!.c", "..", "a.\(claims).c.d"] {
            #expect(TokenRenewal.expiry(of: garbage) == nil)
        }
    }

    @Test func `the gateway's clock is measured with the fastest answers`() {
        var clock = ServerClock()
        clock.restarted()
        clock.asked(at: Moment(now: 1_000, wall: 1_000))
        clock.answered(serverTime: 6_050, at: 1_100)
        #expect(clock.offset == 5_000)
        clock.asked(at: Moment(now: 2_000, wall: 2_000))
        clock.answered(serverTime: 99_000, at: 4_000)
        #expect(clock.offset == 5_000)
        clock.asked(at: Moment(now: 5_000, wall: 5_000))
        clock.answered(serverTime: 1e300, at: 5_001)
        #expect(clock.offset == 5_000)
    }

    @Test(arguments: [60_000.0, -60_000, 700_000, -700_000])
    func `a reading has the same time whether the phone's clock or a correct one measured it`(
        offset: Double
    ) {
        var clock = ServerClock()
        clock.asked(at: Moment(now: 0, wall: 0))
        clock.answered(serverTime: offset, at: 0)
        let taken = Date(ms: 1_996_000)
        for at in [taken, taken.addingTimeInterval(offset / 1000)] {
            #expect(clock.localTime(of: at, at: 2_000_000) == taken)
        }
        #expect(ServerClock().localTime(of: Date(ms: 1), at: 2_000_000) == Date(ms: 1))
    }
}

/// The position queue, as in Tests/JavaScript/enroute-timing.test.mjs.
@Suite struct FixQueueTests {
    private let moment = Moment(now: 0, wall: 100_000)

    private func queue(_ ats: [Double], _ jobs: [JobID] = ["a"]) throws -> FixQueue {
        var queue = FixQueue()
        for at in ats { try queue.add(.at(at), jobs: jobs) }
        return queue
    }

    @Test func `a report contains the newest readings first and a sequence number`() throws {
        var queue = try self.queue([3, 9, 5, 7, 1, 8].map { 90_000 + $0 })
        let first = queue.next(at: self.moment, clockOffset: 0)
        let report = try #require(first)
        #expect(report.fixes.map { $0.at - 90_000 } == [9, 8, 7, 5, 3])
        #expect(report.jobs == ["a"] && report.sequence == 1 && queue.count == 0)
        try queue.add(.at(95_000), jobs: ["a"])
        let second = queue.next(at: Moment(now: 10_000, wall: 100_000), clockOffset: 0)
        #expect(second?.sequence == 2)
    }

    @Test func `reports are no more frequent than the gateway requests`() throws {
        var queue = try self.queue([90_000])
        queue.setInterval(seconds: 8)
        #expect(queue.next(at: Moment(now: 1_000, wall: 100_000), clockOffset: 0) != nil)
        try queue.add(.at(91_000), jobs: ["a"])
        #expect(queue.next(at: Moment(now: 2_000, wall: 100_000), clockOffset: 0) == nil)
        #expect(queue.due(at: 2_000) == 7_000)
        #expect(queue.next(at: Moment(now: 9_000, wall: 100_000), clockOffset: 0) != nil)
        for (seconds, interval) in [(0.001, 1_000.0), (99, 20_000), (.nan, 20_000)] {
            queue.setInterval(seconds: seconds)
            #expect(queue.interval == interval)
        }
    }

    @Test func `the queue discards the oldest readings, and readings that are too old are not sent`() throws {
        var queue = try self.queue((0..<100).map(Double.init))
        #expect(queue.count == 20)
        #expect(queue.next(at: Moment(now: 0, wall: 99 + FixQueue.lifetime), clockOffset: 0) == nil)
        #expect(queue.count == 0)
        for at in [50_000.0, 99_000, 99_000] { try queue.add(.at(at), jobs: ["a"]) }
        #expect(queue.next(at: Moment(now: 0, wall: 50_000 + FixQueue.lifetime), clockOffset: 0)?.fixes.count == 1)
    }

    @Test func `a reading without a place is left out, and a wrong number of jobs is refused`() throws {
        var queue = FixQueue()
        for (latitude, longitude) in [(0.0, 0.0), (91, 0), (0, 181), (.nan, 1)] {
            try queue.add(.at(1, latitude, longitude), jobs: ["a"])
        }
        try queue.add(.at(.nan), jobs: ["a"])
        try queue.add(.at(1e300), jobs: ["a"])
        #expect(queue.count == 0)
        for jobs in [[], (0...10).map { JobID("j\($0)")! }] {
            #expect(throws: EnrouteError.self) { try queue.add(.at(1), jobs: jobs) }
        }
        for name in ["no/such", "", String(repeating: "a", count: 65)] { #expect(JobID(name) == nil) }
    }

    @Test func `a report for several jobs keeps their order and uses the jobs of the newest reading`() throws {
        var queue = FixQueue()
        try queue.add(.at(90_000), jobs: ["a", "b"])
        try queue.add(.at(91_000), jobs: ["b", "c"])
        let report = queue.next(at: self.moment, clockOffset: 0)
        #expect(report?.jobs == ["b", "c"] && report?.fixes.count == 1)
    }

    @Test func `one reading that is reported for two jobs in two calls is reported for both, in turn`() throws {
        var queue = FixQueue()
        var (jobs, ages): ([JobID], [Double]) = ([], [])
        for now in stride(from: 0.0, to: 8_000, by: 1_000) {
            for job: JobID in ["a", "b"] { try queue.add(.at(90_000 + now), jobs: [job]) }
            let report = queue.next(at: Moment(now: now, wall: 100_000), clockOffset: 0)
            jobs += report?.jobs ?? []
            ages += report?.fixes.first.map { [Double($0.at) - 90_000 - now] } ?? []
        }
        #expect(jobs == ["a", "b", "a", "b", "a", "b", "a", "b"] && ages == Array(repeating: 0, count: 8))
        // Unanswered ones are sent again after a reconnect, and a refusal of one does not count for the other.
        #expect(queue.next(at: Moment(now: 8_000, wall: 100_000), clockOffset: 0)?.jobs == ["a"])
        queue.refused("a")
        queue.disconnected()
        #expect(queue.next(at: Moment(now: 9_000, wall: 100_000), clockOffset: 0)?.jobs == ["b"])
    }

    @Test func `readings of many jobs without an answer are bounded`() throws {
        var queue = FixQueue()
        for count in 0..<100 {
            try queue.add(.at(90_000 + Double(count)), jobs: [JobID("j\(count)")!])
            _ = queue.next(at: Moment(now: Double(count) * 1_000, wall: 100_000), clockOffset: 0)
        }
        queue.disconnected()
        #expect(queue.count == FixQueue.mostUnanswered)
    }

    @Test func `unknown members are omitted and out-of-range ones corrected`() throws {
        var queue = FixQueue()
        try queue.add(.at(90_000.4, 41.123456789, 12, spd: .nan, hdg: -90), jobs: ["a"])
        let first = queue.next(at: self.moment, clockOffset: 0)?.fixes.first?.text
        #expect(first == #"{"at":90000,"lat":41.1234568,"lon":12,"hdg":270}"#)
        try queue.add(.at(91_000, 1, 2, acc: 20_000, spd: -1, hdg: 360), jobs: ["a"], battery: 1.5)
        let report = queue.next(at: Moment(now: 9_000, wall: 100_000), clockOffset: 0)
        #expect(report?.fixes.first?.text == #"{"at":91000,"lat":1,"lon":2,"hdg":0}"# && report?.battery == nil)
    }

    @Test func `a clock that is wrong is corrected by the gateway's, a slightly wrong one is not`() throws {
        var queue = try self.queue([90_000])
        #expect(queue.next(at: self.moment, clockOffset: -300_000)?.fixes.first?.at == -210_000)
        try queue.add(.at(90_001), jobs: ["a"])
        #expect(queue.next(at: Moment(now: 9_000, wall: 100_000), clockOffset: 1_900)?.fixes.first?.at == 90_001)
    }

    @Test func `an unanswered report is repeated after a reconnect, an answered one is not`() throws {
        var queue = try self.queue([90_000])
        _ = queue.next(at: self.moment, clockOffset: 0)
        queue.disconnected()
        #expect(queue.due(at: 0) == 0)
        #expect(queue.next(at: self.moment, clockOffset: 0)?.fixes.first?.at == 90_000)
        queue.answered(2)
        queue.disconnected()
        #expect(queue.count == 0)
    }

    @Test func `nothing is sent for a job after it is forgotten`() throws {
        var queue = try self.queue([90_000])
        try queue.add(.at(91_000), jobs: ["b"])
        queue.forget("a")
        #expect(queue.count == 1)
        _ = queue.next(at: self.moment, clockOffset: 0)
        queue.forget("b")
        queue.disconnected()
        #expect(queue.count == 0)
    }
}

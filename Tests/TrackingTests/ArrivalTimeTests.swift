import Testing

@testable import Tracking

@Suite struct ArrivalTimeTests {
    /// A rider with a location every second and a provider that answers immediately, by default.
    private struct Trip {
        var arrival = ArrivalTime()
        /// s
        var now = 0.0
        var isFollowed = true
        var isSeen = true
        var metersToGo = 6000.0
        var isNear = false
        /// Seconds that the provider returns; `nil` if it fails.
        var answer: (Double) -> Double? = { 600 - $0 }
        /// When calculations started.
        var calculated: [Double] = []
        var reasons: [ArrivalTime.Calculation.Reason] = []

        mutating func pass(seconds: Int) {
            for _ in 0..<seconds {
                self.now += 1
                if self.isSeen {
                    self.arrival.observe(metersToGo: self.metersToGo, isNear: self.isNear, now: self.time)
                }
                guard let calculation = self.arrival.start(isFollowed: self.isFollowed, now: self.time) else {
                    continue
                }
                self.calculated.append(self.now)
                self.reasons.append(calculation.reason)
                if let seconds = self.answer(self.now) {
                    self.arrival.succeeded(calculation, seconds: seconds, now: self.time)
                } else {
                    self.arrival.failed(calculation, now: self.time)
                }
            }
        }

        var time: UInt64 { .seconds(self.now) }
        var state: ArrivalTime.State { self.arrival.state(now: self.time) }
        var seconds: Double? { if case .ok(let seconds) = self.state { seconds } else { nil } }
    }

    @Test func `US-072 AC-002: a followed arrival is calculated every 60 s, and not at every reading`() {
        var trip = Trip()
        trip.pass(seconds: 595)
        #expect(trip.calculated.first == 1)
        #expect(zip(trip.calculated, trip.calculated.dropFirst()).allSatisfy { $1 - $0 == 60 })
        #expect(trip.calculated.count == 10)
    }

    @Test func `without followers nothing is calculated, and with the first follower immediately`() {
        var trip = Trip(isFollowed: false)
        trip.pass(seconds: 600)
        #expect(trip.calculated.isEmpty && trip.state == .recalculating)
        trip.isFollowed = true
        trip.pass(seconds: 1)
        #expect(trip.calculated == [601])
    }

    @Test func `another route causes an earlier calculation, but not at every reading`() {
        var trip = Trip()
        trip.pass(seconds: 15)
        trip.metersToGo = 6251
        trip.pass(seconds: 1)
        #expect(trip.calculated == [1, 16])
        trip.metersToGo = 6600
        trip.pass(seconds: 9)
        #expect(trip.calculated == [1, 16])
        trip.metersToGo = 7000
        trip.pass(seconds: 1)
        #expect(trip.calculated == [1, 16, 26])
    }

    @Test func `between calculations it counts down by the second`() throws {
        var trip = Trip()
        trip.pass(seconds: 1)
        for second in 0..<50 {
            #expect(trip.seconds == 599 - Double(second))
            trip.pass(seconds: 1)
        }
    }

    @Test func `an estimate that differs by a few seconds is ignored`() throws {
        var trip = Trip()
        trip.answer = { 600 - $0 + (Int($0).isMultiple(of: 2) ? 20 : -20) }
        trip.pass(seconds: 1)
        let first = try #require(trip.seconds)
        for second in 1...300 {
            trip.pass(seconds: 1)
            let seconds = try #require(trip.seconds)
            #expect(abs(seconds - (first - Double(second))) < 45)
        }
        let changes = trip.calculated.count
        #expect(changes > 5)
    }

    @Test func `an estimate that differs by more replaces the old one immediately`() {
        var trip = Trip()
        trip.pass(seconds: 60)
        trip.answer = { _ in 900 }
        trip.pass(seconds: 1)
        #expect(trip.seconds == 900)
    }

    @Test func `the remaining time is never negative, and an overdue one is calculated again`() throws {
        var trip = Trip()
        trip.answer = { _ in 20 }
        trip.pass(seconds: 300)
        #expect(trip.calculated.count > 8)
        // A provider is still queried only once a minute. The other calculations use the built-in estimator.
        #expect(trip.reasons.filter { $0 != .overdue }.count == 5)
        trip.answer = { _ in -500 }
        for _ in 0..<120 {
            trip.pass(seconds: 1)
            #expect(try #require(trip.seconds) >= 0)
        }
        trip.answer = { _ in 240 }
        trip.pass(seconds: 12)
        #expect(try #require(trip.seconds) > 200)
    }

    @Test func `close to the destination a faster rider is noticed every 10 s, without queries, until it arrives`() {
        var trip = Trip()
        trip.pass(seconds: 20)
        (trip.isNear, trip.metersToGo, trip.answer) = (true, 140, { 60 - $0 })
        trip.pass(seconds: 1)
        #expect(trip.seconds == 39 && trip.reasons == [.due, .near])
        trip.answer = { 50 - $0 }
        trip.pass(seconds: 29)
        // 10 s before the arrival, the next calculation is that of an overdue rider.
        #expect(trip.seconds == 0 && trip.calculated == [1, 21, 31, 50])
        #expect(trip.reasons == [.due, .near, .near, .overdue])
        // Providers are not queried more often than otherwise.
        trip.pass(seconds: 60)
        #expect(zip(trip.calculated, trip.reasons).filter { $1 == .due }.map { $0.0 } == [1, 61])
    }

    @Test func `a rider who waits close to the destination does not postpone the arrival before it is due`() {
        var trip = Trip()
        trip.answer = { _ in 45 }
        trip.isNear = true
        trip.pass(seconds: 45)
        #expect(trip.seconds == 1 && Set(trip.reasons) == [.due, .near])
        // Nobody receives the same time again, or a later one.
        var arrival = ArrivalTime()
        arrival.observe(metersToGo: 100, isNear: true, now: 0)
        let changes = [(0.0, 60.0), (10, 70), (20, 41), (30, 20)].map { now, seconds in
            arrival.observe(metersToGo: 100, isNear: true, now: .seconds(now))
            guard let calculation = arrival.start(isFollowed: true, now: .seconds(now)) else { return false }
            return arrival.succeeded(calculation, seconds: seconds, now: .seconds(now))
        }
        #expect(changes == [true, false, false, true])
    }

    @Test func `US-072 AC-005: without locations the arrival is recalculating, then unavailable, and not calculated`() {
        var trip = Trip()
        trip.pass(seconds: 10)
        trip.isSeen = false
        trip.pass(seconds: 30)
        #expect(trip.seconds != nil)
        trip.pass(seconds: 1)
        #expect(trip.state == .recalculating)
        trip.pass(seconds: 269)
        #expect(trip.state == .recalculating)
        trip.pass(seconds: 1)
        #expect(trip.state == .unavailable)
        #expect(trip.calculated == [1])
        trip.isSeen = true
        trip.pass(seconds: 1)
        #expect(trip.calculated == [1, 312] && trip.seconds != nil)
    }

    @Test func `after a silence the arrival is calculated again`() {
        var trip = Trip()
        trip.pass(seconds: 5)
        trip.isSeen = false
        trip.pass(seconds: 31)
        trip.isSeen = true
        trip.pass(seconds: 1)
        #expect(trip.calculated == [1, 37] && trip.reasons == [.due, .deviation])
    }

    @Test func `US-072 AC-007: when the provider fails the last estimate counts down, then it is unavailable`() {
        var trip = Trip()
        trip.pass(seconds: 60)
        trip.answer = { _ in nil }
        trip.pass(seconds: 120)
        #expect(trip.seconds != nil)
        trip.pass(seconds: 120)
        #expect(trip.state == .unavailable)
        trip.answer = { 600 - $0 }
        trip.pass(seconds: 61)
        #expect(trip.seconds != nil)
    }

    @Test func `US-072 AC-007: without any answer the arrival is unavailable, and retries become rarer`() {
        var trip = Trip()
        trip.answer = { _ in nil }
        trip.pass(seconds: 600)
        #expect(trip.state == .unavailable)
        let pauses = zip(trip.calculated, trip.calculated.dropFirst()).map { $1 - $0 }
        #expect(pauses.prefix(4) == [10, 20, 40, 60] && pauses.dropFirst(3).allSatisfy { $0 == 60 })
    }

    @Test func `a calculation without a result fails after 10 s, and a late result is ignored`() throws {
        var arrival = ArrivalTime()
        arrival.observe(metersToGo: 1000, now: 0)
        let begun = arrival.start(isFollowed: true, now: 0)
        let lost = try #require(begun)
        for second in 1...20 {
            let early = arrival.start(isFollowed: true, now: .seconds(Double(second)))
            #expect(early == nil)
        }
        let again = arrival.start(isFollowed: true, now: .seconds(21))
        let next = try #require(again)
        arrival.succeeded(lost, seconds: 60, now: .seconds(22))
        #expect(arrival.state(now: .seconds(22)) == .unavailable)
        arrival.succeeded(next, seconds: 60, now: .seconds(22))
        #expect(arrival.state(now: .seconds(22)) == .ok(seconds: 59))
    }

    @Test func `a result that is not a number fails, and one of a year is limited to a day`() throws {
        for (answer, state) in [
            (Double.nan, ArrivalTime.State.unavailable), (.infinity, .unavailable), (3e7, .ok(seconds: 86_400)),
        ] as [(Double, ArrivalTime.State)] {
            var arrival = ArrivalTime()
            arrival.observe(metersToGo: 1000, now: 0)
            let begun = arrival.start(isFollowed: true, now: 0)
            arrival.succeeded(try #require(begun), seconds: answer, now: 0)
            #expect(arrival.state(now: 0) == state)
        }
    }

    @Test func `a new destination is calculated immediately, and the old time is discarded`() {
        var trip = Trip()
        trip.pass(seconds: 20)
        trip.arrival.redirected()
        #expect(trip.state == .recalculating)
        trip.pass(seconds: 1)
        #expect(trip.calculated == [1, 21])
    }
}

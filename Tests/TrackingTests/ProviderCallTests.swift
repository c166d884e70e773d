import Testing

@testable import Tracking

/// Several gateways with followers of the same jobs, and their queries to a provider.
@Suite struct ProviderCallTests {
    /// The gateway that calculates for a job, and until when, as stored in Redis.
    private struct Leases {
        private var until: [Int: Double] = [:]

        mutating func take(_ job: Int, now: Double, seconds: Double) -> Bool {
            guard now >= self.until[job] ?? 0 else { return false }
            self.until[job] = now + seconds
            return true
        }
    }

    private struct Outcome {
        /// The queries to a provider, by job.
        var asked: [Int]
        /// The maximum time between two results that one gateway's followers received, in seconds.
        var longestWait: Double
        var unavailable = 0
    }

    /// One hour with a tick per second, delayed differently at each gateway.
    private static func hour(gateways: Int, followed: Int, unfollowed: Int) -> Outcome {
        let jobs = followed + unfollowed
        var states = Array(repeating: Array(repeating: ArrivalTime(), count: jobs), count: gateways)
        var shownAt = Array(repeating: Array(repeating: 0.0, count: jobs), count: gateways)
        var leases = Leases()
        var outcome = Outcome(asked: Array(repeating: 0, count: jobs), longestWait: 0)
        for second in 0..<3600 {
            for gateway in 0..<gateways {
                let now = Double(second) + 10 + Double(gateway * 37 % 100) / 100 + Double(second % 7) / 50
                let time = UInt64.seconds(now)
                for job in 0..<jobs {
                    let remaining = 5000 - Double(second)
                    states[gateway][job].observe(metersToGo: remaining * 8, now: time)
                    let isFollowed = job < followed
                    let calculation = states[gateway][job].start(isFollowed: isFollowed, now: time)
                    if let calculation {
                        // Slightly shorter than a minute, so early ticks find the lease free.
                        guard leases.take(job, now: now, seconds: 58) else {
                            states[gateway][job].ceded(calculation, now: time)
                            continue
                        }
                        if calculation.reason != .overdue { outcome.asked[job] += 1 }
                        states[gateway][job].succeeded(calculation, seconds: remaining, now: time)
                        for other in 0..<gateways {
                            if other != gateway { states[other][job].adopt(seconds: remaining, from: time, now: time) }
                            if shownAt[other][job] > 0 {
                                outcome.longestWait = max(outcome.longestWait, now - shownAt[other][job])
                            }
                            shownAt[other][job] = now
                        }
                    }
                    if isFollowed, case .ok = states[gateway][job].state(now: time) { continue }
                    if isFollowed { outcome.unavailable += 1 }
                }
            }
        }
        return outcome
    }

    @Test func `in an hour 3 gateways send at most 60 queries for a followed job, and none for others`() {
        let outcome = Self.hour(gateways: 3, followed: 100, unfollowed: 100)
        #expect(outcome.asked.prefix(100).allSatisfy { (58...60).contains($0) }, "\(outcome.asked.prefix(100))")
        #expect(outcome.asked.suffix(100).allSatisfy { $0 == 0 })
        #expect(outcome.longestWait <= 61.5 && outcome.unavailable == 0, "\(outcome.longestWait)")
    }

    @Test func `when the calculating gateway is gone, another one calculates within seconds`() throws {
        var arrival = ArrivalTime()
        arrival.observe(metersToGo: 1000, now: .seconds(100))
        let begun = arrival.start(isFollowed: true, now: .seconds(100))
        arrival.ceded(try #require(begun), now: .seconds(100))
        // The calculation has no result.
        for second in 101..<110 {
            arrival.observe(metersToGo: 1000, now: .seconds(Double(second)))
            let early = arrival.start(isFollowed: true, now: .seconds(Double(second)))
            #expect(early == nil)
        }
        let again = arrival.start(isFollowed: true, now: .seconds(110))
        #expect(again?.reason == .due)
    }

    @Test func `an older result of another gateway does not replace a newer one`() throws {
        var arrival = ArrivalTime()
        arrival.observe(metersToGo: 1000, now: .seconds(100))
        let begun = arrival.start(isFollowed: true, now: .seconds(100))
        arrival.succeeded(try #require(begun), seconds: 600, now: .seconds(101))
        arrival.adopt(seconds: 60, from: .seconds(90), now: .seconds(102))
        arrival.adopt(seconds: .nan, from: .seconds(102), now: .seconds(102))
        arrival.adopt(seconds: 60, from: .seconds(103), now: .seconds(102))
        #expect(arrival.state(now: .seconds(102)) == .ok(seconds: 598))
        arrival.adopt(seconds: 60, from: .seconds(101), now: .seconds(102))
        #expect(arrival.state(now: .seconds(102)) == .ok(seconds: 59))
    }
}

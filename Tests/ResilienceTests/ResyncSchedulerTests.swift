// Which jobs are read, and when, with a clock that is a number and reads that the test answers.

import Resilience
import Testing

@Suite struct RereadingTests {
    typealias Core = ResyncScheduler<Int>
    static let tick = UInt64.milliseconds(50)

    static func following(_ jobs: Range<Int>, maxInFlight: Int = 500, seed: UInt64 = 1) -> Core {
        var bounds = Core.Bounds()
        bounds.maxInFlight = maxInFlight
        var core = Core(bounds: bounds, seed: seed, now: 0)
        for job in jobs { core.follow(job, now: 0) }
        return core
    }

    @Test func `every job is checked repeatedly, within the bounds of the interval`() {
        var core = Self.following(0..<300)
        var looked = [UInt64](repeating: 0, count: 300)
        var gaps: [UInt64] = []
        for now in stride(from: 0, to: UInt64.seconds(40), by: Int(Self.tick)) {
            for read in core.due(now: now) {
                #expect(read.purpose == .check)
                gaps.append(now - looked[read.job])
                looked[read.job] = now
                #expect(core.answered(read, .matches, now: now) == true)
            }
        }
        #expect(gaps.allSatisfy { $0 >= .seconds(5) && $0 <= .seconds(9) + Self.tick })
        #expect(looked.allSatisfy { $0 > .seconds(30) })
        // They are spread rather than in step.
        #expect(Set(gaps).count > 60)
    }

    @Test func `a repair is read immediately, before due checks, and shown`() {
        var core = Self.following(0..<10, maxInFlight: 1)
        #expect(core.due(now: .seconds(20)).count == 1)
        #expect(core.repair(7, now: .seconds(20)) == true)
        #expect(core.repair(10, now: .seconds(20)) == false)
        #expect(core.repairsOutstanding == 1)
        var order: [Core.Read] = []
        var freed = Self.following(0..<10, maxInFlight: 1)
        _ = freed.due(now: 0)
        _ = freed.repair(7, now: .seconds(20))
        for _ in 0..<10 {
            for read in freed.due(now: .seconds(20)) {
                order.append(read)
                #expect(freed.answered(read, .matches, now: .seconds(20)) == true)
            }
        }
        #expect(order.first?.job == 7 && order.first?.purpose == .repair)
        #expect(order.count == 10 && Set(order.map(\.job)).count == 10)
        #expect(freed.repairsOutstanding == 0)
    }

    @Test func `the number of concurrent reads is bounded, and every job gets its turn`() {
        var core = Self.following(0..<2_000, maxInFlight: 7)
        for job in 0..<2_000 { _ = core.repair(job, now: 0) }
        #expect(core.repairsOutstanding == 2_000)
        var waiting: [Core.Read] = []
        var read: Set<Int> = []
        while read.count < 2_000 {
            waiting += core.due(now: 0)
            #expect(waiting.count <= 7 && core.inFlight == waiting.count)
            guard !waiting.isEmpty else {
                Issue.record("not the expected answer")
                return
            }
            let first = waiting.removeFirst()
            #expect(core.answered(first, .matches, now: 0) == true)
            #expect(read.insert(first.job).inserted)
        }
        #expect(core.repairsOutstanding == 0)
    }

    @Test func `a read of an unfollowed job counts until it is answered`() {
        var core = Self.following(0..<3, maxInFlight: 1)
        _ = core.repair(0, now: 0)
        let reads = core.due(now: 0)
        core.unfollow(0)
        #expect(core.repairsOutstanding == 0)
        _ = core.repair(1, now: 0)
        #expect(core.due(now: 0) == [])
        #expect(core.answered(reads[0], .matches, now: 0) == false)
        #expect(core.due(now: 0).map(\.job) == [1])
    }

    @Test func `a job has one read at a time, and a later repair request causes another`() {
        var core = Self.following(0..<1)
        _ = core.repair(0, now: 0)
        _ = core.repair(0, now: 0)
        let first = core.due(now: 0)
        #expect(first.map(\.job) == [0])
        _ = core.repair(0, now: 0)
        _ = core.repair(0, now: 0)
        #expect(core.due(now: 0) == [])
        #expect(core.repairsOutstanding == 1)
        #expect(core.answered(first[0], .matches, now: 0) == false)
        let second = core.due(now: 0)
        #expect(second.map(\.purpose) == [.repair])
        #expect(core.answered(second[0], .matches, now: 0) == true)
        #expect(core.repairsOutstanding == 0)
    }

    @Test func `a repair requested during a check gets its own read`() {
        var core = Self.following(0..<1)
        let check = core.due(now: .seconds(10))
        #expect(check.map(\.purpose) == [.check])
        _ = core.repair(0, now: .seconds(10))
        #expect(core.repairsOutstanding == 1)
        #expect(core.answered(check[0], .mismatch, now: .seconds(10)) == false)
        #expect(core.due(now: .seconds(10)).map(\.purpose) == [.repair])
    }

    @Test func `a due check that becomes a repair is read once`() {
        var core = Self.following(0..<2, maxInFlight: 1)
        let other = core.due(now: .seconds(10))
        let job = 1 - other[0].job
        _ = core.repair(job, now: .seconds(10))
        #expect(core.answered(other[0], .matches, now: .seconds(10)) == true)
        let repair = core.due(now: .seconds(10))
        #expect(repair.map(\.purpose) == [.repair])
        #expect(core.answered(repair[0], .matches, now: .seconds(10)) == true)
        #expect(core.due(now: .seconds(10)) == [])
    }

    @Test func `repairs are spread within their time limit`() {
        var core = Self.following(0..<500)
        for job in 0..<500 { _ = core.repair(job, within: .seconds(2), now: 0) }
        #expect(core.due(now: 0) == [] && core.repairsOutstanding == 500)
        var begun: [Int] = []
        for now in stride(from: 0, through: UInt64.seconds(2) + Self.tick, by: Int(Self.tick)) {
            let reads = core.due(now: now)
            begun.append(reads.count)
            for read in reads { #expect(core.answered(read, .matches, now: now) == true) }
        }
        #expect(begun.reduce(0, +) == 500 && begun.max() ?? 0 < 50)
        #expect(core.repairsOutstanding == 0)
    }

    @Test func `a spread is limited to the latest check`() {
        var core = Self.following(0..<50)
        for job in 0..<50 { _ = core.repair(job, within: .seconds(60), now: 0) }
        #expect(core.due(now: .seconds(9) + Self.tick).count { $0.purpose == .repair } == 50)
    }
}

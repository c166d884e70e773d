// What follows the result of a read: a rest, a second check, a repair or a retry. An unfollowed job leaves nothing
// behind.

import Resilience
import Testing

@Suite struct ResyncAnswersTests {
    private typealias Core = ResyncScheduler<Int>
    private static let tick = UInt64.milliseconds(50)

    /// The time of the job's next read, ns, checking every tick from `now`, and that read.
    private static func next(_ core: inout Core, from now: UInt64) -> (at: UInt64, read: Core.Read)? {
        for at in stride(from: now, through: now + .seconds(12), by: Int(Self.tick)) {
            if let read = core.due(now: at).first { return (at, read) }
        }
        return nil
    }

    private static func following() -> Core { RereadingTests.following(0..<1) }

    @Test func `a mismatch is checked a second time before it is repaired`() throws {
        var core = Self.following()
        let first = try #require(Self.next(&core, from: 0))
        #expect(core.answered(first.read, .mismatch, now: first.at) == true)
        #expect(core.repairsOutstanding == 0)
        let second = try #require(Self.next(&core, from: first.at))
        #expect(second.read.purpose == .check && second.read.isConfirmation && !first.read.isConfirmation)
        #expect(second.at - first.at >= .milliseconds(250) && second.at - first.at <= .milliseconds(250) + Self.tick)
        #expect(core.answered(second.read, .mismatch, now: second.at) == true)
        #expect(core.repairsOutstanding == 1)
        let third = try #require(Self.next(&core, from: second.at))
        #expect(third.read.purpose == .repair && !third.read.isConfirmation && third.at - second.at <= Self.tick)
    }

    @Test func `a second check that matches clears the mismatch`() throws {
        var core = Self.following()
        var look = try #require(Self.next(&core, from: 0))
        for answer in [.mismatch, .matches, .mismatch] as [Core.Answer] {
            #expect(core.answered(look.read, answer, now: look.at) == true)
            look = try #require(Self.next(&core, from: look.at))
            #expect(look.read.purpose == .check)
        }
        #expect(core.repairsOutstanding == 0)
    }

    @Test func `a repair that leaves a mismatch is retried after a delay`() throws {
        var core = Self.following()
        _ = core.repair(0, now: 0)
        let first = try #require(Self.next(&core, from: 0))
        #expect(core.answered(first.read, .mismatch, now: first.at) == true)
        #expect(core.repairsOutstanding == 1)
        let second = try #require(Self.next(&core, from: first.at))
        #expect(second.read.purpose == .repair && second.at - first.at >= .milliseconds(250))
        #expect(core.answered(second.read, .matches, now: second.at) == true)
        #expect(core.repairsOutstanding == 0)
    }

    @Test(arguments: [0, 1, 2, 3, 8, 70])
    func `a failed read is retried after a random delay below a ceiling that doubles`(failures: Int) throws {
        let ceiling = min(UInt64.seconds(1), .milliseconds(200) << UInt64(min(failures, 10)))
        var waits: [UInt64] = []
        for seed in 0..<100 as Range<UInt64> {
            var core = RereadingTests.following(0..<1, seed: seed)
            _ = core.repair(0, now: 0)
            var look = try #require(Self.next(&core, from: 0))
            var wait: UInt64 = 0
            for _ in 0...failures {
                #expect(core.answered(look.read, .failed, now: look.at) == false)
                let next = try #require(Self.next(&core, from: look.at))
                #expect(next.read.purpose == .repair)
                (wait, look) = (next.at - look.at, next)
            }
            #expect(core.repairsOutstanding == 1)
            waits.append(wait)
        }
        #expect(waits.allSatisfy { $0 <= ceiling + Self.tick })
        #expect(waits.contains { $0 >= ceiling / 2 } && waits.contains { $0 <= ceiling / 2 })
    }

    @Test func `a failed check is retried as a check and does not affect followers`() throws {
        var core = Self.following()
        let first = try #require(Self.next(&core, from: 0))
        #expect(core.answered(first.read, .failed, now: first.at) == false)
        #expect(core.repairsOutstanding == 0)
        let second = try #require(Self.next(&core, from: first.at))
        #expect(second.read.purpose == .check && second.at - first.at <= .milliseconds(250))
    }

    @Test func `during an outage a job is checked no more often than usual`() throws {
        var core = Self.following()
        var look = try #require(Self.next(&core, from: 0))
        var waits: [UInt64] = []
        for _ in 0..<20 {
            #expect(core.answered(look.read, .failed, now: look.at) == false)
            let next = try #require(Self.next(&core, from: look.at))
            #expect(next.read.purpose == .check)
            waits.append(next.at - look.at)
            look = next
        }
        #expect(waits[0] <= .milliseconds(250))
        #expect(waits.dropFirst().allSatisfy { $0 >= .seconds(5) && $0 <= .seconds(9) + Self.tick })
        // The outage ends: followers do not wait for the next check.
        _ = core.repair(0, now: look.at)
        #expect(core.answered(look.read, .failed, now: look.at) == false)
        let repair = try #require(Self.next(&core, from: look.at))
        #expect(repair.read.purpose == .repair && repair.at - look.at <= .seconds(1) + Self.tick)
        // A check that fails after that is repeated soon again.
        #expect(core.answered(repair.read, .matches, now: repair.at) == true)
        let check = try #require(Self.next(&core, from: repair.at))
        #expect(core.answered(check.read, .failed, now: check.at) == false)
        #expect(try #require(Self.next(&core, from: check.at)).at - check.at <= .milliseconds(250))
    }

    @Test func `repeated repair requests do not bypass the back-off after a failure`() throws {
        var waits: [UInt64] = []
        for seed in 0..<50 as Range<UInt64> {
            var core = RereadingTests.following(0..<1, seed: seed)
            _ = core.repair(0, now: 0)
            let first = try #require(Self.next(&core, from: 0))
            _ = core.repair(0, now: first.at)
            #expect(core.answered(first.read, .failed, now: first.at) == false)
            _ = core.repair(0, now: first.at)
            waits.append(try #require(Self.next(&core, from: first.at)).at - first.at)
            #expect(core.repairsOutstanding == 1)
        }
        #expect(waits.allSatisfy { $0 >= Self.tick } && waits.contains { $0 >= .milliseconds(150) })
    }

    @Test func `a check that fails after a repair request is retried as a repair`() throws {
        var core = Self.following()
        let check = try #require(Self.next(&core, from: 0))
        _ = core.repair(0, now: check.at)
        #expect(core.answered(check.read, .failed, now: check.at) == false)
        #expect(core.repairsOutstanding == 1)
        let next = try #require(Self.next(&core, from: check.at))
        #expect(next.read.purpose == .repair)
        #expect(core.answered(next.read, .matches, now: next.at) == true)
        #expect(core.repairsOutstanding == 0)
    }

    @Test func `an unfollowed job leaves nothing behind, whatever its state`() {
        var core = RereadingTests.following(0..<6, maxInFlight: 3)
        _ = core.repair(0, now: 0)
        _ = core.repair(1, now: 0)
        let reading = core.due(now: 0)
        _ = core.repair(1, now: 0)
        _ = core.repair(2, within: .seconds(1), now: 0)
        _ = core.answered(reading[0], .failed, now: 0)
        _ = core.repair(3, now: 0)
        #expect(core.count == 6 && core.repairsOutstanding == 4)
        for job in 0..<6 { core.unfollow(job) }
        core.unfollow(0)
        #expect(core.count == 0 && core.repairsOutstanding == 0)
        #expect(core.repair(0, now: 0) == false)
        #expect(core.count == 0 && core.repairsOutstanding == 0)
        #expect(core.answered(reading[1], .matches, now: 0) == false)
        #expect(core.inFlight == 0)
        for now in stride(from: 0, to: UInt64.seconds(20), by: Int(Self.tick)) { #expect(core.due(now: now) == []) }
    }

    @Test func `a job followed again starts afresh`() throws {
        var core = Self.following()
        _ = core.repair(0, now: 0)
        let old = try #require(Self.next(&core, from: 0))
        core.unfollow(0)
        core.follow(0, now: old.at)
        core.follow(0, now: old.at)
        #expect(core.count == 1)
        _ = core.repair(0, now: old.at)
        let new = try #require(Self.next(&core, from: old.at))
        #expect(core.answered(old.read, .matches, now: new.at) == false)
        #expect(core.repairsOutstanding == 1)
        #expect(core.answered(new.read, .matches, now: new.at) == true)
        #expect(core.repairsOutstanding == 0 && core.inFlight == 0)
        let check = try #require(Self.next(&core, from: new.at))
        #expect(check.read.purpose == .check && check.at - new.at >= .seconds(5))
    }

    @Test(arguments: [.seconds(2), .seconds(20)] as [UInt64])
    func `a slow read does not postpone the next check`(duration: UInt64) throws {
        var core = Self.following()
        _ = core.repair(0, now: 0)
        let first = try #require(Self.next(&core, from: 0))
        _ = core.due(now: duration)
        #expect(core.answered(first.read, .matches, now: duration) == true)
        let check = try #require(Self.next(&core, from: duration))
        #expect(check.at <= max(.seconds(9), duration) + Self.tick)
    }

    @Test func `after a long pause every job is checked once`() {
        var core = RereadingTests.following(0..<100)
        let reads = core.due(now: .seconds(3_600))
        #expect(Set(reads.map(\.job)).count == 100 && reads.count == 100)
        for read in reads { #expect(core.answered(read, .matches, now: .seconds(3_600)) == true) }
        #expect(core.due(now: .seconds(3_600)) == [])
        #expect(core.due(now: .seconds(3_600) + .milliseconds(4_900)) == [])
        #expect(core.due(now: .seconds(3_609) + Self.tick).count == 100)
    }
}

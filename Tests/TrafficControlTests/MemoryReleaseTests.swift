import Testing

@testable import TrafficControl

/// When free memory is returned to the operating system.
@Suite struct MemoryReleaseTests {
    private static let second: UInt64 = 1_000_000_000
    private static let limit = 400 << 20

    /// Returns the seconds at which releases start within a minute, if memory is measured once a second.
    private static func starts(
        percent: Int, isPaused: Bool, limit: Int = limit, each milliseconds: UInt64 = 10
    ) -> [UInt64] {
        var (release, starts) = (MemoryRelease(limitBytes: limit), [UInt64]())
        for time in 1...60 as ClosedRange<UInt64> {
            let now = time * Self.second
            guard release.shouldStart(memoryBytes: limit / 100 * percent, isPaused: isPaused, now: now) else {
                continue
            }
            starts.append(time)
            release.ended(now: now + milliseconds * 1_000_000)
        }
        return starts
    }

    @Test func `memory is released from 90 % of the limit, every ten seconds, and not below`() {
        #expect(Self.starts(percent: 89, isPaused: false) == [])
        #expect(Self.starts(percent: 90, isPaused: false) == [1, 11, 21, 31, 41, 51])
        #expect(Self.starts(percent: 99, isPaused: false) == [1, 11, 21, 31, 41, 51])
    }

    @Test func `while accepting is paused because of memory, each measurement releases it`() {
        #expect(Self.starts(percent: 100, isPaused: true) == Array(1...60))
        // Also below 90 %: accepting resumes with the next measurement.
        #expect(Self.starts(percent: 50, isPaused: true).first == 1)
    }

    @Test func `without a limit nothing is released`() {
        #expect(Self.starts(percent: 100, isPaused: true, limit: 0) == [])
    }

    @Test func `releases that take long are rarer, so that they take at most 2 % of the time`() {
        #expect(Self.starts(percent: 100, isPaused: true, each: 200) == [1, 11, 21, 31, 41, 51])
        #expect(Self.starts(percent: 90, isPaused: false, each: 2_000) == [1])
    }

    @Test func `no release starts before the last one has ended`() {
        var release = MemoryRelease(limitBytes: Self.limit)
        let starts = (1...100 as ClosedRange<UInt64>).filter {
            release.shouldStart(memoryBytes: Self.limit, isPaused: true, now: $0 * Self.second)
        }
        #expect(starts == [1])
    }

    @Test func `a gateway that exceeds its limit just after a release does not wait for the next regular one`() {
        var release = MemoryRelease(limitBytes: Self.limit)
        let starts = [(1, 95), (2, 95), (3, 100)].filter { (time: UInt64, percent: Int) in
            let isStarted = release.shouldStart(
                memoryBytes: Self.limit / 100 * percent, isPaused: percent == 100, now: time * Self.second)
            if isStarted { release.ended(now: time * Self.second) }
            return isStarted
        }
        #expect(starts.map(\.0) == [1, 3])
    }
}

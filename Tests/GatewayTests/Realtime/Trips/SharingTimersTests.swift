import EnrouteWire
import Testing

@testable import Realtime

@Suite struct SharingTimersTests {
    private static let jobs = (0..<4).map { JobID("job-\($0)")! }

    @Test func `beyond the maximum number of jobs, the sharing timer that is due first is dropped`() {
        var timers = SharingTimers<String>(maxJobs: 3)
        for (job, deadline) in zip(Self.jobs, [300, 100, 200] as [Int64]) {
            let cancelled = timers.set(job.text, for: job, at: deadline)
            #expect(cancelled == nil)
        }
        let dropped = timers.set("job-3", for: Self.jobs[3], at: 50)
        #expect(dropped == "job-1")
        #expect(timers.count == 3)
        let removed = timers.remove(Self.jobs[1])
        #expect(removed == nil)
    }

    @Test func `a new sharing timer of a job replaces the previous one and drops no other`() {
        var timers = SharingTimers<String>(maxJobs: 2)
        for job in Self.jobs.prefix(2) { _ = timers.set(job.text, for: job, at: 100) }
        let replaced = timers.set("again", for: Self.jobs[0], at: 200)
        #expect(replaced == "job-0")
        let removed = Self.jobs.prefix(2).map { timers.remove($0) }
        #expect(removed == ["again", "job-1"])
        #expect(timers.count == 0)
    }

    @Test func `at the end of a session all its sharing timers are cancelled`() {
        var timers = SharingTimers<String>(maxJobs: 2)
        for job in Self.jobs.prefix(3) { _ = timers.set(job.text, for: job, at: 100) }
        let cancelled = timers.removeAll()
        #expect(cancelled.count == 2 && cancelled.contains("job-2"))
        #expect(timers.count == 0)
    }
}

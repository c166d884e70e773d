import Access
import EnrouteWire
import Jobs
import LiveState
import NIOCore
import NIOPosix
import Redis
import Telemetry
import TestSupport
import Testing
import TrafficControl

@testable import Realtime

/// Reading followed jobs again, without a gateway.
@Suite struct JobResyncTests {
    /// A regression: each read failed immediately and started the next one on its own stack. A gateway with 5,000
    /// followed jobs crashed when it lost the connection to Redis.
    @Test func `while Redis is not connected, reads of any number of jobs need no deeper stack`() async throws {
        let nowhere = RedisAddress(endpoint: .unix(path: "/nonexistent.sock"))
        let client = try await RedisClient.made(at: nowhere)
        let eventLoop = client.eventLoop
        let (isSettled, repairs) = try await eventLoop.submit {
            let counts = LoopCounts()
            let jobs = Self.jobs(client)
            let deadlines = Deadlines(now: .now())
            let resync = JobResync(
                eventLoop: eventLoop, jobs: jobs, counts: counts, bounds: .init(),
                limits: TimeLimits(deadlines: deadlines, jobs: jobs, eventLoop: eventLoop), logger: .quiet)
            let names = (0..<20_000).map { JobID("job-\($0)")! }
            for name in names { resync.follow(name) }
            for name in names { resync.schedule(name, within: 1) }
            // The repairs are due in the next tick of the scheduler.
            let due = NIODeadline.now() + .milliseconds(200)
            while NIODeadline.now() < due {}
            resync.startDue()
            return (resync.isSettled, counts.values[.jobRepairResyncs])
        }.get()
        // All of them failed, and are tried again later.
        #expect(repairs == 20_000)
        #expect(!isSettled)
    }

    private static func jobs(_ client: RedisClient) -> JobService {
        let settings = LiveStateSettings()
        return JobService(
            ledger: JobLedger(ledger: client, settings: settings), feed: JobFeed(live: client, settings: settings),
            riders: Riders(ledger: client, settings: settings), revocations: Revocations(),
            notes: ValidationSummaryStore(live: client, settings: settings), freshness: .seconds(30),
            settings: settings,
            onErased: { _, _, _ in })
    }
}

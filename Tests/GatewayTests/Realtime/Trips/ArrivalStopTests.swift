import Access
import EnrouteClient
import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Jobs
@testable import Realtime

/// `ENROUTE_TRACKING_STOP_SHARING_ON_ARRIVAL`: nobody requests this stop, so nobody repeats it if a step fails.
@Suite struct ArrivalStopTests {
    /// Meters per degree of latitude.
    private static let metersOfDegree = 111_195.0
    private static let job = JobID("job-1")!

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.limits.allowManyMessages()
                (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (1_000_000, 1_000_000)
                settings.validation.allowJumps()
                settings.arrivalStopsTravel = true
            } _: { gateway in
                _ = try await gateway.travellingJob(Self.job.text)
                try await body(gateway)
            }
        }
    }

    /// Switches travel mode on, and arrives after `body`.
    private static func arrive(
        _ gateway: RunningGateway, after body: @Sendable () async throws -> Void,
        then check: @Sendable () async throws -> Void
    ) async throws {
        try await gateway.connect("rider-1", .rider) { rider, answers in
            try await rider.send(.travel(job: Self.job, active: true))
            _ = try await answers.travelAnswer()
            let notes = ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState)
            try await becomes("the start is recorded") { try await notes.read(Self.job).get().sharingAt != nil }
            try await body()
            for (meters, ago) in [(450.0, 50_000), (20, 40_000), (20, 15_000)] as [(Double, Int64)] {
                let place = Coordinate(latitude: 41.9 - meters / Self.metersOfDegree, longitude: 12.5)!
                let fix = Fix(
                    at: WallClock.nowMilliseconds - ago, place: place, accuracyMeters: 5, speedMetersPerSecond: 1)
                try await rider.send(.location(LocationReport(job: Self.job, sequence: 1, fixes: [fix])))
            }
            _ = try await answers.first { if case .proximity(_, .arrived) = $0 { true } else { nil } }
            try await check()
        }
    }

    private static func isTravelling(_ gateway: RunningGateway) async throws -> Bool? {
        try await gateway.ledger.recover(Self.job).get()?.record.isTravelling
    }

    /// Keeps the ledger from changing the job during `body`.
    private static func blocked(_ gateway: RunningGateway, _ body: () async throws -> Void) async throws {
        let key = gateway.settings.liveState.keyspace.job(Self.job)
        try await gateway.client.run("RENAME", key, "aside")
        try await gateway.client.run("SET", key, "malformed")
        try await body()
        try await gateway.client.run("RENAME", "aside", key)
    }

    @Test func `sharing stops on arrival even if the arrival cannot be stored for followers`() async throws {
        try await Self.run { gateway in
            try await Self.arrive(gateway) {
                let key = gateway.settings.liveState.keyspace.verdicts(of: Self.job)
                try await gateway.client.run("SET", key, "malformed")
            } then: {
                try await becomes("travel mode is off") { try await Self.isTravelling(gateway) == false }
                #expect(try await gateway.feed.read(Self.job).get().isOpen == false)
            }
        }
    }

    @Test func `a stop on arrival that the ledger could not record is repeated until it is recorded`() async throws {
        try await Self.run { gateway in
            let key = gateway.settings.liveState.keyspace.job(Self.job)
            try await Self.arrive(gateway) {
                try await gateway.client.run("RENAME", key, "aside")
                try await gateway.client.run("SET", key, "malformed")
            } then: {
                try await gateway.waitForMetric(#"enroute_unfinished_changes_total{outcome="deferred"} 1"#)
                #expect(try await gateway.feed.read(Self.job).get().isOpen == false)
                try await gateway.client.run("RENAME", "aside", key)
                try await becomes("travel mode is off", within: .seconds(60)) {
                    try await Self.isTravelling(gateway) == false
                }
                try await gateway.waitForMetric(#"enroute_unfinished_changes_total{outcome="finished"} 1"#)
            }
        }
    }

    @Test func `a stop on arrival is not repeated once the rider has switched travel mode on again`() async throws {
        try await Self.run { gateway in
            let (jobs, rider) = (gateway.jobs(), PersonID("rider-1")!)
            _ = try await jobs.startTravel(Self.job, by: rider, on: .requests).get()
            let (asked, onAsked) = AsyncStream.makeStream(of: Void.self)
            try await Self.blocked(gateway) {
                let first = jobs.stopTravelOnArrival(
                    Self.job, of: rider,
                    while: {
                        onAsked.finish()
                        return false
                    }, onStopped: { Issue.record("travel mode was switched off") })
                await #expect(throws: RedisError.self) { try await first.get() }
                for await _ in asked {}
            }
            #expect(try await Self.isTravelling(gateway) == true)
        }
    }

    /// Only an attempt that fails is repeated.
    @Test func `a stop on arrival that is refused, because another rider has the job, does not count as failed`()
        async throws
    {
        try await Self.run { gateway in
            let jobs = gateway.jobs()
            _ = try await jobs.startTravel(Self.job, by: PersonID("rider-1")!, on: .requests).get()
            try await jobs.stopTravelOnArrival(
                Self.job, of: PersonID("rider-2")!, while: { true },
                onStopped: { Issue.record("travel mode was switched off") }
            ).get()
            #expect(try await Self.isTravelling(gateway) == true)
            #expect(try await gateway.feed.read(Self.job).get().isOpen)
        }
    }
}

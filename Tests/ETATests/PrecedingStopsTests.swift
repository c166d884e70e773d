import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@testable import ETA

/// What a gateway knows about the stops that a rider makes before a job.
@Suite struct PrecedingStopsTests {
    private static let job = JobID("job-9")!
    private static let rider = PersonID("rider-1")!
    private static let place = Coordinate(latitude: 48.2351, longitude: 16.4138)!

    /// Creates a job with a destination and these statuses.
    private static func create(
        _ name: String, _ kind: JobKind, rider: PersonID = PrecedingStopsTests.rider, _ statuses: [JobStatus],
        in ledger: JobLedger
    ) async throws -> JobID {
        let job = JobID(name)!
        _ = try await ledger.create(
            NewJob(
                job: job, kind: kind, customer: PersonID("anna")!, rider: rider, destination: Self.place,
                actor: PersonID("service")!), epoch: "epoch-\(name)"
        ).get()
        for status in statuses {
            _ = try await ledger.publish(status, of: job, by: PersonID("service")!, source: "event").get()
        }
        return job
    }

    private static let underway: [JobStatus] = [.accepted, .preparing, .readyForPickup, .inTransit]

    /// The stops before the job, if the rider makes `stop` first.
    private static func stops(
        _ kind: JobKind, rider: PersonID = PrecedingStopsTests.rider, _ statuses: [JobStatus]
    ) async throws -> [Coordinate?] {
        try await withRedis { client, _ in
            let settings = LiveStateSettings()
            let ledger = JobLedger(ledger: client, settings: settings)
            let sequences = StopSequenceStore(live: client, settings: settings)
            let stop = try await Self.create("job-1", kind, rider: rider, statuses, in: ledger)
            try await sequences.store([stop], before: Self.job).get()
            return try await PrecedingStops(stopSequences: sequences, ledger: ledger)
                .stops(before: Self.job, of: Self.rider).get()
        }
    }

    @Test func `a delivery before is a stop at its destination, until it is delivered`() async throws {
        #expect(try await Self.stops(.delivery, Self.underway) == [Self.place])
        #expect(try await Self.stops(.delivery, Self.underway + [.delivered]).isEmpty)
    }

    @Test(arguments: [[JobStatus.onTheWay], [.onTheWay, .workInProgress]])
    func `a visit before is a stop of unknown length, also while the rider works there`(
        statuses: [JobStatus]
    ) async throws {
        #expect(try await Self.stops(.service, statuses) == [nil])
    }

    @Test func `a completed or cancelled visit and the stop of another rider are ignored`() async throws {
        #expect(try await Self.stops(.service, [.onTheWay, .workInProgress, .completed]).isEmpty)
        #expect(try await Self.stops(.service, [.onTheWay, .cancelled]).isEmpty)
        #expect(try await Self.stops(.service, rider: PersonID("rider-2")!, [.onTheWay]).isEmpty)
    }
}

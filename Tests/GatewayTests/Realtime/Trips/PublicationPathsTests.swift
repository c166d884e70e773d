import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@testable import Realtime

/// Which publication path a report takes.
@Suite struct PublicationPathsTests {
    private static let riders = (PersonID("rider-1")!, PersonID("rider-2")!)

    private static func job(_ number: Int) -> JobID { JobID("job-\(number)")! }

    @Test func `a path is that of its job, rider and device, however many jobs there are`() async throws {
        let client = try await RedisClient.made(at: RedisAddress(endpoint: .unix(path: "/nonexistent.sock")))
        let publisher = LocationPublisher(live: client, settings: LiveStateSettings())
        var paths = PublicationPaths(maxJobs: 4)
        for number in [0, 1, 0, 2, 3, 4, 5, 0, 5, 5, 1] {
            for rider in [Self.riders.0, Self.riders.1, Self.riders.0] {
                for reporter in [Reporter.requests, Reporter(DeviceID("phone")!), .requests] {
                    let path = paths.path(for: Self.job(number), by: rider, on: reporter, publisher)
                    #expect(path.job == Self.job(number) && path.rider == rider && path.reporter == reporter)
                }
            }
        }
        #expect(paths.count <= 4)
    }
}

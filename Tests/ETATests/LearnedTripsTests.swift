import EnrouteWire
import Testing
import Tracking

@testable import ETA

/// What is remembered about trips whose last follower has disconnected.
@Suite struct LearnedTripsTests {
    private static let (rider, other) = (PersonID("rider-1")!, PersonID("rider-2")!)
    private static let job = JobID("job-1")!

    private static func seconds(_ count: Double) -> UInt64 { UInt64(count * 1e9) }

    @Test func `a trip is found once, by its rider`() {
        let trips = LearnedTrips()
        trips.store(TravelEstimator(vehicle: .foot), of: Self.job, by: Self.rider, now: 0)
        #expect(trips.remove(JobID("job-2")!, of: Self.rider, now: 1) == nil)
        #expect(trips.remove(Self.job, of: Self.rider, now: 1)?.vehicle == .foot)
        #expect(trips.remove(Self.job, of: Self.rider, now: 1) == nil)
        trips.store(TravelEstimator(vehicle: .foot), of: Self.job, by: Self.rider, now: 0)
        #expect(trips.remove(Self.job, of: Self.other, now: 1) == nil)
        #expect(trips.remove(Self.job, of: Self.rider, now: 1) == nil)
    }

    @Test func `a trip is forgotten after five minutes`() {
        let trips = LearnedTrips()
        for (number, now) in [(1, 0.0), (2, 100)] {
            trips.store(TravelEstimator(), of: JobID("job-\(number)")!, by: Self.rider, now: Self.seconds(now))
        }
        #expect(trips.count == 2)
        trips.expire(now: Self.seconds(299))
        #expect(trips.count == 2)
        trips.expire(now: Self.seconds(300))
        #expect(trips.count == 1)
        #expect(trips.remove(JobID("job-2")!, of: Self.rider, now: Self.seconds(400)) == nil)
    }

    @Test func `at most 1,000 trips are stored, and the newest state of each`() {
        let trips = LearnedTrips()
        for number in 0..<1_100 {
            trips.store(TravelEstimator(), of: JobID("job-\(number)")!, by: Self.rider, now: 0)
        }
        #expect(trips.count == LearnedTrips.maxTrips)
        trips.store(TravelEstimator(vehicle: .van), of: JobID("job-7")!, by: Self.rider, now: 1)
        #expect(trips.remove(JobID("job-7")!, of: Self.rider, now: 1)?.vehicle == .van)
    }
}

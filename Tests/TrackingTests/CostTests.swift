import Foundation
import Testing

@testable import Tracking

@Suite struct CostTests {
    /// All that one job keeps.
    private struct Job {
        var validator = LocationValidator()
        var estimator = TravelEstimator()
        var fence: Geofence
        var rate = ReportRate()
        var arrival = ArrivalTime()

        init(destination: Point) { self.fence = Geofence(destination: destination) }

        mutating func take(_ reading: Reading) -> Bool {
            let receipt = LocationValidator.Receipt(reading)
            guard case .accepted = self.validator.validate(reading, received: receipt) else { return false }
            self.estimator.observe(reading)
            _ = self.fence.observe(reading)
            let meters = reading.point.meters(to: self.fence.destination)
            self.arrival.observe(metersToGo: meters, now: receipt.monotonic)
            _ = self.rate.observe(
                .init(
                    isFollowed: true, metersToGo: meters,
                    speedMetersPerSecond: reading.speedMetersPerSecond ?? 0))
            if let calculation = self.arrival.begin(isFollowed: true, now: receipt.monotonic) {
                let seconds = self.estimator.seconds(to: self.fence.destination) ?? 0
                self.arrival.succeeded(calculation, seconds: seconds, now: receipt.monotonic)
            }
            return true
        }
    }

    private static var cpuNanoseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// ns of CPU a reading may cost, all that is decided of it together; held by `make bench BENCH=tracking`, on a quiet machine.
    private static let most = 2000

    /// With ENROUTE_REPORT set it says what a reading costs, and fails when that is too much.
    @Test func `5,000 followed jobs that report once a second lose no reading`() throws {
        let (trip, jobs, seconds) = (Recordings.generated(seed: 7), 5000, 60)
        var all = Array(repeating: Job(destination: trip[trip.count - 1].point), count: jobs)
        var accepted = 0
        let began = Self.cpuNanoseconds
        for second in 0..<seconds {
            for job in all.indices where all[job].take(trip[second]) { accepted += 1 }
        }
        let spent = Self.cpuNanoseconds - began
        #expect(accepted == jobs * seconds)
        if ProcessInfo.processInfo.environment["ENROUTE_REPORT"] != nil {
            let cost = spent / (jobs * seconds)
            print("Tracking: \(cost) ns of CPU a fix, \(MemoryLayout<Job>.size) bytes a job")
            #expect(cost < Self.most)
        }
    }
}

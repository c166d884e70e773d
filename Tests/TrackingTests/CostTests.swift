import EnrouteWire
import Foundation
import Testing

@testable import Tracking

@Suite struct CostTests {
    /// The state of one followed job.
    private struct Job {
        var validator = LocationValidator()
        var movement = ShownMovement()
        var estimator = TravelEstimator()
        var fence: Geofence
        var rate = ReportRate()
        var arrival = ArrivalTime()
        var calculations = 0

        init(destination: Point) { self.fence = Geofence(destination: destination) }

        mutating func observe(_ reading: Reading) -> Bool {
            let receipt = LocationValidator.Receipt(reading)
            guard case .accepted = self.validator.validate(reading, received: receipt) else { return false }
            guard let place = Coordinate(latitude: reading.point.latitude, longitude: reading.point.longitude) else {
                return false
            }
            let fix = Fix(
                at: reading.at, place: place, accuracyMeters: reading.accuracyMeters,
                speedMetersPerSecond: reading.speedMetersPerSecond)
            _ = self.movement.show(fix, isAnew: false)
            self.estimator.observe(reading)
            _ = self.fence.observe(reading)
            let meters = reading.point.meters(to: self.fence.destination)
            self.arrival.observe(metersToGo: meters, now: receipt.monotonic)
            _ = self.rate.observe(
                .init(
                    isFollowed: true, metersToGo: meters,
                    speedMetersPerSecond: reading.speedMetersPerSecond ?? 0))
            if let calculation = self.arrival.start(isFollowed: true, now: receipt.monotonic) {
                self.calculations += 1
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

    /// Maximum CPU time of a reading in ns, for all decisions together. `make bench BENCH=tracking` checks it on an idle
    /// machine.
    private static let maxNanoseconds = 2000

    /// With ENROUTE_REPORT set, also prints the cost of a reading and fails if it is too high.
    @Test func `5,000 followed jobs that report once a second lose no reading and calculate at most twice a minute`() {
        let (trip, jobs, seconds) = (Recordings.generated(seed: 7), 5000, 60)
        var all = Array(repeating: Job(destination: trip[trip.count - 1].point), count: jobs)
        var accepted = 0
        let began = Self.cpuNanoseconds
        for second in 0..<seconds {
            for job in all.indices where all[job].observe(trip[second]) { accepted += 1 }
        }
        let spent = Self.cpuNanoseconds - began
        #expect(accepted == jobs * seconds)
        #expect(all.allSatisfy { (1...2).contains($0.calculations) })
        if ProcessInfo.processInfo.environment["ENROUTE_REPORT"] != nil {
            let cost = spent / (jobs * seconds)
            print("Tracking: \(cost) ns of CPU a fix, \(MemoryLayout<Job>.size) bytes a job")
            #expect(cost < Self.maxNanoseconds)
        }
    }

    @Test func `the state of a followed job has at most 1,800 bytes`() {
        #expect(MemoryLayout<Job>.size <= 1800)
    }
}

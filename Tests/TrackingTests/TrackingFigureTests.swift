import Foundation
import Testing

@testable import Tracking

/// What followers see of generated trips with faults. `make bench BENCH=tracking` prints the figures (ENROUTE_REPORT).
@Suite struct TrackingFigureTests {
    private static func print(_ name: String, _ value: Double) {
        guard ProcessInfo.processInfo.environment["ENROUTE_REPORT"] != nil else { return }
        Swift.print("figure \(name) \(value)")
    }

    /// A rider that starts at a place and moves north at a constant speed, read once a second.
    private static func steady(_ metersPerSecond: Double, seconds: Int) -> [Reading] {
        (0..<seconds).map { second in
            var reading = Reading(
                at: Recordings.start, point: Point(latitude: 41.9, longitude: 12.5), accuracyMeters: 5)
            reading.at += Int64(second) * 1000
            reading.point.latitude += Double(second) * metersPerSecond / 111_195
            return reading
        }
    }

    /// The share of readings that are not shown, in percent.
    ///
    /// - Parameter behind: how many ms the phone's clock is behind.
    private static func missing(_ readings: [Reading], behind: Int64 = 0) -> Double {
        var (validator, shown) = (LocationValidator(), 0)
        for reading in readings {
            var sent = reading
            sent.at -= behind
            if case .accepted = validator.validate(sent, received: .init(reading, lateMilliseconds: 150)) { shown += 1 }
        }
        return 100 * Double(readings.count - shown) / Double(readings.count)
    }

    /// The furthest that followers see a rider from where it is, in m, when readings are at a false place for 14 s.
    private static func furthest(_ trip: [Reading], _ meters: Double, every interval: Int) -> Double {
        var (validator, furthest) = (LocationValidator(), 0.0)
        for index in stride(from: 0, to: trip.count, by: interval) {
            let isFalse = (60..<74).contains(index)
            _ = validator.validate(isFalse ? trip[index].moved(northMeters: meters) : trip[index])
            guard let shown = validator.shown, case let second = Int((shown.at - trip[0].at) / 1000) else { continue }
            furthest = max(furthest, trip[min(second, trip.count - 1)].point.meters(to: shown.point))
        }
        return furthest
    }

    @Test(arguments: [300.0, 3000, 20_000])
    func `followers see no false place that lasts for 14 s`(meters: Double) {
        var most = 0.0
        for seed in 0..<5 as Range<UInt64> {
            let trip = Recordings.generated(seed: seed)
            for interval in [1, 2, 5] { most = max(most, Self.furthest(trip, meters, every: interval)) }
        }
        Self.print("false_place_\(Int(meters))", most)
        #expect(most < 20)
    }

    @Test func `a train at 300 km per hour is missing for under 1 % of twenty minutes`() {
        let missing = Self.missing(Self.steady(83.3, seconds: 1200))
        Self.print("train_missing", missing)
        #expect(missing < 1)
    }

    @Test(arguments: [-75, -60, -30, 60, 75] as [Int64])
    func `a wrong clock costs under 1 % of the readings`(seconds: Int64) {
        let missing = Self.missing(Self.steady(8, seconds: 244), behind: seconds * 1000)
        Self.print("clock_missing_\(seconds < 0 ? "fast" : "slow")_\(abs(seconds))", missing)
        #expect(missing < 1)
    }

    @Test func `trips without faults lose nothing`() {
        let missing = (0..<20 as Range<UInt64>).map { Self.missing(Recordings.generated(seed: $0)) }.max() ?? 100
        Self.print("clean_missing", missing)
        #expect(missing == 0)
    }
}

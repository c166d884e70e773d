import EnrouteWire
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

    /// The greatest distance in m between the shown and the true position of a rider, when readings are at a false place for
    /// 14 s.
    ///
    /// - Parameter start: s from the start of the trip.
    private static func furthest(
        _ trip: [Reading], _ meters: Double, every interval: Int, from start: Int = 60
    ) -> Double {
        var (validator, furthest) = (LocationValidator(), 0.0)
        for index in stride(from: 0, to: trip.count, by: interval) {
            let isFalse = (start..<start + 14).contains(index)
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

    @Test func `followers see no false place early in a trip either`() {
        var most = 0.0
        for seed in 0..<5 as Range<UInt64> {
            let trip = Recordings.generated(seed: seed)
            for start in [5, 8] { most = max(most, Self.furthest(trip, 3000, every: 1, from: start)) }
        }
        Self.print("false_place_early", most)
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

    @Test(arguments: [("walk", 1.3, Vehicle.foot, 4.6), ("bicycle", 5, .bicycle, 2.5), ("car", 14, .car, 1.75)])
    func `inaccurate readings result in a path of bounded length`(
        name: String, top: Double, vehicle: Vehicle, most: Double
    ) {
        for accuracy in [50.0, 100] {
            let ride = NoisyRide(top: top, seed: 3, accuracy: accuracy, deviation: accuracy / 1.51)
            let shown = ride.shown(by: vehicle, isFiltered: true)
            Self.print("length_\(name)_\(Int(accuracy))", shown.length)
            Self.print("length_raw_\(name)_\(Int(accuracy))", ride.shown(by: vehicle, isFiltered: false).length)
            Self.print("fastest_\(name)_\(Int(accuracy))", shown.fastest)
            #expect(shown.length <= most && shown.fastest < 60)
        }
    }

    @Test func `spikes of 55 m are hardly shown`() {
        var (most, steps) = (0.0, 0.0)
        for seed in 0..<5 as Range<UInt64> {
            var (filter, before) = (PositionFilter(), Point?.none)
            let readings = NoisyRide(top: 1.3, seed: seed, accuracy: 5, deviation: 1).readings()
            for (index, reading) in readings.enumerated() {
                let isFalse = index > 20 && index.isMultiple(of: 40)
                let shown = filter.observe(isFalse ? reading.moved(northMeters: 55) : reading).point
                if isFalse, let before { most = max(most, before.meters(to: shown)) }
                if isFalse { steps += 1 }
                before = shown
            }
        }
        Self.print("spike", most)
        #expect(most < 25 && steps > 100)
    }

    @Test(arguments: [true, false])
    func `a rider at 11 m per second reports every second near its destination`(tells: Bool) {
        var (rate, movement, interval) = (ReportRate(), ShownMovement(), 0.0)
        for (second, var reading) in Self.steady(11, seconds: 20).enumerated() {
            reading.speedMetersPerSecond = tells ? 11 : nil
            guard let place = Coordinate(latitude: reading.point.latitude, longitude: reading.point.longitude) else {
                continue
            }
            let fix = Fix(
                at: reading.at, place: place, accuracyMeters: 5, speedMetersPerSecond: reading.speedMetersPerSecond)
            let speed = movement.show(fix, isAnew: false).speedMetersPerSecond
            _ = rate.observe(
                .init(
                    isFollowed: true, metersToGo: 700 - Double(second) * 11,
                    speedMetersPerSecond: speed ?? TravelAssumptions.of(nil).speed))
            interval = rate.interval ?? 0
        }
        Self.print("asked_\(tells ? "told" : "untold")", interval)
        #expect(interval == 1)
    }

    @Test func `a tunnel of 90 s ends at once`() {
        var (validator, movement, late, after) = (LocationValidator(), ShownMovement(), 0, 0)
        for reading in Self.steady(20, seconds: 300) {
            let second = (reading.at - Recordings.start) / 1000
            guard !(100..<190).contains(second), case .accepted(let acceptance) = validator.validate(reading),
                let place = Coordinate(latitude: reading.point.latitude, longitude: reading.point.longitude)
            else { continue }
            let shown = movement.show(Fix(at: reading.at, place: place, accuracyMeters: 5), isAnew: acceptance == .anew)
            guard second >= 190 else { continue }
            after += 1
            if Point(shown.place).meters(to: reading.point) > 10 { late += 1 }
        }
        Self.print("tunnel", Double(late))
        #expect(late == 0 && after > 60)
    }

    /// Writes the input for `benchmarks/tracking.mjs`, which moves the page's marker by it.
    @Test func `rides as the gateway shows them have many positions, and are written to a file for the benchmark`()
        throws
    {
        let rides = try AskedRide.all()
        let least = Recordings.areChosen ? 10 : 100
        #expect(!rides.isEmpty && rides.allSatisfy { $0.messages.count > least })
        let json = try JSONEncoder().encode(rides)
        guard let path = ProcessInfo.processInfo.environment["ENROUTE_RIDES"] else { return }
        try json.write(to: URL(filePath: path))
    }

    @Test func `trips without faults lose nothing`() {
        let missing = (0..<20 as Range<UInt64>).map { Self.missing(Recordings.generated(seed: $0)) }.max() ?? 100
        Self.print("clean_missing", missing)
        #expect(missing == 0)
    }
}

import EnrouteWire
import Foundation
import Testing

@testable import Tracking

@Suite struct TravelEstimatorTests {
    private static let start = Reading(at: Recordings.start, point: Point(latitude: 50, longitude: 8))

    /// An estimator after a rider travelled north for this many seconds.
    private static func travelled(_ seconds: Int, metersPerSecond: Double, every: Int = 1) -> TravelEstimator {
        var estimator = TravelEstimator()
        for second in stride(from: 0, through: seconds, by: every) {
            var reading = self.start.moved(northMeters: Double(second) * metersPerSecond)
            reading.at += Int64(second) * 1000
            estimator.observe(reading)
        }
        return estimator
    }

    private static func away(_ meters: Double) -> Point { self.start.moved(northMeters: meters).point }

    @Test func `there is no estimate before the first reading, and the usual one after it`() throws {
        var estimator = TravelEstimator()
        #expect(estimator.seconds(to: Self.away(2000)) == nil)
        estimator.observe(Self.start)
        // 2 km at 5.28 m/s, and 85 s at the end.
        #expect((430...490).contains(try #require(estimator.seconds(to: Self.away(2000)))))
        #expect(estimator.seconds(to: Self.start.point) == 0)
    }

    @Test func `a longer distance takes longer, at a higher speed`() {
        let estimator = Self.travelled(0, metersPerSecond: 0)
        let seconds = [100.0, 500, 1000, 4000, 10_000, 50_000].map { meters in
            (meters, estimator.seconds(from: Self.start.point, to: Self.away(meters)))
        }
        for ((near, sooner), (far, later)) in zip(seconds, seconds.dropFirst()) {
            #expect(later > sooner && far / later >= near / sooner - 1e-9)
        }
    }

    @Test func `a fast rider arrives earlier and one in a traffic jam later, within limits`() {
        func seconds(_ speed: Double) -> Double {
            Self.travelled(1200, metersPerSecond: speed).seconds(from: Self.start.point, to: Self.away(4000))
        }
        #expect(seconds(20) < seconds(8) && seconds(8) < seconds(0.1))
        // An hour of standing must not make the estimate hours long.
        let stuck = Self.travelled(3600, metersPerSecond: 0).seconds(from: Self.start.point, to: Self.away(4000))
        #expect(stuck < 2.2 * seconds(8))
    }

    @Test func `nothing is learned from a silence`() {
        let known = Self.travelled(600, metersPerSecond: 10)
        var silent = known
        var far = Self.start.moved(northMeters: 300_000)
        far.at += 2000_000
        silent.observe(far)
        let (a, b) = (Self.away(0), Self.away(3000))
        #expect(silent.seconds(from: a, to: b) == known.seconds(from: a, to: b))
    }

    @Test func `a correction of the phone's clock does not count as travel time`() {
        for correction in [25.0, 50] {
            var (right, slow) = (TravelEstimator(), TravelEstimator())
            for second in 0...60 {
                var reading = Self.start.moved(northMeters: Double(second) * 10)
                reading.at += Int64(second) * 1000
                right.observe(reading)
                // After 12 s, the times of the phone advance by the correction.
                if second == 12 { slow.clockChanged() }
                if second < 12 { reading.at -= Int64(correction * 1000) }
                slow.observe(reading)
            }
            let (a, b) = (Self.away(600), Self.away(6600))
            #expect(abs(slow.seconds(from: a, to: b) - right.seconds(from: a, to: b)) < 15)
        }
    }

    @Test func `every vehicle has a usual progress, and a walker needs longest`() {
        func seconds(_ vehicle: Vehicle?) -> Double {
            var estimator = TravelEstimator(vehicle: vehicle)
            estimator.observe(Self.start)
            return estimator.seconds(from: Self.start.point, to: Self.away(3000))
        }
        #expect(seconds(.foot) > seconds(.bicycle) && seconds(.bicycle) > seconds(.car))
        #expect(seconds(nil) == seconds(.car))
        for vehicle in Vehicle.allCases { #expect((300...5000).contains(seconds(vehicle))) }
    }

    @Test(arguments: Vehicle.allCases)
    func `a route that is slower than usual makes the arrival later, in part`(vehicle: Vehicle) throws {
        var estimator = TravelEstimator(vehicle: vehicle)
        estimator.observe(Self.start)
        let (end, alone) = (Self.away(3000), estimator.seconds(from: Self.start.point, to: Self.away(3000)))
        func seconds(_ street: Double) -> Double {
            estimator.seconds(from: Self.start.point, through: [end], streetSeconds: street)
        }
        let usual = 3000 / TravelAssumptions.of(vehicle).streetSpeed
        #expect(abs(seconds(usual) - alone) < 1)
        #expect(seconds(2 * usual) > 1.2 * alone && seconds(2 * usual) < 1.5 * alone)
        #expect(seconds(usual / 2) < alone && seconds(usual / 2) > 0.7 * alone)
        // A route that cannot be right does not make the estimate hours long.
        #expect(seconds(1e9) < 1.6 * alone && seconds(0) > 0.6 * alone)
        // The time at a preceding stop is added.
        let path = MultiStopRoute(stops: [.init(destination: Self.away(1500)), .init(destination: end)]).path(to: 1)
        let along = try #require(estimator.seconds(along: path, from: Self.start.point, streetSeconds: 2 * usual))
        let moving = estimator.seconds(
            from: Self.start.point, through: [Self.away(1500), end], streetSeconds: 2 * usual)
        #expect(along == moving + MultiStopRoute.usualStop)
    }

    @Test(arguments: Vehicle.allCases)
    func `no estimate is faster than the streets if the route is far longer than the straight line`(vehicle: Vehicle) {
        var estimator = TravelEstimator(vehicle: vehicle)
        estimator.observe(Self.start)
        // The other bank of a river, 5 km away by the next bridge.
        let (end, usual) = (Self.away(200), 200 / TravelAssumptions.of(vehicle).streetSpeed)
        func seconds(_ ratio: Double) -> Double {
            estimator.seconds(from: Self.start.point, through: [end], streetSeconds: ratio * usual)
        }
        for ratio in [4.0, 6, 20, 80] {
            #expect(seconds(ratio) > 0.999 * ratio * usual)
            #expect(estimator.range(ofSeconds: seconds(ratio)).contains(seconds(ratio)))
        }
        // The estimate does not jump on the way to the bridge: it changes by at most a share of the usual seconds.
        for ratio in stride(from: 0.5, to: 6, by: 0.02) {
            let change = seconds(ratio + 0.02) - seconds(ratio)
            #expect(change >= 0 && change < 0.2 * usual, "\(ratio)")
        }
        // Up to three times the usual seconds, a detour counts only in part.
        let travel = seconds(2) - seconds(1)
        #expect(abs((seconds(3) - seconds(1)) / travel - (pow(3, 0.4) - 1) / (pow(2, 0.4) - 1)) < 1e-6)
    }

    @Test func `the range contains the estimate, and grows with it`() {
        for vehicle in Vehicle.allCases {
            let estimator = TravelEstimator(vehicle: vehicle)
            let (near, far) = (estimator.range(ofSeconds: 300), estimator.range(ofSeconds: 1200))
            #expect(near.contains(300) && far.contains(1200) && far.lowerBound > near.lowerBound)
            let over = estimator.range(ofSeconds: -5)
            #expect(over.lowerBound == 0 && over == estimator.range(ofSeconds: 0) && over.upperBound < 60)
        }
    }

    // MARK: the vehicle

    @Test(arguments: [(1.3, Vehicle.foot), (4, .bicycle), (12, .car)])
    func `an unknown vehicle is learned after two minutes of movement`(speed: Double, vehicle: Vehicle) {
        #expect(Self.travelled(100, metersPerSecond: speed, every: 5).assumedVehicle == nil)
        #expect(Self.travelled(200, metersPerSecond: speed, every: 5).assumedVehicle == vehicle)
    }

    @Test func `a known vehicle is not replaced by a learned one, and nothing is learned from a standing rider`() {
        var estimator = TravelEstimator(vehicle: .truck)
        for step in 0...100 {
            var reading = Self.start.moved(northMeters: Double(step) * 6)
            reading.at += Int64(step) * 5000
            estimator.observe(reading)
        }
        #expect(estimator.assumedVehicle == .truck)
        #expect(Self.travelled(1000, metersPerSecond: 0.1, every: 5).assumedVehicle == nil)
    }

    @Test func `a speed at a bound does not change the vehicle back and forth`() {
        var learned = LearnedVehicle()
        var (meters, seen) = (0.0, [Vehicle?]())
        for step in 0...400 {
            meters += step % 40 < 20 ? 2.3 * 20 : 2.7 * 20
            var reading = Self.start.moved(northMeters: meters)
            reading.at += Int64(step) * 20_000
            learned.observe(reading)
            if let vehicle = learned.vehicle, seen.last != vehicle { seen.append(vehicle) }
        }
        #expect(seen == [.foot])
    }

    // MARK: several stops

    @Test func `the path to the second job includes the first one and the time spent there`() throws {
        let (first, second) = (Self.away(3000), Self.away(-3000))
        let round = MultiStopRoute(stops: [.init(destination: first, seconds: 240), .init(destination: second)])
        #expect(round.path(to: 0) == .through([first], standingSeconds: 0))
        #expect(round.path(to: 1) == .through([first, second], standingSeconds: 240))
        let estimator = Self.travelled(0, metersPerSecond: 0)
        let there = Self.start.point
        let direct = estimator.seconds(from: there, to: second)
        let by = try #require(estimator.seconds(along: round.path(to: 1), from: there))
        let legs = estimator.seconds(from: there, to: first) + estimator.seconds(from: first, to: second)
        #expect(by == legs + 240 && by > direct + 240)
    }

    @Test func `after a stop without a known location there is no estimate, only the number of stops`() {
        let round = MultiStopRoute(stops: [
            .init(destination: nil), .init(destination: Self.away(10)), .init(destination: nil),
        ])
        #expect(round.path(to: 1) == .afterStops(1) && round.path(to: 2) == .unknown && round.path(to: 0) == .unknown)
        let estimator = Self.travelled(0, metersPerSecond: 0)
        #expect(estimator.seconds(along: round.path(to: 1), from: Self.start.point) == nil)
    }

    // MARK: the straight line

    @Test func `the straight-line baseline uses the mean speed so far`() throws {
        var line = StraightLineEstimator()
        #expect(line.seconds(to: Self.away(100)) == nil)
        line.observe(Self.start)
        var next = Self.start.moved(northMeters: 1000)
        next.at += 100_000
        line.observe(next)
        #expect(abs(try #require(line.seconds(to: Self.away(3000))) - 200) < 0.1)
    }
}

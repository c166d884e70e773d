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
        // About 2.8 km of streets at 7 m/s.
        #expect((350...450).contains(try #require(estimator.seconds(to: Self.away(2000)))))
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
        // An hour of standing must not predict hours.
        let stuck = Self.travelled(3600, metersPerSecond: 0).seconds(from: Self.start.point, to: Self.away(4000))
        #expect(stuck < 2 * seconds(8))
    }

    @Test func `nothing is learned from a silence`() {
        let known = Self.travelled(600, metersPerSecond: 10)
        var silent = known
        var far = Self.start.moved(northMeters: 300_000)
        far.at += 2000_000
        silent.observe(far)
        #expect(silent.detour.factor == known.detour.factor)
        let (a, b) = (Self.away(0), Self.away(3000))
        #expect(silent.seconds(from: a, to: b) == known.seconds(from: a, to: b))
    }

    @Test func `the detour factor learns from streets and is robust against wandering`() {
        func learned(_ path: (Double) -> (north: Double, east: Double), meters: Double) -> Double {
            var detour = DetourFactor()
            for step in stride(from: 0.0, to: meters, by: 10) {
                let (north, east) = path(step)
                detour.observe(Point(latitude: 50 + north / 111_195, longitude: 8 + east / 71_475))
            }
            return detour.factor
        }
        #expect(abs(DetourFactor().factor - 1.4) < 1e-9)
        let straight = learned({ ($0, 0) }, meters: 60_000)
        #expect(straight < 1.15 && straight > 1)
        // Blocks of 100 m, alternately north and east.
        let stairs = learned(
            { step in
                let (blocks, rest) = ((step / 100).rounded(.down), step.truncatingRemainder(dividingBy: 100))
                let isEast = Int(blocks).isMultiple(of: 2)
                let (half, other) = ((blocks / 2).rounded(.up), (blocks / 2).rounded(.down))
                return isEast ? (half * 100, other * 100 + rest) : (other * 100 + rest, half * 100)
            }, meters: 60_000)
        #expect((1.39...1.43).contains(stairs))
        let circling = learned({ ($0.truncatingRemainder(dividingBy: 50), 0) }, meters: 200_000)
        #expect(circling <= DetourFactor.largest)
    }

    @Test func `the detour factors of two trips can be added`() {
        let trip = Self.travelled(3000, metersPerSecond: 15)
        var town = DetourFactor()
        let before = town.factor
        town.add(trip.detour)
        #expect(town.factor < before && town.factor == trip.detour.factor)
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

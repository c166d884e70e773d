import EnrouteWire
import Foundation
import Testing

@testable import Tracking

@Suite struct PositionFilterTests {
    /// Runs a noisy ride through the validator and the filter.
    private static func filtered(_ ride: NoisyRide, _ vehicle: Vehicle? = nil) -> NoisyRide.Shown {
        ride.shown(by: vehicle, isFiltered: true)
    }

    @Test func `the first reading, and the first one after a pause, is shown as it is`() {
        var filter = PositionFilter()
        var reading = Reading(at: 1_000_000, point: Point(latitude: 41.9, longitude: 12.5), accuracyMeters: 100)
        #expect(filter.observe(reading).point == reading.point)
        reading = reading.moved(northMeters: 5000)
        reading.at += PositionFilter.longestPause + 1
        #expect(filter.observe(reading).point == reading.point)
        reading = reading.moved(northMeters: 900)
        reading.at += 1000
        #expect(filter.observe(reading, isAnew: true).point == reading.point)
    }

    @Test(arguments: [Vehicle.foot, .bicycle, .car, nil])
    func `accurate readings are shown within meters, at once`(vehicle: Vehicle?) {
        for seed in 0..<5 as Range<UInt64> {
            var filter = PositionFilter(.of(vehicle))
            let top = vehicle == .foot ? 1.4 : vehicle == .bicycle ? 5.0 : 14
            let ride = NoisyRide(top: top, seed: seed, accuracy: 5, deviation: 1.5, lasting: 0.9)
            for reading in ride.readings() {
                let shown = filter.observe(reading, heading: nil).point
                #expect(shown.meters(to: reading.point) <= 16)
            }
        }
    }

    @Test(.enabled(if: Recordings.areThere, "../shared/data is not there"), arguments: Recordings.cars)
    func `readings of a recorded car are shown within 3 m, 95 of 100`(name: String) throws {
        var (validator, filter, away) = (LocationValidator(), PositionFilter(), [Double]())
        for reading in try Recordings.real(name) {
            guard case .accepted(let acceptance) = validator.validate(reading) else { continue }
            let shown = filter.observe(reading, isAnew: acceptance == .anew).point
            away.append(shown.meters(to: reading.point))
        }
        away.sort()
        #expect(away[away.count * 95 / 100] <= 3.5 && away[away.count * 99 / 100] <= 6, "\(name)")
    }

    @Test(arguments: [(1.3, Vehicle.foot, 4.6), (5, .bicycle, 2.5), (14, .car, 1.75)])
    func `with an accuracy of 100 m the shown path is far shorter than the readings, and closer to the rider`(
        top: Double, vehicle: Vehicle, most: Double
    ) {
        let ride = NoisyRide(top: top, seed: 3, accuracy: 100, deviation: 66)
        let (shown, raw) = (Self.filtered(ride, vehicle), ride.shown(by: vehicle, isFiltered: false))
        #expect(shown.length <= most && shown.length * 5 < raw.length, "\(shown.length) \(raw.length)")
        #expect(shown.error * 2 < raw.error, "\(shown.error) \(raw.error)")
        #expect(shown.fastest < 60, "\(shown.fastest)")
    }

    @Test(arguments: [50.0, 100, 200])
    func `the path of a walker with a vague phone is at most five times too long, also if errors last`(accuracy: Double)
    {
        for (lasting, longest, error) in [(0.0, 4.4, 0.3), (0.82, 5.6, 0.65)] {
            let ride = NoisyRide(top: 1.3, seed: 3, accuracy: accuracy, deviation: accuracy / 1.51, lasting: lasting)
            let shown = Self.filtered(ride, .foot)
            #expect(shown.length <= longest && shown.error <= error * accuracy, "\(shown)")
        }
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `the errors of a vague phone do not make an unknown bicycle a car, or an unknown walker a runner`(
        seed: UInt64
    ) {
        var bicycle = NoisyRide(top: 5, seed: seed, accuracy: 100, deviation: 66, lasting: 0.82)
        bicycle.tells = false
        var movement = ShownMovement()
        for reading in bicycle.readings() {
            guard let place = Coordinate(latitude: reading.point.latitude, longitude: reading.point.longitude) else {
                continue
            }
            _ = movement.show(Fix(at: reading.at, place: place, accuracyMeters: 100), isAnew: false)
        }
        #expect(movement.vehicle == .bicycle)
        for (lasting, most) in [(0.0, 7.5), (0.82, 11)] {
            var walker = NoisyRide(top: 1.3, seed: seed, accuracy: 100, deviation: 66, lasting: lasting)
            walker.tells = false
            let shown = Self.filtered(walker)
            #expect(shown.length <= most, "\(shown)")
        }
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `a rider whose phone becomes accurate is shown where it is from the third reading on`(seed: UInt64) {
        var filter = PositionFilter(.of(.foot))
        let vague = NoisyRide(top: 1.3, seed: seed, accuracy: 100, deviation: 66, lasting: 0.95).readings()
        let accurate = NoisyRide(top: 1.3, seed: seed, accuracy: 5, deviation: 1).readings()
        for reading in vague[..<300] { _ = filter.observe(reading) }
        for (index, reading) in accurate[300..<310].enumerated() {
            let shown = filter.observe(reading).point
            #expect(index < 2 || shown.meters(to: reading.point) < 12, "\(index)")
        }
    }

    @Test(arguments: [(1.3, Vehicle.foot), (5, .bicycle), (14, .car)])
    func `riders with a vague phone who set off and turn round are shown within 30 m on average`(
        speed: Double, vehicle: Vehicle
    ) {
        var (random, riders) = (NoisyRide.Random(state: 7), [PositionFilter](repeating: .init(.of(vehicle)), count: 40))
        var truth = Reading(at: 1_000_000, point: Point(latitude: 41.9, longitude: 12.5), accuracyMeters: 100)
        for second in 0..<300 {
            var sum = 0.0
            for index in riders.indices {
                var reading = truth.moved(northMeters: random.normal() * 66)
                reading.point.longitude += random.normal() * 66 / 82_760
                sum += riders[index].observe(reading).point.latitude
            }
            let away = abs(sum / Double(riders.count) - truth.point.latitude) * 111_195
            let hasTurned = (60..<100).contains(second) || (180..<240).contains(second)
            #expect(away < (hasTurned ? 25 + 9 * speed : 30), "\(second) \(away)")
            truth = truth.moved(northMeters: second < 60 ? 0 : second < 180 ? speed : -speed)
            truth.at += 1000
        }
    }

    @Test(arguments: [5.0, 10, 20])
    func `a rider whose phone reports rarely is not mistaken for a resting one`(seconds: Double) {
        var filter = PositionFilter()
        var reading = Reading(at: 1_000_000, point: Point(latitude: 41.9, longitude: 12.5), accuracyMeters: 5)
        _ = filter.observe(reading)
        var speed = 0.0
        for _ in 0..<5 {
            reading = reading.moved(northMeters: 8 * seconds)
            reading.at += Int64(seconds * 1000)
            let shown = filter.observe(reading)
            #expect(!shown.isStill && shown.point.meters(to: reading.point) < 20)
            speed = shown.speedMetersPerSecond ?? 0
        }
        #expect(speed < 10 && (speed > 6 || seconds > 10))
    }

    @Test func `a rider who sets off while its phone reports rarely is shown where it is at once`() {
        var filter = PositionFilter()
        var reading = Reading(at: 1_000_000, point: Point(latitude: 41.9, longitude: 12.5), accuracyMeters: 5)
        for _ in 0..<5 {
            _ = filter.observe(reading)
            reading.at += 10_000
        }
        for _ in 0..<3 {
            reading = reading.moved(northMeters: 150)
            #expect(filter.observe(reading).point.meters(to: reading.point) < 10)
            reading.at += 10_000
        }
    }

    @Test func `a phone that lies still does not move the marker`() {
        var filter = PositionFilter()
        var ride = NoisyRide(top: 0, seed: 5, accuracy: 8, deviation: 4, lasting: 0.9)
        ride.tells = false
        var (shown, read) = (0.0, 0.0)
        var before: (shown: Point, read: Point)?
        for reading in ride.readings() {
            let point = filter.observe(reading).point
            if let before {
                shown += before.shown.meters(to: point)
                read += before.read.meters(to: reading.point)
            }
            before = (point, reading.point)
        }
        #expect(shown * 2 < read, "\(shown) \(read)")
    }

    @Test(arguments: [true, false])
    func `a walker who sets off is followed within seconds`(tells: Bool) {
        var filter = PositionFilter(.of(.foot))
        var (last, late) = (Point?.none, 0)
        for second in 0..<120 {
            let meters = Double(max(0, second - 60)) * 1.3
            var reading = Reading(
                at: Recordings.start + Int64(second) * 1000, point: Point(latitude: 41.9, longitude: 12.5),
                accuracyMeters: 5, speedMetersPerSecond: tells ? (second > 60 ? 1.3 : 0) : nil)
            reading = reading.moved(northMeters: meters)
            let shown = filter.observe(reading).point
            if second > 60, shown == last { late += 1 }
            last = shown
        }
        #expect(late <= 4)
    }

    @Test(arguments: 0..<10)
    func `a single reading that jumps by 55 m moves the marker by less than 25 m`(seed: UInt64) {
        var filter = PositionFilter()
        var before: Point?
        for (index, reading) in NoisyRide(top: 10, seed: seed, accuracy: 5, deviation: 1).readings().enumerated() {
            let isFalse = index > 20 && index.isMultiple(of: 30)
            let shown = filter.observe(isFalse ? reading.moved(northMeters: 55) : reading).point
            if isFalse, let before { #expect(before.meters(to: shown) < 25) }
            before = shown
        }
    }

    @Test(arguments: [2, 4] as [Double])
    func `a rider who turns round while its phone reports every few seconds is shown where it is`(seconds: Double) {
        var filter = PositionFilter()
        var reading = Reading(at: 1_000_000, point: Point(latitude: 41.9, longitude: 12.5), accuracyMeters: 5)
        var distances: [Double] = []
        for step in 0..<30 {
            let shown = filter.observe(reading).point
            if step > 20 { distances.append(shown.meters(to: reading.point)) }
            reading = reading.moved(northMeters: (step < 20 ? 30 : -30) * seconds)
            reading.at += Int64(seconds * 1000)
        }
        // Only the first reading after the turn may be an error.
        #expect(distances.dropFirst(seconds < 4 ? 1 : 0).allSatisfy { $0 < 30 }, "\(distances)")
    }

    @Test func `a train that appears at full speed is followed from the next reading on`() {
        var filter = PositionFilter()
        var reading = Reading(
            at: 1_000_000, point: Point(latitude: 41.9, longitude: 12.5), accuracyMeters: 10, speedMetersPerSecond: 83)
        for step in 0..<6 {
            #expect(filter.observe(reading, isAnew: step == 0).point.meters(to: reading.point) < 20, "\(step)")
            reading = reading.moved(northMeters: 83)
            reading.at += 1000
        }
    }

    @Test func `readings that stay at another place for 3 s are accepted as right`() {
        var filter = PositionFilter()
        let ride = NoisyRide(top: 0, seed: 1, accuracy: 5, deviation: 0).readings()
        for reading in ride.prefix(60) { _ = filter.observe(reading) }
        var away = 0.0
        for reading in ride[60..<66] {
            let moved = reading.moved(northMeters: 45)
            away = filter.observe(moved).point.meters(to: moved.point)
        }
        #expect(away < 8)
    }

    @Test func `a speed is estimated for a phone that measures none`() {
        var filter = PositionFilter()
        var ride = NoisyRide(top: 10, seed: 9, accuracy: 5, deviation: 1)
        ride.tells = false
        var errors: [Double] = []
        for (reading, truth) in zip(ride.readings(), ride.truth) {
            guard let speed = filter.observe(reading).speedMetersPerSecond else { continue }
            errors.append(abs(speed - truth.speed))
        }
        errors.sort()
        #expect(
            errors.count > 700 && errors[errors.count / 2] < 0.5 && errors[errors.count * 9 / 10] < 1.5,
            "\(errors[errors.count / 2]) \(errors[errors.count * 9 / 10]) \(errors.count)")
    }

    @Test(arguments: [0.0, 50])
    func `a phone that reports a constant speed does not stop or push the marker`(told: Double) {
        var filter = PositionFilter()
        for second in 0..<120 {
            var reading = Reading(
                at: Recordings.start + Int64(second) * 1000, point: Point(latitude: 41.9, longitude: 12.5),
                accuracyMeters: 5, speedMetersPerSecond: told)
            reading = reading.moved(northMeters: Double(second) * 8)
            let shown = filter.observe(reading, heading: 90).point
            #expect(second < 5 || shown.meters(to: reading.point) < 8)
        }
    }

    @Test func `places at the poles and the date line stay finite and close`() {
        for start in [Point(latitude: 89.9999, longitude: 0), Point(latitude: -60, longitude: 179.9999)] {
            var filter = PositionFilter()
            for second in 0..<200 as Range<Int64> {
                var point = start
                point.longitude += Double(second) * 0.0001
                if point.longitude > 180 { point.longitude -= 360 }
                let reading = Reading(at: second * 1000, point: point, accuracyMeters: 5)
                let shown = filter.observe(reading).point
                #expect(shown.meters(to: point) < 40 && abs(shown.longitude) <= 180)
            }
        }
    }
}

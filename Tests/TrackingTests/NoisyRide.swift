import EnrouteWire
import Foundation

@testable import Tracking

/// A generated ride of 15 minutes with stops and turns, and the readings of an inaccurate receiver.
struct NoisyRide {
    struct Moment {
        var at: Int64
        var point: Point
        var speed: Double
    }

    /// What followers see of the ride.
    struct Shown {
        /// The length of the shown path divided by that of the true one.
        var length: Double
        /// The median distance from the true place in m.
        var error: Double
        /// The greatest speed between two shown places, in m/s.
        var fastest: Double
    }

    var truth: [Moment] = []
    /// Accuracy radius in m that the phone reports; `nil` for none.
    var accuracy: Double?
    /// Standard deviation of each axis in m, and the share of an error that remains until the next reading, 0 to 1.
    var deviation: Double
    var lasting: Double
    var tells = true
    private let seed: UInt64

    init(top: Double, seed: UInt64, accuracy: Double?, deviation: Double, lasting: Double = 0, seconds: Int = 900) {
        (self.seed, self.accuracy, self.deviation, self.lasting) = (seed, accuracy, deviation, lasting)
        var random = Random(state: seed &* 7919 &+ 1)
        var (east, north, speed, heading, wanted, rest) = (0.0, 0.0, 0.0, 90.0, top, 0)
        let most = max(0.7, top / 6)
        for second in 0..<seconds {
            if rest > 0 {
                rest -= 1
                if rest == 0 { (wanted, heading) = (top, heading + [0, 90, -90][Int(random.next() * 3)]) }
            } else if random.next() < 0.01 {
                wanted = 0
            } else if random.next() < 0.02 {
                wanted = top * (0.5 + random.next() / 2)
            }
            if speed == 0, wanted == 0, rest == 0 { rest = 5 + Int(random.next() * 60) }
            if random.next() < 0.02, speed > 0 {
                heading += random.next() < 0.5 ? 60 : -60
                speed = min(speed, top / 2 + 1)
            }
            speed = max(0, speed + max(-most * 1.5, min(most, wanted - speed)))
            east += speed * sin(heading * .pi / 180)
            north += speed * cos(heading * .pi / 180)
            self.truth.append(
                Moment(at: Recordings.start + Int64(second) * 1000, point: Self.point(east, north), speed: speed))
        }
    }

    private static func point(_ east: Double, _ north: Double) -> Point {
        Point(latitude: 41.9 + north / 111_195, longitude: 12.5 + east / 111_195 / cos(41.9 * .pi / 180))
    }

    func readings() -> [Reading] {
        var random = Random(state: self.seed &+ 99)
        var error = (0.0, 0.0)
        let fresh = (1 - self.lasting * self.lasting).squareRoot() * self.deviation
        return self.truth.map { moment in
            error = (error.0 * self.lasting + random.normal() * fresh, error.1 * self.lasting + random.normal() * fresh)
            var point = moment.point
            point.latitude += error.0 / 111_195
            point.longitude += error.1 / 111_195 / cos(41.9 * .pi / 180)
            return Reading(
                at: moment.at, point: point, accuracyMeters: self.accuracy,
                speedMetersPerSecond: self.tells ? max(0, moment.speed + random.normal() * 0.2) : nil)
        }
    }

    /// - Parameter isFiltered: whether followers see the filtered places.
    func shown(by vehicle: Vehicle?, isFiltered: Bool) -> Shown {
        var (validator, movement) = (LocationValidator(), ShownMovement())
        validator.setVehicle(vehicle)
        movement.setVehicle(vehicle)
        var (before, length, errors, fastest) = (Moment?.none, 0.0, [Double](), 0.0)
        for (reading, moment) in zip(self.readings(), self.truth) {
            guard case .accepted(let acceptance) = validator.validate(reading) else { continue }
            var point = reading.point
            if isFiltered, let place = Coordinate(latitude: point.latitude, longitude: point.longitude) {
                let fix = Fix(
                    at: reading.at, place: place, accuracyMeters: reading.accuracyMeters,
                    speedMetersPerSecond: reading.speedMetersPerSecond)
                point = Point(movement.show(fix, isAnew: acceptance == .anew).place)
            }
            if let before {
                let step = before.point.meters(to: point)
                length += step
                fastest = max(fastest, step / (Double(reading.at - before.at) / 1000))
            }
            before = Moment(at: reading.at, point: point, speed: 0)
            errors.append(moment.point.meters(to: point))
        }
        var real = 0.0
        for (earlier, later) in zip(self.truth, self.truth.dropFirst()) {
            real += earlier.point.meters(to: later.point)
        }
        errors.sort()
        return Shown(length: length / max(1, real), error: errors[errors.count / 2], fastest: fastest)
    }

    /// Knuth's MMIX generator, and normally distributed numbers (Box and Muller).
    struct Random {
        var state: UInt64

        /// 0 to 1.
        mutating func next() -> Double {
            self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(self.state >> 11) / Double(UInt64(1) << 53)
        }

        mutating func normal() -> Double {
            (-2 * log(max(1e-12, self.next()))).squareRoot() * cos(2 * .pi * self.next())
        }
    }
}

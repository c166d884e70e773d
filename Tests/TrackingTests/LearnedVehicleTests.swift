import EnrouteWire
import Foundation
import Testing

@testable import Tracking

/// Which vehicle is learned from trips with a change of vehicle, with jams and with rests.
@Suite struct LearnedVehicleTests {
    typealias Part = (seconds: Int, speed: Double)

    /// A phone: how long its errors last (0 for independent errors, 1 for one that never changes), whether it measures its
    /// speed, and within how many seconds walking is recognized.
    struct Phone {
        var accuracy: Double
        var lasting: Double
        var tells: Bool
        var patience = 0
    }

    private static let phones = [
        Phone(accuracy: 5, lasting: 0.9, tells: true, patience: 380),
        Phone(accuracy: 12, lasting: 0.95, tells: true, patience: 660),
        Phone(accuracy: 20, lasting: 0.98, tells: false, patience: 840),
    ]

    /// A trip to the east, with a reading every second.
    private static func readings(_ parts: [Part], _ phone: Phone, seed: UInt64) -> [Reading] {
        var ride = NoisyRide(
            top: 1, seed: seed, accuracy: phone.accuracy, deviation: phone.accuracy * 0.75, lasting: phone.lasting,
            seconds: 0)
        ride.tells = phone.tells
        var (east, at) = (0.0, Recordings.start)
        for part in parts {
            for _ in 0..<part.seconds {
                (east, at) = (east + part.speed, at + 1000)
                let point = Point(latitude: 41.9, longitude: 12.5 + east / 82_763)
                ride.truth.append(NoisyRide.Moment(at: at, point: point, speed: part.speed))
            }
        }
        return ride.readings()
    }

    /// The readings as a phone sends them, and as followers see them.
    private static func both(_ readings: [Reading]) -> [[Reading]] {
        var (validator, movement, shown) = (LocationValidator(), ShownMovement(), [Reading]())
        for reading in readings {
            guard case .accepted(let acceptance) = validator.validate(reading),
                let place = Coordinate(latitude: reading.point.latitude, longitude: reading.point.longitude)
            else { continue }
            let fix = Fix(
                at: reading.at, place: place, accuracyMeters: reading.accuracyMeters,
                speedMetersPerSecond: reading.speedMetersPerSecond)
            shown.append(Reading(movement.show(fix, isAnew: acceptance == .anew)))
        }
        return [readings, shown]
    }

    /// The vehicles that were learned, in order, and when the last one was, in seconds from the start.
    private static func learned(_ readings: [Reading]) -> (vehicles: [Vehicle], since: Int) {
        var (learned, vehicles, since) = (LearnedVehicle(), [Vehicle](), Int64(0))
        for reading in readings {
            learned.observe(reading)
            if let vehicle = learned.vehicle, vehicle != vehicles.last {
                vehicles.append(vehicle)
                since = reading.at - readings[0].at
            }
        }
        return (vehicles, Int(since / 1000))
    }

    // MARK: walking

    @Test(arguments: [(500, 12.0), (400, 5.0), (1800, 12.0)])
    func `a driver or cyclist who starts to walk is recognized after five minutes, with an inaccurate phone later`(
        before: Int, speed: Double
    ) {
        for (index, phone) in Self.phones.enumerated() {
            for readings in Self.both(Self.readings([(before, speed), (900, 1.35)], phone, seed: UInt64(index))) {
                let (vehicles, since) = Self.learned(readings)
                #expect(vehicles == [speed > 6 ? .car : .bicycle, .foot], "\(phone)")
                #expect((before + 270...before + phone.patience).contains(since), "\(phone): \(since)")
            }
        }
    }

    @Test func `the arrival of a driver who starts to walk is that of a walker, whatever was driven before`() throws {
        let (phone, walk) = (Self.phones[0], 1200)
        for readings in Self.both(Self.readings([(500, 12), (walk, 1.35)], phone, seed: 3)) {
            let (destination, arrival) = (try #require(readings.last).point, Double(500 + walk))
            var estimator = TravelEstimator()
            for reading in readings {
                estimator.observe(reading)
                let left = arrival - Double(reading.at - Recordings.start) / 1000
                guard (120...Double(walk) - 360).contains(left) else { continue }
                let seconds = try #require(estimator.seconds(to: destination))
                #expect(seconds > 0.7 * left && seconds < 1.6 * left, "\(left) s before: \(seconds)")
                #expect(estimator.range(ofSeconds: seconds).contains(left))
            }
        }
    }

    @Test func `a walker who drives again is recognized within three minutes`() {
        for readings in Self.both(Self.readings([(500, 12), (600, 1.35), (300, 12)], Self.phones[1], seed: 4)) {
            let (vehicles, since) = Self.learned(readings)
            #expect(vehicles.first == .car && vehicles.contains(.foot) && vehicles.last == .car, "\(vehicles)")
            #expect(since < 1100 + 180, "\(since)")
        }
    }

    // MARK: traffic jams

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `a car that crawls for ten minutes stays a car`(seed: UInt64) {
        var random = NoisyRide.Random(state: seed)
        var parts: [Part] = [(300, 11)]
        while parts.reduce(0, { $0 + $1.seconds }) < 900 {
            parts += [(6 + Int(random.next() * 14), 2 + random.next() * 3), (10 + Int(random.next() * 30), 0)]
        }
        for phone in Self.phones {
            for readings in Self.both(Self.readings(parts + [(300, 11)], phone, seed: seed)) {
                #expect(Self.learned(readings).vehicles == [.car], "\(phone)")
            }
        }
    }

    /// Moscow: 24 minutes in a jam, four of them at walking speed.
    @Test(.enabled(if: Recordings.areThere, "../shared/data is not there"))
    func `a recorded car stays a car in its jams, whatever the interval of its reports`() throws {
        for name in Recordings.cars + ["moscow-jumps"] {
            let whole = try Recordings.real(name)
            for (interval, from) in [(1, 0), (1, 7), (3, 20), (5, 0), (10, 3)] as [(Int64, Int)] {
                var last: Int64 = 0
                let readings = whole.dropFirst(from).filter { reading in
                    defer { if reading.at - last >= interval * 1000 { last = reading.at } }
                    return reading.at - last >= interval * 1000
                }
                for readings in Self.both(readings) {
                    #expect(Self.learned(readings).vehicles == [.car], "\(name) every \(interval) s")
                    var learned = LearnedVehicle()
                    let walking = readings.map { reading in
                        learned.observe(reading)
                        return learned.walking
                    }
                    // Far from the number that proves a walker.
                    #expect(walking.max() ?? 0 <= LearnedVehicle.provenWalking * 2 / 3, "\(name)")
                }
            }
        }
    }

    // MARK: rests

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `a car that rests stays a car although its readings wander, and its arrival does not become that of a walker`(
        seed: UInt64
    ) throws {
        let destination = Point(latitude: 41.9, longitude: 12.5 + 4000.0 / 82_763)
        for phone in Self.phones + [Phone(accuracy: 20, lasting: 0.9, tells: false)] {
            // The vehicle is hardly known before the rest.
            for readings in Self.both(Self.readings([(90, 10), (1800, 0), (120, 10)], phone, seed: seed)) {
                #expect(Set(Self.learned(readings).vehicles).isSubset(of: [.car]), "\(phone)")
                var (estimator, longest) = (TravelEstimator(), 0.0)
                for reading in readings.dropLast(120) {
                    estimator.observe(reading)
                    longest = max(longest, try #require(estimator.seconds(to: destination)))
                }
                #expect(longest < 1000, "\(phone)")
            }
        }
    }

    @Test(arguments: [8.0, 20, 50])
    func `a walker with an inaccurate phone is not mistaken for a resting one`(accuracy: Double) {
        let phone = Phone(accuracy: accuracy, lasting: 0.98, tells: false)
        for seed in 0..<6 as Range<UInt64> {
            let shown = Self.both(Self.readings([(900, 1.35)], phone, seed: seed))[1]
            let (vehicles, _) = Self.learned(shown)
            #expect(!vehicles.isEmpty && vehicles.first != .car, "\(vehicles)")
        }
    }
}

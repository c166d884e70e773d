import EnrouteWire
import Foundation

@testable import Tracking

/// Rides as a gateway shows them: a phone takes a reading each second and reports at the requested interval, and its fixes are
/// validated and filtered. `tracking.mjs` moves the page's marker by the result.
struct AskedRide: Encodable {
    let name: String
    /// m/s. A faster rider counts as moving.
    let moving: Double
    /// The true course: ms, degrees north and east, m/s.
    var truth: [[Double]] = []
    /// Messages: ms of arrival, `at`, `lat`, `lon`, `spd`, `hdg`.
    var messages: [[Double?]] = []
    /// Average number of seconds between reports while the rider moves.
    var interval = 0.0

    /// - Parameters:
    ///   - readings: one per second.
    ///   - truth: the true positions, one for each reading; `nil` if the readings are exact.
    init(_ name: String, moving: Double, _ readings: [Reading], truth: [NoisyRide.Moment]?, by vehicle: Vehicle? = nil)
    {
        (self.name, self.moving) = (name, moving)
        let start = readings[0].at
        self.truth = (truth ?? Self.course(readings)).map {
            [Double($0.at - start), $0.point.latitude, $0.point.longitude, $0.speed]
        }
        var (validator, movement, rate) = (LocationValidator(), ShownMovement(), ReportRate())
        validator.setVehicle(vehicle)
        movement.setVehicle(vehicle)
        let destination = readings[readings.count - 1].point
        var (sentAt, intervals) = (Int64.min, [Double]())
        for reading in readings where sentAt == .min || Double(reading.at - sentAt) >= (rate.interval ?? 1) * 1000 - 50
        {
            if sentAt != .min { intervals.append(Double(reading.at - sentAt) / 1000) }
            sentAt = reading.at
            guard case .accepted(let acceptance) = validator.validate(reading), let shown = validator.shown,
                let place = Coordinate(latitude: shown.point.latitude, longitude: shown.point.longitude)
            else { continue }
            let fix = movement.show(
                Fix(
                    at: shown.at, place: place, accuracyMeters: shown.accuracyMeters,
                    speedMetersPerSecond: shown.speedMetersPerSecond), isAnew: acceptance == .anew)
            // Up to 200 ms late.
            let arrival = Double(reading.at - start) + Double(reading.at / 1000 % 3) * 100
            self.messages.append([
                arrival, Double(fix.at), fix.place.latitude, fix.place.longitude, fix.speedMetersPerSecond,
                fix.headingDegrees,
            ])
            _ = rate.observe(
                .init(
                    isFollowed: true, metersToGo: Point(fix.place).meters(to: destination),
                    speedMetersPerSecond: fix.speedMetersPerSecond ?? TravelAssumptions.of(movement.vehicle).speed))
        }
        self.interval = intervals.reduce(0, +) / Double(max(1, intervals.count))
    }

    private static func course(_ readings: [Reading]) -> [NoisyRide.Moment] {
        readings.indices.map { index in
            let next = readings[min(index + 1, readings.count - 1)]
            let seconds = Double(max(1, next.at - readings[index].at)) / 1000
            return NoisyRide.Moment(
                at: readings[index].at, point: readings[index].point,
                speed: readings[index].point.meters(to: next.point) / seconds)
        }
    }

    static func all() throws -> [AskedRide] {
        var rides: [AskedRide] = []
        let vehicles: [(String, Double, Vehicle)] = [
            ("walker", 1.3, .foot), ("bicycle", 5, .bicycle), ("moped", 9, .moped), ("car", 14, .car),
            ("fast car", 28, .car), ("train", 83, .car),
        ]
        for (name, top, vehicle) in vehicles {
            for tells in [true, false] {
                var ride = NoisyRide(top: top, seed: 11, accuracy: 5, deviation: 1.5, lasting: 0.95)
                ride.tells = tells
                rides.append(
                    AskedRide(
                        tells ? name : "\(name) without `spd`", moving: min(1, top / 2), ride.readings(),
                        truth: ride.truth, by: name == "train" ? nil : vehicle))
            }
        }
        for (name, readings) in try Recordings.chosen() {
            rides.append(AskedRide("recorded: \(name)", moving: 1, readings, truth: nil))
        }
        return rides
    }
}

import EnrouteWire
import Foundation
import Journeys

@testable import Tracking

/// Trips for tests: recorded ones if available, and generated ones.
enum Recordings {
    static let folder = URL(filePath: #filePath).appending(path: "../../../../shared/data/trips").standardized
    static let areThere = FileManager.default.fileExists(atPath: Self.folder.path)
    /// Recordings of cars with few faults.
    static let cars = ["rome-clean-1hz", "kyoto-25s-gap", "moscow-traffic", "petersburg-seven-gaps"]
    static let start: Int64 = 1_795_000_000_000

    static func real(_ name: String) throws -> [Reading] {
        try Journey.load(path: Self.folder.appending(path: "\(name).gpx.gz").path).fixes.map(Reading.init)
    }

    /// `make bench BENCH=tracking RECORDINGS=folder` chooses recordings.
    static let areChosen = ProcessInfo.processInfo.environment["ENROUTE_RECORDINGS"] != nil

    /// The recordings in the folder ENROUTE_RECORDINGS, or else those of cars with few faults, if they exist. Trips of less
    /// than five minutes are left out.
    static func chosen() throws -> [(name: String, readings: [Reading])] {
        guard let path = ProcessInfo.processInfo.environment["ENROUTE_RECORDINGS"] else {
            return self.areThere ? try self.cars.map { ($0, try self.real($0)) } : []
        }
        var chosen: [(String, [Reading])] = []
        for file in try FileManager.default.contentsOfDirectory(atPath: path).sorted() {
            for journey in try Journey.loadAll(path: "\(path)/\(file)") {
                let readings = journey.fixes.map(Reading.init)
                guard let first = readings.first, let last = readings.last, last.at - first.at > 300_000 else {
                    continue
                }
                chosen.append((journey.name, readings))
            }
        }
        return chosen
    }

    /// A trip of 4 to 20 minutes through a generated town, one reading per second.
    static func generated(seed: UInt64 = 1) -> [Reading] {
        StreetGrid.generate(seed: seed).trip(seed: seed, startingAt: Self.start).fixes.map(Reading.init)
    }
}

extension Reading {
    init(_ fix: Journeys.Fix) {
        self.init(
            at: fix.at, point: Point(latitude: fix.latitude, longitude: fix.longitude),
            accuracyMeters: fix.accuracyMeters, speedMetersPerSecond: fix.speedMetersPerSecond)
    }

    func moved(northMeters: Double) -> Reading {
        var moved = self
        moved.point.latitude += northMeters / 111_195
        return moved
    }
}

extension LocationValidator.Receipt {
    /// A receipt at the time the reading was captured, with equal clocks.
    init(_ reading: Reading, lateMilliseconds: Int64 = 0) {
        let at = reading.at + lateMilliseconds
        self.init(monotonic: UInt64(at) * 1_000_000, wall: at)
    }
}

extension LocationValidator {
    /// Validates a reading that is received at the time of its capture.
    mutating func validate(_ reading: Reading) -> FixVerdict { self.validate(reading, received: Receipt(reading)) }
}

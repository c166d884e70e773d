// Trips with one fault each: recorded ones, if the recordings exist on this machine, and generated ones with the same faults.

import EnrouteWire
import Foundation
import HTTPValues
import Journeys
import TestSupport

/// The fault of a trip; the name is that of the recording.
enum TripShape: String, Sendable {
    case clean = "rome-clean-1hz"
    case jumps = "moscow-jumps"
    /// A pause that is too short to count as a gap.
    case shortSilence = "kyoto-25s-gap"
    case sevenSilences = "petersburg-seven-gaps"
    case overFourHours = "amsterdam-over-four-hours"

    enum Origin: Sendable { case recorded, made }

    private static let folder = Checkout.root.appending(path: "../shared/data/trips").standardized
    /// The sources of trips on this machine.
    static let origins: [Origin] =
        FileManager.default.fileExists(atPath: Self.folder.path) ? [.recorded, .made] : [.made]

    private static let start: Int64 = 1_795_000_000_000
    /// The indexes of fixes in a generated trip that are at impossible places.
    static let jumpingReadings = [20, 55, 56, 120, 200]

    /// The fixes in order, each later than the previous one.
    func fixes(_ origin: Origin) throws -> [EnrouteWire.Fix] {
        let readings =
            switch origin {
            case .recorded: try Journey.load(path: Self.folder.appending(path: "\(self.rawValue).gpx.gz").path).fixes
            case .made: self.made
            }
        return readings.compactMap { reading in
            Coordinate(latitude: reading.latitude, longitude: reading.longitude).map { place in
                EnrouteWire.Fix(
                    at: reading.at, place: place, accuracyMeters: reading.accuracyMeters.map { min($0, 10_000) },
                    speedMetersPerSecond: reading.speedMetersPerSecond.map { min($0, 340) })
            }
        }
    }

    private var made: [Journeys.Fix] {
        switch self {
        case .clean: Self.trip(seed: 3)
        case .jumps:
            Self.trip(seed: 4).enumerated().map { index, reading in
                var reading = reading
                if Self.jumpingReadings.contains(index) { reading.latitude += 0.0081 }
                return reading
            }
        case .shortSilence: Self.silent([100..<124])
        case .sevenSilences: Self.silent((0..<7).map { 10 + $0 * 40..<10 + $0 * 40 + 30 + $0 / 2 })
        case .overFourHours: Self.shuttle
        }
    }

    /// One fix a second for at least five minutes.
    private static func trip(seed: UInt64) -> [Journeys.Fix] {
        StreetGrid.generate(seed: seed).trip(seed: seed, startingAt: self.start).fixes
    }

    /// Removes the fixes of some seconds; the fixes around them are one second further apart.
    private static func silent(_ seconds: [Range<Int>]) -> [Journeys.Fix] {
        self.trip(seed: 5).filter { reading in !seconds.contains { $0.contains(Int(reading.at - self.start) / 1000) } }
    }

    /// Five hours back and forth, with one fix every ten seconds.
    private static var shuttle: [Journeys.Fix] {
        (0..<5 * 360).map { (step: Int) -> Journeys.Fix in
            let north = Double(abs(step % 200 - 100)) * 0.0005
            return Journeys.Fix(
                at: self.start + Int64(step) * 10_000, latitude: 41.9 + north, longitude: 12.5, accuracyMeters: 5)
        }
    }
}

extension [EnrouteWire.Fix] {
    /// The same trip, shifted so that it ended a second ago.
    var endedJustNow: [EnrouteWire.Fix] {
        let shift = WallClock.nowMilliseconds - (self.last?.at ?? 0) - 1000
        return self.map { fix in
            var fix = fix
            fix.at += shift
            return fix
        }
    }
}

extension EnrouteWire.Fix {
    /// The speed between two fixes in m/s. Times less than a second apart count as one second, because they are jitter.
    func metersPerSecond(since earlier: EnrouteWire.Fix) -> Double {
        let north = (self.place.latitude - earlier.place.latitude) * 111_195
        let east = (self.place.longitude - earlier.place.longitude) * 111_195 * cos(earlier.place.latitude * .pi / 180)
        return (north * north + east * east).squareRoot() / Swift.max(1, Double(self.at - earlier.at) / 1000)
    }
}

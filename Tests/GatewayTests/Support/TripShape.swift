// Trips with one fault each: as somebody recorded them, where the recordings are, and made up with the same fault, always.

import EnrouteWire
import Foundation
import Journeys
import TestSupport

/// Named as the recording is.
enum TripShape: String, Sendable {
    case clean = "rome-clean-1hz"
    case jumps = "moscow-jumps"
    /// A gap that is not long enough to be called one.
    case shortSilence = "kyoto-25s-gap"
    case sevenSilences = "petersburg-seven-gaps"
    case overFourHours = "amsterdam-over-four-hours"

    enum Origin: Sendable { case recorded, made }

    private static let folder = Checkout.root.appending(path: "../shared/data/trips").standardized
    /// Where trips come from on this machine.
    static let origins: [Origin] =
        FileManager.default.fileExists(atPath: Self.folder.path) ? [.recorded, .made] : [.made]

    private static let start: Int64 = 1_795_000_000_000
    /// Readings of a made-up trip that stand where nobody gets to.
    static let jumpingReadings = [20, 55, 56, 120, 200]

    /// Readings in their order, each later than the one before.
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

    /// A reading a second, some five minutes or more.
    private static func trip(seed: UInt64) -> [Journeys.Fix] {
        StreetGrid.generate(seed: seed).trip(seed: seed, startingAt: self.start).fixes
    }

    /// Without the readings of some seconds; those around them are a second further apart.
    private static func silent(_ seconds: [Range<Int>]) -> [Journeys.Fix] {
        self.trip(seed: 5).filter { reading in !seconds.contains { $0.contains(Int(reading.at - self.start) / 1000) } }
    }

    /// Five hours to and fro, a reading every ten seconds.
    private static var shuttle: [Journeys.Fix] {
        (0..<5 * 360).map { step in
            Journeys.Fix(
                at: self.start + Int64(step) * 10_000, latitude: 41.9 + Double(abs(step % 200 - 100)) * 0.0005,
                longitude: 12.5, accuracyMeters: 5)
        }
    }
}

extension [EnrouteWire.Fix] {
    /// The same trip, ended a second ago.
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
    /// m/s that somebody has taken who was there and is here; closer than a second is jitter.
    func metersPerSecond(since earlier: EnrouteWire.Fix) -> Double {
        let north = (self.place.latitude - earlier.place.latitude) * 111_195
        let east = (self.place.longitude - earlier.place.longitude) * 111_195 * cos(earlier.place.latitude * .pi / 180)
        return (north * north + east * east).squareRoot() / Swift.max(1, Double(self.at - earlier.at) / 1000)
    }
}

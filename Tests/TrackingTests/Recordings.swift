import EnrouteWire
import Foundation
import Journeys

@testable import Tracking

/// Trips to travel: real ones where they are there, and made-up ones always.
enum Recordings {
    static let folder = URL(filePath: #filePath).appending(path: "../../../../shared/data/trips").standardized
    static let areThere = FileManager.default.fileExists(atPath: Self.folder.path)
    static let start: Int64 = 1_795_000_000_000

    static func real(_ name: String) throws -> [Reading] {
        try Journey.load(path: Self.folder.appending(path: "\(name).gpx.gz").path).fixes.map(Reading.init)
    }

    /// A reading a second through a made-up town, 4 to 20 minutes.
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
    /// Received the moment it was taken, by a clock like the phone's.
    init(_ reading: Reading, lateMilliseconds: Int64 = 0) {
        let at = reading.at + lateMilliseconds
        self.init(monotonic: UInt64(at) * 1_000_000, wall: at)
    }
}

extension LocationValidator {
    /// Of readings that come as they are taken.
    mutating func validate(_ reading: Reading) -> FixVerdict { self.validate(reading, received: Receipt(reading)) }
}

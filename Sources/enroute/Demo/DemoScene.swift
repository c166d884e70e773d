// What the demo shows: a trip and the streets along it, from files or generated.

import EnrouteWire
import Foundation
import Gateway
import HTTPValues
import Realtime
import REST
import Journeys

/// A trip, and streets to draw.
struct DemoScene: Sendable {
    let journey: Journey
    let streets: [UInt8]?

    /// - Throws: `JourneyError`.
    init(trip: String?, streets: String?, seed: UInt64) throws(JourneyError) {
        let given = streets
        if let trip {
            self.journey = try Journey.load(path: trip)
            self.streets = try Self.load(given)
        } else {
            let grid = StreetGrid.generate(seed: seed)
            self.journey = grid.trip(seed: seed, startingAt: WallClock.nowMilliseconds)
            self.streets = try Self.load(given) ?? Array(grid.geoJSON.utf8)
        }
    }

    private static func load(_ path: String?) throws(JourneyError) -> [UInt8]? {
        guard let path else { return nil }
        return try Streets.load(path: path)
    }
}

extension Journey {
    /// Where the trip ends.
    var destination: Coordinate? {
        self.fixes.last.flatMap { Coordinate(latitude: $0.latitude, longitude: $0.longitude) }
    }
}

// What the demonstration shows: a trip and the streets it leads along, from files or made up.

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

    /// - Throws: `JourneyError` before anything is started.
    init(trip: String?, streets: String?, seed: UInt64) throws(JourneyError) {
        let given = streets
        if let trip {
            self.journey = try Journey.load(path: trip)
            self.streets = try Self.load(given)
        } else {
            let grid = StreetGrid.generate(seed: seed)
            self.journey = grid.trip(seed: seed, startingAt: .now)
            self.streets = try Self.load(given) ?? Array(grid.geoJSON.utf8)
        }
    }

    private static func load(_ path: String?) throws(JourneyError) -> [UInt8]? {
        guard let path else { return nil }
        return try Streets.load(path: path)
    }

    /// Where the trip leads.
    var destination: Coordinate? {
        self.journey.fixes.last.flatMap { Coordinate(latitude: $0.latitude, longitude: $0.longitude) }
    }
}

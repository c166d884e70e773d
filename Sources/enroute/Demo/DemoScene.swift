// The scene of the demo: a trip and the streets along it, from files or generated.

import EnrouteWire
import Foundation
import Gateway
import HTTPValues
import Realtime
import REST
import Journeys

/// Your rider's trip, the town around it, and streets to draw.
struct DemoScene: Sendable {
    /// The trip from the shop to your door.
    let journey: Journey
    let grid: StreetGrid
    let streets: [UInt8]?
    let shop = DemoCast.shops[0]

    /// Streets of the town, which is as wide as the map of the operations page.
    private static let rows = 11
    private static let columns = 20
    /// The corner with your door in a generated town: about 1.2 km from the shop.
    private static let home = StreetGrid.Corner(row: 8, column: 11)

    /// - Throws: `JourneyError`.
    init(trip: String?, streets: String?, seed: UInt64) throws(JourneyError) {
        let given = streets
        if let trip {
            self.journey = try Journey.load(path: trip)
            // The town's riders move around the end of the recording, on streets that are not drawn.
            let last = self.journey.fixes[self.journey.fixes.count - 1]
            self.grid = StreetGrid.generate(
                seed: seed, around: Place(latitude: last.latitude, longitude: last.longitude), rows: Self.rows,
                columns: Self.columns)
            self.streets = try Self.load(given)
        } else {
            self.grid = StreetGrid.generate(seed: seed, rows: Self.rows, columns: Self.columns)
            self.journey = self.grid.trip(
                from: self.shop.corner, to: Self.home, seed: seed,
                cruise: DemoCast.vehicles[0].metersPerSecond, everySeconds: 1, startingAt: WallClock.nowMilliseconds)
            self.streets = try Self.load(given) ?? Array(self.grid.geoJSON.utf8)
        }
    }

    /// Where the trip starts and ends. A journey has at least two fixes.
    var start: Place { Self.place(self.journey.fixes[0]) }
    var home: Place { Self.place(self.journey.fixes[self.journey.fixes.count - 1]) }

    private static func place(_ fix: Journeys.Fix) -> Place {
        Place(latitude: fix.latitude, longitude: fix.longitude)
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

// Collects the places of riders whose positions were accepted for two seconds: one script per zone instead of one per
// position. Places only serve to find the nearest rider, so the delay does not matter.

package import EnrouteWire
internal import LiveState
internal import NIOCore

/// The places that one loop has to store. Confined to it, and bounded by the number of its sessions.
package final class PlaceBatches {
    private let index: GeoIndex
    private var moved: [ZoneID: [PersonID: Coordinate]] = [:]
    private var ticks = 0

    /// Ticks of the loop between two batches: two seconds.
    private static let ticksPerBatch = 20

    init(index: GeoIndex) { self.index = index }

    /// Adds the place of a rider. It replaces an earlier place that has not been stored yet.
    package func add(_ rider: PersonID, in zone: ZoneID, at place: Coordinate) {
        self.moved[zone, default: [:]][rider] = place
    }

    /// The rider went offline or left the zone, so its place must not be stored.
    package func drop(_ rider: PersonID, in zone: ZoneID) { self.moved[zone]?[rider] = nil }

    /// Called on every tick of the loop.
    func tick() {
        self.ticks += 1
        guard self.ticks >= Self.ticksPerBatch, !self.moved.isEmpty else { return }
        self.ticks = 0
        // If Redis does not respond, the places are lost; the next ones arrive within seconds.
        for (zone, places) in self.moved { _ = self.index.place(places.map { ($0.key, $0.value) }, in: zone) }
        self.moved = [:]
    }
}

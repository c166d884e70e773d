// The compiled streets as the source of StreetMatcher. All loops share one network: it is read-only mapped memory, and
// each search has its own buffer. A page of the file that is not in memory yet is read from the disk once.

package import EnrouteWire
package import Streets
package import Tracking

/// Matches places on a `StreetNetwork`. A search covers a few hundred meters and takes microseconds.
package struct NetworkStreets: StreetSource {
    private let network: StreetNetwork

    package init(_ network: StreetNetwork) { self.network = network }

    package func streets(
        near point: Point, within meters: Double, atMost: Int, for vehicle: Vehicle?
    ) -> [StreetCandidate] {
        guard let place = Coordinate(latitude: point.latitude, longitude: point.longitude) else { return [] }
        return self.network.segments(near: place, within: meters, atMost: atMost, for: vehicle).map {
            StreetCandidate(
                edge: $0.position.edge, metersAlong: $0.position.metersAlong, point: Point($0.place), meters: $0.meters)
        }
    }

    package func distances(
        from: StreetCandidate, to: [StreetCandidate], within meters: Double, for vehicle: Vehicle?
    ) -> [Double?] {
        self.network.distances(
            from: StreetPosition(edge: from.edge, metersAlong: from.metersAlong),
            to: to.map { StreetPosition(edge: $0.edge, metersAlong: $0.metersAlong) }, within: meters, for: vehicle)
    }
}

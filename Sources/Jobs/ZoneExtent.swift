// The location of a zone, derived from the places that Redis stores. A job far away from all of them has a wrong zone
// or wrong coordinates, and its rider would find out too late.

package import EnrouteWire
internal import Tracking

/// The known places of a zone: those of its riders and of its latest jobs.
package struct ZoneExtent: Sendable, Hashable {
    /// With fewer places, nothing is refused: one of them may be wrong itself.
    static let minPlaces = 3
    /// A place is accepted if this share of the known places, and at least `minNeighbours`, is within the bound of it. A zone
    /// may consist of several cities.
    static let neighbourShare = 0.05
    static let minNeighbours = 2
    /// A place within this many times the usual distance from the center is accepted too: a zone may be a whole
    /// country.
    static let spread = 4.0

    private let places: [Point]
    private let center: Point
    /// The distance from the center in km that half of the places exceed.
    private let usualKilometers: Double

    /// - Returns: `nil` if too few places are known.
    package init?(of places: [Coordinate]) {
        guard places.count >= Self.minPlaces, let first = places.first else { return nil }
        self.places = places.map { Point($0) }
        // Medians: a few wrong places do not move the center. Longitudes are relative to the first, for the date line.
        let east = places.map { place in
            let degrees = place.longitude - first.longitude
            return degrees > 180 ? degrees - 360 : degrees < -180 ? degrees + 360 : degrees
        }
        let center = Point(
            latitude: Self.median(places.map(\.latitude)),
            longitude: Self.normal(first.longitude + Self.median(east)))
        self.center = center
        self.usualKilometers = Self.median(self.places.map { $0.meters(to: center) / 1000 })
    }

    /// Compares a place with the known places of the zone.
    ///
    /// - Parameters:
    ///   - subject: the thing at the place, for the sentence: "destination", "vendor".
    ///   - bound: km; 0 for any distance.
    /// - Returns: the reason to refuse the place, as sentences for the client; `nil` if it fits the zone.
    package func fault(of place: Coordinate, _ subject: String, in zone: ZoneID, bound: Int) -> String? {
        guard bound > 0, !self.includes(Point(place), bound: Double(bound)) else { return nil }
        let kilometers = Int((Point(place).meters(to: self.center) / 1000).rounded())
        let swapped = Coordinate(latitude: place.longitude, longitude: place.latitude)
        let isSwapped = swapped.map { self.includes(Point($0), bound: Double(bound)) } ?? false
        return
            "The \(subject) is \(kilometers) km from the riders and jobs of zone \(zone.text); at most \(bound) km is "
            + "accepted. "
            + (isSwapped
                ? "Latitude and longitude seem to be swapped: send lat and lon the other way round."
                : "Check lat, lon and zone.")
    }

    private func includes(_ place: Point, bound: Double) -> Bool {
        if place.meters(to: self.center) / 1000 <= max(bound, Self.spread * self.usualKilometers) { return true }
        let neighbours = self.places.count { $0.meters(to: place) / 1000 <= bound }
        return neighbours >= Self.minNeighbours
            && Double(neighbours) >= Self.neighbourShare * Double(self.places.count)
    }

    /// - Parameter values: at least one.
    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    private static func normal(_ longitude: Double) -> Double {
        longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude
    }
}

// A limit on the distance between pickup place and destination. If the two are on different continents, latitude and
// longitude of one of them are usually swapped, and the rider would find out too late.

package import EnrouteWire
internal import LiveState
internal import Tracking

/// Checks a pickup place against the destination.
package struct PickupDistance {
    /// Maximum distance in km; 0 for any.
    package let bound: Int

    package init(bound: Int) {
        self.bound = bound
    }

    /// Compares the distance of the two places with the limit.
    ///
    /// - Returns: the reason as a sentence for the client; `nil` if the distance is acceptable or one of the places is unknown.
    package func fault(from vendor: Coordinate?, to destination: Coordinate?) -> String? {
        guard self.bound > 0, let vendor, let destination else { return nil }
        let kilometers = Self.kilometers(vendor, destination)
        guard kilometers > Double(self.bound) else { return nil }
        let text =
            "The vendor is \(Int(kilometers.rounded())) km from the destination; at most \(self.bound) km is accepted."
        let swapped = [
            ("vendor", vendor.swapped.map { Self.kilometers($0, destination) }),
            ("destination", destination.swapped.map { Self.kilometers(vendor, $0) }),
        ].first { $0.1.map { $0 <= Double(self.bound) } == true }
        guard let swapped else { return text + " Check both places: lat and lon may be swapped." }
        return text + " lat and lon of the \(swapped.0) are probably swapped."
    }

    private static func kilometers(_ one: Coordinate, _ other: Coordinate) -> Double {
        Point(one).meters(to: Point(other)) / 1000
    }
}

extension Coordinate {
    /// `nil` when the swapped coordinates are out of range.
    fileprivate var swapped: Coordinate? { Coordinate(latitude: self.longitude, longitude: self.latitude) }
}

extension JobRecord {
    /// The pickup place and the destination that were given as coordinates. Geocoded places are excluded, because the
    /// provider is responsible for them.
    package var givenPlaces: (vendor: Coordinate?, destination: Coordinate?) {
        (
            self.vendor?.geocoded == nil ? self.vendor?.place : nil,
            self.geocoded == nil ? self.destination : nil
        )
    }
}

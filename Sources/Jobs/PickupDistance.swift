// How far an order may be carried. Two places that lie on different continents are most often one place with its latitude and
// longitude swapped, and a rider who is sent there finds out too late.

package import EnrouteWire
internal import LiveState
internal import Tracking

/// What is wrong with a pickup place, given where the order goes.
package struct PickupDistance {
    /// Kilometres; 0: any.
    package let bound: Int

    package init(bound: Int) {
        self.bound = bound
    }

    /// - Returns: a sentence for whoever wrote it; `nil` where nothing is wrong, or one of the places is not known.
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
    /// `nil` where that is nowhere.
    fileprivate var swapped: Coordinate? { Coordinate(latitude: self.longitude, longitude: self.latitude) }
}

extension JobRecord {
    /// Where the order is picked up and brought, as far as somebody gave coordinates; what a service found for an address is
    /// its own to answer for.
    package var givenPlaces: (vendor: Coordinate?, destination: Coordinate?) {
        (
            self.vendor?.geocoded == nil ? self.vendor?.place : nil,
            self.geocoded == nil ? self.destination : nil
        )
    }
}

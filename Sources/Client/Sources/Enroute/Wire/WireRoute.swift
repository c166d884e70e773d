// The remaining route as the gateway sends it: Google's encoded polyline with 5 decimals
// (https://developers.google.com/maps/documentation/utilities/polylinealgorithm).

internal import Foundation

/// The member `route` of an arrival time. If it is malformed, there is no route, and the arrival time is still shown.
struct WireRoute: Decodable, Sendable {
    let route: RemainingRoute?

    /// The longest polyline in characters, and the maximum number of places. The gateway sends at most 1,500 characters
    /// and 200 places.
    static let longest = 4_000
    static let maxPlaces = 1_000

    private enum CodingKeys: String, CodingKey { case polyline, meters, seconds }

    init(from decoder: any Decoder) throws {
        guard let values = try? decoder.container(keyedBy: CodingKeys.self),
            let polyline = try? values.decode(String.self, forKey: .polyline),
            let meters = try? values.decode(Double.self, forKey: .meters), meters >= 0,
            let seconds = try? values.decode(Double.self, forKey: .seconds), seconds >= 0,
            let places = Self.places(polyline)
        else {
            self.route = nil
            return
        }
        self.route = RemainingRoute(places: places, meters: meters, seconds: seconds)
    }

    /// - Returns: `nil` unless the text contains at least two places on the earth.
    static func places(_ polyline: String) -> [Place]? {
        guard polyline.utf8.count <= Self.longest else { return nil }
        var bytes = polyline.utf8.makeIterator()
        var places: [Place] = []
        var (latitude, longitude) = (0, 0)
        while let first = bytes.next() {
            // Each difference has at most 30 bits, so the sums cannot overflow.
            guard places.count < Self.maxPlaces, let north = Self.difference(first, &bytes), let next = bytes.next(),
                let east = Self.difference(next, &bytes)
            else { return nil }
            (latitude, longitude) = (latitude + north, longitude + east)
            guard abs(latitude) <= 9_000_000, abs(longitude) <= 18_000_000 else { return nil }
            places.append(Place(latitude: Double(latitude) / 1e5, longitude: Double(longitude) / 1e5))
        }
        return places.count > 1 ? places : nil
    }

    private static func difference(_ first: UInt8, _ bytes: inout String.UTF8View.Iterator) -> Int? {
        var (value, shift, byte) = (0, 0, first)
        while (63..<127).contains(byte), shift <= 25 {
            let group = Int(byte - 63)
            value |= (group & 31) << shift
            shift += 5
            guard group >= 32 else { return value & 1 == 0 ? value >> 1 : ~(value >> 1) }
            guard let next = bytes.next() else { return nil }
            byte = next
        }
        return nil
    }
}

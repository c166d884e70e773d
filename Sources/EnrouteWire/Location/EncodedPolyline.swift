// Lines as text: Google's encoded polyline, which OSRM, Mapbox and most map libraries read
// (https://developers.google.com/maps/documentation/utilities/polylinealgorithm). Each place is encoded as its difference to
// the previous one, in units of 0.00001 degrees (1.1 m), latitude first. A difference is shifted left by one bit, inverted if
// it is negative, and written in groups of five bits, the lowest first. 63 is added to each group, and another 32 if one more
// follows.

package enum EncodedPolyline {
    /// Units per degree.
    static let precision = 1e5
    /// Six groups of five bits, more than 360 degrees need.
    private static let longestShift = 25

    package static func text(_ line: some Sequence<Coordinate>) -> String {
        var bytes: [UInt8] = []
        var (latitude, longitude) = (0, 0)
        for place in line {
            // A coordinate is at most 180, so the conversion cannot trap.
            let (north, east) = (Self.units(place.latitude), Self.units(place.longitude))
            Self.append(north - latitude, to: &bytes)
            Self.append(east - longitude, to: &bytes)
            (latitude, longitude) = (north, east)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func units(_ degrees: Double) -> Int { Int((degrees * Self.precision).rounded()) }

    private static func append(_ difference: Int, to bytes: inout [UInt8]) {
        var rest = UInt(bitPattern: difference << 1 ^ difference >> (Int.bitWidth - 1))
        while rest >= 32 {
            bytes.append(UInt8(rest & 31 | 32) + 63)
            rest >>= 5
        }
        bytes.append(UInt8(rest) + 63)
    }

    /// Decodes a line.
    ///
    /// - Parameter most: the maximum number of places.
    /// - Returns: `nil` for other text, a place outside of the valid ranges, and too many places.
    package static func line(_ text: String, most: Int) -> [Coordinate]? {
        var places: [Coordinate] = []
        var (latitude, longitude) = (0, 0)
        var bytes = text.utf8.makeIterator()
        while let first = bytes.next() {
            // Each difference is below 2^30 and there are at most `most`, so the sums cannot overflow.
            guard places.count < most, let north = Self.difference(first, &bytes), let next = bytes.next(),
                let east = Self.difference(next, &bytes)
            else { return nil }
            latitude += north
            longitude += east
            guard
                let place = Coordinate(
                    latitude: Double(latitude) / Self.precision, longitude: Double(longitude) / Self.precision)
            else { return nil }
            places.append(place)
        }
        return places
    }

    private static func difference(_ first: UInt8, _ bytes: inout String.UTF8View.Iterator) -> Int? {
        var (value, shift, byte) = (0, 0, first)
        while true {
            guard (63..<127).contains(byte), shift <= Self.longestShift else { return nil }
            let group = Int(byte - 63)
            value |= (group & 31) << shift
            shift += 5
            guard group >= 32 else { break }
            guard let next = bytes.next() else { return nil }
            byte = next
        }
        return value & 1 == 0 ? value >> 1 : ~(value >> 1)
    }
}

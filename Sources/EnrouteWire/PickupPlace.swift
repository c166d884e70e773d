// Where an order is picked up: a place, what it is called, and what became of its address where it was written as one. All of
// it is kept as one thing, so that what is written later takes the place of all that was known before.

/// A job's vendor, as its record holds it.
public struct PickupPlace: Hashable, Sendable {
    /// `nil` where nobody knows it: no rider can be sent there.
    public var place: Coordinate?
    /// What a rider is told to go to; at most `longestName` characters.
    public var name: String?
    /// What its address came to; `nil` when it was not given as one.
    public var geocoded: GeocodedAddress?

    public static let longestName = 100

    public init(place: Coordinate? = nil, name: String? = nil, geocoded: GeocodedAddress? = nil) {
        (self.place, self.name, self.geocoded) = (place, name, geocoded)
    }

    /// `{"lat": …, "lon": …, "name": …, "geocoding": …, "address": <digest>}`, each only where it is known.
    public var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            if let place = self.place {
                writer.field("lat", place.latitude, decimals: 7)
                writer.field("lon", place.longitude, decimals: 7)
            }
            writer.field("name", self.name)
            writer.field("geocoding", self.geocoded?.state.rawValue)
            writer.field("address", self.geocoded?.digest)
        }
        return writer.bytes
    }

    /// - Returns: `nil` for what is no JSON object, such as the record of a job without a vendor.
    public init?(json: UnsafeRawBufferPointer) {
        var (latitude, longitude, name) = (Double?.none, Double?.none, String?.none)
        do throws(BadMessage) {
            var reader = JSONReader(json)
            try reader.object { (member, reader) throws(BadMessage) in
                if member.equals("lat") {
                    latitude = try reader.double()
                } else if member.equals("lon") {
                    longitude = try reader.double()
                } else if member.equals("name") {
                    name = try reader.string()
                } else {
                    try reader.value()
                }
            }
        } catch {
            return nil
        }
        var place: Coordinate?
        if let latitude, let longitude { place = Coordinate(latitude: latitude, longitude: longitude) }
        self.init(place: place, name: name, geocoded: GeocodedAddress(json: json))
    }
}

// Where an order is picked up: its location, its name, and the result of looking up its address. All of it is stored as
// one value, so a later update replaces everything that was known before.

/// A job's vendor, as stored in the job's record.
public struct PickupPlace: Hashable, Sendable {
    /// `nil` if the location is unknown. Then no rider can be sent there.
    public var place: Coordinate?
    /// The name that riders see, at most `longestName` characters.
    public var name: String?
    /// The address as it was written, for riders, at most `GeocodedAddress.longest` characters.
    public var address: String?
    /// The result of looking it up; `nil` if no lookup was needed.
    public var geocoded: GeocodedAddress?

    public static let longestName = 100

    public init(
        place: Coordinate? = nil, name: String? = nil, address: String? = nil, geocoded: GeocodedAddress? = nil
    ) {
        (self.place, self.name, self.address, self.geocoded) = (place, name, address, geocoded)
    }

    /// The address that has to be looked up before a rider can be sent there.
    public var addressToFind: String? { self.place == nil ? self.address : nil }

    /// Stores the result of the lookup.
    public mutating func found(_ place: Coordinate?, _ geocoded: GeocodedAddress?) {
        (self.place, self.geocoded) = (place, geocoded)
    }

    /// `{"lat": …, "lon": …, "name": …, "written": …, "geocoding": …, "address": <digest>,
    /// "unanswered": true}`, each only if it is known.
    public var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            if let place = self.place {
                writer.field("lat", place.latitude, decimals: 7)
                writer.field("lon", place.longitude, decimals: 7)
            }
            writer.field("name", self.name)
            writer.field("written", self.address)
            writer.field("geocoding", self.geocoded?.state.rawValue)
            writer.field("address", self.geocoded?.digest)
            if self.geocoded?.isUnanswered == true { writer.field("unanswered", true) }
        }
        return writer.bytes
    }

    /// - Returns: `nil` if it is not a JSON object, such as for a job without a vendor.
    public init?(json: UnsafeRawBufferPointer) {
        var (latitude, longitude, name, address) = (Double?.none, Double?.none, String?.none, String?.none)
        do throws(BadMessage) {
            var reader = JSONReader(json)
            try reader.object { (member, reader) throws(BadMessage) in
                if member.equals("lat") {
                    latitude = try reader.double()
                } else if member.equals("lon") {
                    longitude = try reader.double()
                } else if member.equals("name") {
                    name = try reader.string()
                } else if member.equals("written") {
                    address = try reader.string()
                } else {
                    try reader.value()
                }
            }
        } catch {
            return nil
        }
        var place: Coordinate?
        if let latitude, let longitude { place = Coordinate(latitude: latitude, longitude: longitude) }
        self.init(place: place, name: name, address: address, geocoded: GeocodedAddress(json: json))
    }
}

/// A vendor as the order system describes it: lat and lon, or instead an address, or at least a name.
public struct VendorDescription: Decodable, Sendable {
    /// Degrees.
    public var lat: Double?
    public var lon: Double?
    public var address: String?
    public var name: String?

    /// The reason why a description is invalid, as a sentence for the client's developer.
    public struct Impossible: Error, Hashable {
        public let reason: String
    }

    /// - Returns: the vendor as it was written, before any lookup.
    public func place() throws(Impossible) -> PickupPlace {
        var place: Coordinate?
        switch (self.lat, self.lon) {
        case (nil, nil): break
        case (let latitude?, let longitude?):
            place = Coordinate(latitude: latitude, longitude: longitude)
            if place == nil {
                throw Impossible(
                    reason: "vendor must have lat from -90 to 90 and lon from -180 to 180 degrees, and not both 0.")
            }
        default: throw Impossible(reason: "vendor.lat and vendor.lon belong together.")
        }
        guard place != nil || self.address != nil || self.name != nil else {
            throw Impossible(reason: "vendor needs lat and lon, address or name.")
        }
        if let address, !ShownText.isParagraph(address, longest: GeocodedAddress.longest) {
            throw Impossible(
                reason:
                    "vendor.address must be 1 to \(GeocodedAddress.longest) printable characters or line breaks, "
                    + "not only spaces.")
        }
        if let name, !ShownText.isLine(name, longest: PickupPlace.longestName) {
            throw Impossible(
                reason: "vendor.name must be 1 to \(PickupPlace.longestName) printable characters, not only spaces.")
        }
        return PickupPlace(place: place, name: self.name, address: self.address)
    }
}

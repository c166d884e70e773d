// Where an order is picked up: a place, what it is called, and what became of its address where it was written as one. All of
// it is kept as one thing, so that what is written later takes the place of all that was known before.

/// A job's vendor, as its record holds it.
public struct PickupPlace: Hashable, Sendable {
    /// `nil` where nobody knows it: no rider can be sent there.
    public var place: Coordinate?
    /// What a rider is told to go to; at most `longestName` characters.
    public var name: String?
    /// As it is written, for a rider to read; at most `GeocodedAddress.longest` characters.
    public var address: String?
    /// What that came to; `nil` where nobody had to look it up.
    public var geocoded: GeocodedAddress?

    public static let longestName = 100

    public init(
        place: Coordinate? = nil, name: String? = nil, address: String? = nil, geocoded: GeocodedAddress? = nil
    ) {
        (self.place, self.name, self.address, self.geocoded) = (place, name, address, geocoded)
    }

    /// What has to be looked up before anybody can be sent there.
    public var addressToFind: String? { self.place == nil ? self.address : nil }

    /// The address was looked up.
    public mutating func found(_ place: Coordinate?, _ geocoded: GeocodedAddress?) {
        (self.place, self.geocoded) = (place, geocoded)
    }

    /// `{"lat": …, "lon": …, "name": …, "written": …, "geocoding": …, "address": <digest>}`, each only where it is known.
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
        }
        return writer.bytes
    }

    /// - Returns: `nil` for what is no JSON object, such as the record of a job without a vendor.
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

/// A vendor as the order system describes it: lat and lon, or an address in their place, or at least a name.
public struct VendorDescription: Decodable, Sendable {
    /// Degrees.
    public var lat: Double?
    public var lon: Double?
    public var address: String?
    public var name: String?

    /// What of it can not be, as a sentence to whoever wrote it.
    public struct Impossible: Error, Hashable {
        public let reason: String
    }

    /// - Returns: what is written, with nothing looked up.
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
        if let address, !GeocodedAddress.isAddress(address) {
            throw Impossible(reason: "vendor.address must be 1 to \(GeocodedAddress.longest) characters.")
        }
        if let name, !Self.isName(name) {
            throw Impossible(
                reason: "vendor.name must be 1 to \(PickupPlace.longestName) characters without control characters.")
        }
        return PickupPlace(place: place, name: self.name, address: self.address)
    }

    private static func isName(_ text: String) -> Bool {
        (1...PickupPlace.longestName).contains(text.unicodeScalars.count)
            && !text.unicodeScalars.contains { $0.value < 32 || $0.value == 127 }
    }
}

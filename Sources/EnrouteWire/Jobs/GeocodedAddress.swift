// A job whose destination was given as an address: what became of it. It is kept with the destination, as one thing, so that
// a place that is given later takes the address' place too.

/// Whether a rider can be sent to where an address was found.
public enum GeocodingState: String, Hashable, Sendable, CaseIterable {
    case ok
    /// Something was found that may be somewhere else: it is not used.
    case low
    /// Nothing was found, or nobody could be asked.
    case nothing = "none"
}

/// What an address came to, without the address.
public struct GeocodedAddress: Hashable, Sendable {
    public var state: GeocodingState
    /// Tells one address from another, so that none is asked for twice.
    public var digest: String

    /// Code points of an address, at most; it has at least one that is no space.
    public static let longest = 256

    public static func isAddress(_ text: String) -> Bool {
        !text.allSatisfy(\.isWhitespace) && text.unicodeScalars.count <= Self.longest
    }

    public init(state: GeocodingState, digest: String) {
        self.state = state
        self.digest = digest
    }

    /// As it is kept: `{"lat": …, "lon": …, "geocoding": …, "address": <digest>}`, the place only where it is one.
    public func json(with place: Coordinate?) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            if let place {
                writer.field("lat", place.latitude, decimals: 7)
                writer.field("lon", place.longitude, decimals: 7)
            }
            writer.field("geocoding", self.state.rawValue)
            writer.field("address", self.digest)
        }
        return writer.bytes
    }

    /// - Returns: `nil` for a destination that was given as a place.
    public init?(json: UnsafeRawBufferPointer) {
        var (state, digest) = (GeocodingState?.none, String?.none)
        var reader = JSONReader(json)
        try? reader.object { (name, reader) throws(BadMessage) in
            if name.equals("geocoding") {
                state = GeocodingState(rawValue: try reader.string())
            } else if name.equals("address") {
                digest = try reader.string()
            } else {
                try reader.value()
            }
        }
        guard let state, let digest else { return nil }
        self.init(state: state, digest: digest)
    }
}

// The result of looking up a job's destination that was given as an address. It is stored together with the destination
// as one value, so coordinates that are written later replace it too.

/// The result of looking up an address.
public enum GeocodingState: String, Hashable, Sendable, CaseIterable {
    case ok
    /// A location was found, but it may be wrong. It is not used.
    case low
    /// Nothing was found, or no provider answered.
    case nothing = "none"
}

/// The result of looking up an address, without the address itself.
public struct GeocodedAddress: Hashable, Sendable {
    public var state: GeocodingState
    /// A digest of the address, so the same address is not looked up twice.
    public var digest: String
    /// Whether no provider answered the lookup, so the address may still be right. Only with `nothing`.
    public var isUnanswered: Bool

    /// The maximum length of an address in code points. At least one of them is not a space.
    public static let longest = 256

    public static func isAddress(_ text: String) -> Bool {
        !text.allSatisfy(\.isWhitespace) && text.unicodeScalars.count <= Self.longest
    }

    public init(state: GeocodingState, digest: String) {
        (self.state, self.digest, self.isUnanswered) = (state, digest, false)
    }

    /// The result of a lookup that no provider answered.
    public init(unanswered digest: String) {
        (self.state, self.digest, self.isUnanswered) = (.nothing, digest, true)
    }

    /// The stored form: `{"lat": …, "lon": …, "geocoding": …, "address": <digest>}`, with coordinates only if a location was
    /// found, and with `"unanswered": true` if no provider answered.
    public func json(with place: Coordinate?) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            if let place {
                writer.field("lat", place.latitude, decimals: 7)
                writer.field("lon", place.longitude, decimals: 7)
            }
            writer.field("geocoding", self.state.rawValue)
            writer.field("address", self.digest)
            if self.isUnanswered { writer.field("unanswered", true) }
        }
        return writer.bytes
    }

    /// - Returns: `nil` for a destination that was given as coordinates.
    public init?(json: UnsafeRawBufferPointer) {
        var (state, digest, isUnanswered) = (GeocodingState?.none, String?.none, false)
        var reader = JSONReader(json)
        try? reader.object { (name, reader) throws(BadMessage) in
            if name.equals("geocoding") {
                state = GeocodingState(rawValue: try reader.string())
            } else if name.equals("address") {
                digest = try reader.string()
            } else if name.equals("unanswered") {
                isUnanswered = try reader.boolean()
            } else {
                try reader.value()
            }
        }
        guard let state, let digest else { return nil }
        self = isUnanswered && state == .nothing ? Self(unanswered: digest) : Self(state: state, digest: digest)
    }
}

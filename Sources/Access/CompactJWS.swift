// The compact serialization of a token: three base64url parts joined by dots (RFC 7515 section 7.1). Parsing is strict, so that
// each token has exactly one spelling: no padding, no other characters, no left-over bits, no repeated member in a JSON object.

internal import EnrouteWire

/// The parts of a token, decoded but not yet verified.
struct CompactJWS {
    let header: [UInt8]
    let claims: [UInt8]
    let signature: [UInt8]
    /// The signed bytes: everything before the last dot.
    let signed: ArraySlice<UInt8>

    init(_ token: [UInt8]) throws(TokenRefusal) {
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = [UInt8](base64URL: parts[0]), let claims = [UInt8](base64URL: parts[1]),
            let signature = [UInt8](base64URL: parts[2])
        else { throw .malformed }
        (self.header, self.claims, self.signature) = (header, claims, signature)
        self.signed = token[..<(parts[2].startIndex - 1)]
    }
}

/// The members of a JOSE header (RFC 7515 section 4.1) that matter here. Members that contain or locate a key (`jwk`, `jku`,
/// `x5c`, `x5u`) are ignored, whatever their value.
struct TokenHeader {
    /// `EdDSA` for `Ed25519` too: both name the same algorithm for the keys that are supported (RFC 9864 section 2.2).
    var algorithm: String?
    var kid: String?
    /// In lower case and without `application/` (RFC 7515 section 4.1.9).
    var type: String?

    init(json: [UInt8]) throws(TokenRefusal) {
        var (algorithm, kid, type, isCritical): (String?, String?, String?, Bool) = (nil, nil, nil, false)
        try JSONMembers.read(json) { (name, reader) throws(BadMessage) in
            switch name {
            case "alg": algorithm = try reader.string()
            case "kid": kid = try reader.string()
            case "typ": type = try reader.string().lowercased()
            case "crit":
                isCritical = true
                try reader.value()
            default: try reader.value()
            }
        }
        // No extension is supported, so none may be critical (RFC 7515 section 4.1.11).
        if isCritical { throw .criticalHeader }
        (self.algorithm, self.kid) = (algorithm == "Ed25519" ? "EdDSA" : algorithm, kid)
        self.type = type.map { $0.hasPrefix("application/") ? String($0.dropFirst(12)) : $0 }
    }
}

/// The members of one JSON object, which must not repeat a name.
struct JSONMembers {
    private var names: Set<String> = []
    private(set) var isRepeated = false

    /// Records the next member and returns its name.
    mutating func next(_ name: UnsafeRawBufferPointer) -> String {
        let name = String(decoding: name, as: UTF8.self)
        if !self.names.insert(name).inserted { self.isRepeated = true }
        return name
    }

    /// Reads a text that consists of exactly one object.
    ///
    /// - Parameter member: called for each member; must consume the value.
    static func read(
        _ json: [UInt8], _ member: (_ name: String, _ reader: inout JSONReader) throws(BadMessage) -> Void
    ) throws(TokenRefusal) {
        guard String(validating: json, as: UTF8.self) != nil else { throw .malformed }
        var members = JSONMembers()
        let isRead = json.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            do throws(BadMessage) {
                try reader.object { (name, reader) throws(BadMessage) in try member(members.next(name), &reader) }
                try reader.end()
                return true
            } catch {
                return false
            }
        }
        if members.isRepeated { throw .repeatedMember }
        guard isRead else { throw .malformed }
    }
}

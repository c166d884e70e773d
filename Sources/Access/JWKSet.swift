// The public keys that an issuer publishes (RFC 7517). Keys of an unsupported kind are skipped, so an issuer may add them; an
// invalid key of a supported kind rejects the whole set, and the previous set stays in use.

internal import Crypto
internal import CryptoExtras
internal import EnrouteWire
internal import FoundationEssentials
internal import JWTKit

/// A set of public keys for signatures, each with a unique `kid`.
package struct JWKSet: Hashable, Sendable {
    /// Why a set is rejected.
    package enum Rejection: Error, Hashable, Sendable, CustomStringConvertible {
        case tooLong, malformed, noKeys, tooManyKeys, keyWithoutName, twoKeysOfOneName, privateKey, badKey

        package var description: String {
            let reason =
                switch self {
                case .tooLong: "it is longer than \(JWKSet.longest) bytes"
                case .malformed: "it is not a JSON object with a \"keys\" array, or a member occurs twice"
                case .noKeys: "it has no RSA, P-256 or Ed25519 key for signatures"
                case .tooManyKeys: "it has more than \(TokenVerifier.Key.most) keys for signatures"
                case .keyWithoutName: "a key has no kid"
                case .twoKeysOfOneName: "two keys have the same kid"
                case .privateKey: "it contains a private key: create a new pair and publish only the public key"
                case .badKey:
                    "a key's parameters do not fit its kind or have the wrong type, or an RSA key has fewer than "
                        + "\(TokenVerifier.Key.shortestRSA) bits"
                }
            return
                "The key set was rejected: \(reason). The previous set stays in use. Correct the set that the issuer publishes."
        }
    }

    /// Maximum size of a set, in bytes.
    package static let longest = 65_536

    /// The parameters of a key, big-endian.
    enum Material: Hashable, Sendable {
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// Uncompressed (SEC 1 section 2.3.3).
        case p256(point: [UInt8])
        case ed25519([UInt8])
    }

    /// By `kid`.
    let keys: [String: Material]

    package init(json: [UInt8]) throws(Rejection) {
        guard json.count <= Self.longest else { throw .tooLong }
        var published: [PublishedKey]?
        do throws(TokenRefusal) {
            try JSONMembers.read(json) { (name, reader) throws(BadMessage) in
                guard name == "keys" else {
                    try reader.value()
                    return
                }
                var all: [PublishedKey] = []
                try reader.array { (reader) throws(BadMessage) in all.append(try PublishedKey(&reader)) }
                published = all
            }
        } catch {
            throw .malformed
        }
        guard let published else { throw .malformed }
        var keys: [String: Material] = [:]
        for key in published where key.isSupported {
            guard !key.isPrivate else { throw .privateKey }
            guard !key.hasWrongType else { throw .badKey }
            guard let kid = key.members["kid"], !kid.isEmpty else { throw .keyWithoutName }
            guard keys[kid] == nil else { throw .twoKeysOfOneName }
            guard let material = key.material else { throw .badKey }
            keys[kid] = material
        }
        guard !keys.isEmpty else { throw .noKeys }
        guard keys.count <= TokenVerifier.Key.most else { throw .tooManyKeys }
        self.keys = keys
    }

    /// Returns the keys in the form that a verifier uses.
    package func verifierKeys() async throws(Rejection) -> [TokenVerifier.Key] {
        var keys: [TokenVerifier.Key] = []
        for (kid, material) in self.keys {
            guard let key = try? await TokenVerifier.Key(material, kid: kid) else { throw .badKey }
            keys.append(key)
        }
        return keys
    }
}

/// One element of `keys`, which may be of an unsupported kind.
private struct PublishedKey {
    /// The string members.
    private(set) var members: [String: String] = [:]
    private(set) var isPrivate = false
    /// Whether a relevant member has the wrong type.
    private(set) var hasWrongType = false
    private var verifies = true

    private static let read: Set<String> = ["kty", "kid", "use", "alg", "crv", "n", "e", "x", "y"]

    init(_ reader: inout JSONReader) throws(BadMessage) {
        var names = JSONMembers()
        var (members, isPrivate, hasWrongType, operations): ([String: String], Bool, Bool, [String]?) =
            ([:], false, false, nil)
        try reader.object { (name, reader) throws(BadMessage) in
            let name = names.next(name)
            guard name == "key_ops" || Self.read.contains(name) else {
                if name == "d" { isPrivate = true }
                try reader.value()
                return
            }
            // Issuers write `null` for a member that a key does not have. Other types matter only if the key is used.
            if reader.null() { return }
            if name == "key_ops", reader.isAtArray {
                operations = try Self.strings(&reader)
            } else if name != "key_ops", reader.isAtString {
                members[name] = try reader.string()
            } else {
                hasWrongType = true
                try reader.value()
            }
        }
        guard !names.isRepeated else { throw BadMessage("a member of a key occurs twice") }
        (self.members, self.isPrivate, self.hasWrongType) = (members, isPrivate, hasWrongType)
        self.verifies = operations?.contains("verify") ?? true
    }

    /// The strings of an array. Elements of other types name no operation.
    private static func strings(_ reader: inout JSONReader) throws(BadMessage) -> [String] {
        var all: [String] = []
        try reader.array { (reader) throws(BadMessage) in
            if reader.isAtString { all.append(try reader.string()) } else { try reader.value() }
        }
        return all
    }

    /// Whether the key is for signatures, of a supported kind, and not limited to another algorithm.
    var isSupported: Bool {
        guard self.verifies, self.members["use"] ?? "sig" == "sig" else { return false }
        let algorithms: Set<String>
        switch (self.members["kty"], self.members["crv"]) {
        case ("RSA", _): algorithms = ["RS256"]
        case ("EC", "P-256"): algorithms = ["ES256"]
        // RFC 8037 and RFC 9864.
        case ("OKP", "Ed25519"): algorithms = ["EdDSA", "Ed25519"]
        default: return false
        }
        return self.members["alg"].map(algorithms.contains) ?? true
    }

    var material: JWKSet.Material? {
        func number(_ name: String) -> [UInt8]? {
            self.members[name].flatMap { [UInt8](base64URL: Array($0.utf8)[...]) }
        }
        switch self.members["kty"] {
        case "RSA":
            guard let modulus = number("n"), let exponent = number("e"),
                let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent),
                key.keySizeInBits >= TokenVerifier.Key.shortestRSA
            else { return nil }
            return .rsa(modulus: modulus, exponent: exponent)
        case "EC":
            guard let x = number("x"), let y = number("y"), x.count == 32, y.count == 32,
                (try? P256.Signing.PublicKey(x963Representation: [0x04] + x + y)) != nil
            else { return nil }
            return .p256(point: [0x04] + x + y)
        default:
            guard let x = number("x"), (try? Curve25519.Signing.PublicKey(rawRepresentation: x)) != nil else {
                return nil
            }
            return .ed25519(x)
        }
    }
}

extension TokenVerifier.Key {
    fileprivate init(_ material: JWKSet.Material, kid: String) async throws {
        let keys = JWTKeyCollection()
        switch material {
        case .rsa(let modulus, let exponent):
            let key = try _RSA.Signing.PublicKey(n: modulus, e: exponent)
            await keys.add(rsa: try Insecure.RSA.PublicKey(backing: key), digestAlgorithm: .sha256)
        case .p256(let point):
            await keys.add(ecdsa: try ES256PublicKey(backing: P256.Signing.PublicKey(x963Representation: point)))
        case .ed25519(let bytes):
            await keys.add(
                eddsa: EdDSA.PublicKey(backing: try Curve25519.Signing.PublicKey(rawRepresentation: bytes)))
        }
        self.init(kid: kid, algorithm: try await keys.getKey())
    }
}

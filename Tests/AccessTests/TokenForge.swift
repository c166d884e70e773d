// Hand-made tokens, including those that a library would refuse to create: any header, any claims, signed by the right keys or
// by wrong ones.

import Access
import Crypto
import CryptoExtras
import EnrouteWire
import Foundation

/// The signing keys, each known to the verifier under its raw value.
enum Signer: String, CaseIterable, Sendable {
    case es, rs, ed
    /// The shared secret, which has no kid.
    case hs

    var algorithm: String {
        switch self {
        case .es: "ES256"
        case .rs: "RS256"
        case .ed: "EdDSA"
        case .hs: "HS256"
        }
    }

    /// The correct header.
    var header: String {
        self == .hs
            ? #"{"alg":"HS256","typ":"JWT"}"# : #"{"alg":"\#(self.algorithm)","typ":"JWT","kid":"\#(self.rawValue)"}"#
    }

    var publicPEM: String {
        switch self {
        case .es: TokenForge.p256.publicKey.pemRepresentation
        case .rs: TokenForge.rsa.publicKey.pemRepresentation
        case .ed: TokenForge.pem(of: TokenForge.ed25519.publicKey)
        case .hs: TokenForge.secret
        }
    }

    func signature(of text: String) throws -> Data {
        let bytes = Data(text.utf8)
        return switch self {
        case .es: try TokenForge.p256.signature(for: bytes).rawRepresentation
        case .rs:
            try TokenForge.rsa.signature(for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5).rawRepresentation
        case .ed: try TokenForge.ed25519.signature(for: bytes)
        case .hs: TokenForge.hmac(text, secret: TokenForge.secret)
        }
    }
}

enum TokenForge {
    static let secret = "a secret of at least thirty-two bytes"
    /// Seconds since the epoch.
    static let now: Int64 = 1_795_000_000
    static let p256 = P256.Signing.PrivateKey()
    static let ed25519 = Curve25519.Signing.PrivateKey()
    static let rsa = try! _RSA.Signing.PrivateKey(keySize: .bits2048)

    /// A verifier that knows the key of each signer.
    static func verifier() async throws -> TokenVerifier {
        var keys = [try await TokenVerifier.Key.hs256(secret: self.secret)]
        for signer in Signer.allCases where signer != .hs {
            keys.append(
                try await .asymmetric(pem: signer.publicPEM, kid: signer.rawValue, source: signer.rawValue))
        }
        return TokenVerifier(keys: keys, issuer: "iss", audience: "aud")
    }

    /// Valid claims, some of which are changed, removed (`nil`) or added. Values are JSON.
    static func claims(_ changes: KeyValuePairs<String, String?> = [:]) -> String {
        var members: KeyValuePairs<String, String>.Plain = [
            ("iss", #""iss""#), ("aud", #""aud""#), ("sub", #""anna""#), ("exp", "1795000900"), ("iat", "1795000000"),
            ("jti", #""1""#), ("role", #""customer""#),
        ]
        for (name, value) in changes {
            members.removeAll { $0.0 == name }
            if let value { members.append((name, value)) }
        }
        return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    /// - Parameter header: `nil` for the correct one.
    static func token(_ signer: Signer = .es, header: String? = nil, claims: String = Self.claims()) -> String {
        let body = self.body(header ?? signer.header, claims)
        return try! "\(body).\(self.base64URL(signer.signature(of: body)))"
    }

    /// The signed part of a token.
    static func body(_ header: String, _ claims: String = Self.claims()) -> String {
        "\(self.base64URL(Data(header.utf8))).\(self.base64URL(Data(claims.utf8)))"
    }

    static func hmac(_ text: String, secret: String) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: SymmetricKey(data: Data(secret.utf8))))
    }

    static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// SubjectPublicKeyInfo (RFC 8410).
    static func pem(of key: Curve25519.Signing.PublicKey) -> String {
        let der: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]
        return self.pem("PUBLIC KEY", Data(der) + key.rawRepresentation)
    }

    /// PKCS #8 (RFC 8410).
    static func pem(of key: Curve25519.Signing.PrivateKey) -> String {
        let der: [UInt8] = [0x30, 0x2E, 2, 1, 0, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20]
        return self.pem("PRIVATE KEY", Data(der) + key.rawRepresentation)
    }

    private static func pem(_ title: String, _ der: Data) -> String {
        "-----BEGIN \(title)-----\n\(der.base64EncodedString())\n-----END \(title)-----\n"
    }
}

extension KeyValuePairs {
    typealias Plain = [(Key, Value)]
}

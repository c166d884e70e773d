// Tokens that the gateway accepts: JWT (RFC 7519), HS256 with libcrypto.

internal import CLibssl

/// Creates tokens with the gateway's secret.
public struct TokenMint: Sendable {
    private let secret: [UInt8]
    private let issued = Clock.wallMicroseconds / 1_000_000

    /// s; longer than a run, because the gateway closes connections whose token expires.
    public static let lifetime: Int64 = 7200

    public init(secret: String) { self.secret = Array(secret.utf8) }

    public func token(_ person: String, role: String) -> String {
        let header = Self.base64url(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
        let claims =
            #"{"iss":"enroute","aud":"enroute","sub":"\#(person)","role":"\#(role)","jti":"\#(person)-\#(self.issued)","#
            + #""iat":\#(self.issued),"exp":\#(self.issued + Self.lifetime)}"#
        let signed = "\(header).\(Self.base64url(Array(claims.utf8)))"
        var digest = [UInt8](repeating: 0, count: 32)
        let bytes = Array(signed.utf8)
        HMAC(EVP_sha256(), self.secret, Int32(self.secret.count), bytes, bytes.count, &digest, nil)
        return "\(signed).\(Self.base64url(digest))"
    }

    private static func base64url(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.enumerated().reduce(0) { $0 | Int($1.element) << (16 - 8 * $1.offset) }
            for index in 0...group.count { text.append(alphabet[bits >> (18 - 6 * index) & 63]) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

// Signatures of the Standard Webhooks specification (https://www.standardwebhooks.com): HMAC-SHA256 over the id, the
// time and the body. A receiver can therefore verify who sent a request, and that it is not an old request that was
// sent again.

internal import Crypto
internal import FoundationEssentials

/// Signs requests to endpoints.
package enum WebhookSignature {
    private static let prefix = "whsec_"
    /// The length of a key in bytes, as the specification requires.
    private static let keyLength = 24...64
    private static let newKeyLength = 32

    /// A new random secret.
    package static func makeSecret() -> String {
        var generator = SystemRandomNumberGenerator()
        let key = (0..<Self.newKeyLength).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return Self.prefix + Data(key).base64EncodedString()
    }

    /// The key in a secret; `nil` when the text is not `whsec_` and 24 to 64 bytes in base64.
    package static func key(of secret: String) -> [UInt8]? {
        guard secret.hasPrefix(Self.prefix), let key = Data(base64Encoded: String(secret.dropFirst(Self.prefix.count))),
            Self.keyLength.contains(key.count)
        else { return nil }
        return Array(key)
    }

    /// The value of the header `webhook-signature`: one signature for each secret.
    ///
    /// - Parameter timestamp: of the header `webhook-timestamp`, s since the epoch.
    package static func header(id: String, timestamp: Int64, body: String, secrets: [String]) -> String {
        let signed = Data("\(id).\(timestamp).\(body)".utf8)
        return secrets.compactMap { Self.key(of: $0) }.map { key in
            let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: Data(key)))
            return "v1," + Data(code).base64EncodedString()
        }.joined(separator: " ")
    }
}

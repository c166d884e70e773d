// The key with which the gateways identify themselves to push services: VAPID (RFC 8292).

internal import Access
internal import Crypto
internal import FoundationEssentials

/// A P-256 key, and a contact for questions of push services. A value.
package struct PushKey: Sendable {
    /// Why a text cannot be used: the rest of a sentence that starts with the name of a setting.
    package struct Invalid: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    private let key: P256.Signing.PrivateKey
    private let contact: String

    /// How long a signature is valid. Push services accept at most a day.
    static let lifetimeSeconds: Int64 = 43_200

    /// - Parameters:
    ///   - pem: a private key in PEM format, SEC 1 or PKCS #8.
    ///   - contact: `mailto:` or `https:`.
    package init(pem: String, contact: String) throws(Invalid) {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else {
            throw Invalid(
                description: "is not a P-256 private key in PEM format. Make one: "
                    + "openssl ecparam -genkey -name prime256v1 -noout -out push.pem")
        }
        (self.key, self.contact) = (key, contact)
    }

    /// Whether push services accept this text as a contact.
    package static func isContact(_ text: String) -> Bool {
        let isLong = !(10...255).contains(text.utf8.count)
        return !isLong && text.utf8.allSatisfy { (33...126).contains($0) && $0 != 34 && $0 != 92 }
            && (text.hasPrefix("mailto:") && text.contains("@") || text.hasPrefix("https://"))
    }

    /// The public key in the form that browsers accept: the uncompressed point in base64url.
    package var publicKey: String { Base64URL.text(Array(self.key.publicKey.x963Representation)) }

    /// The header `Authorization` of a request.
    ///
    /// - Parameters:
    ///   - origin: of the push service, such as `https://push.example`.
    ///   - now: seconds since the epoch.
    package func authorization(for origin: String, now: Int64) throws -> String {
        let header = Base64URL.text(Array(#"{"typ":"JWT","alg":"ES256"}"#.utf8))
        let claims = Base64URL.text(
            Array(#"{"aud":"\#(origin)","exp":\#(now + Self.lifetimeSeconds),"sub":"\#(self.contact)"}"#.utf8))
        let signature = try self.key.signature(for: Array("\(header).\(claims)".utf8))
        return "vapid t=\(header).\(claims).\(Base64URL.text(Array(signature.rawRepresentation))), k=\(self.publicKey)"
    }
}

// Where a browser receives messages, and how they are encrypted for it (RFC 8291): the push service sees neither the job nor
// the text.

internal import Access
internal import Crypto
internal import FoundationEssentials
internal import Webhooks

/// A subscription of a browser, as `PushSubscription.toJSON()` returns it. A value.
package struct PushAddress: Sendable {
    package let endpoint: String
    let url: EndpointURL
    private let publicKey: [UInt8]
    private let secret: [UInt8]

    /// The length of a browser's secret in bytes.
    private static let secretBytes = 16
    /// Maximum length of a message in bytes: push services must accept 4,096 bytes with header and padding.
    static let longestMessage = 3_000
    /// The size of a record that the header of the body announces. There is only one record.
    private static let recordSize: UInt32 = 4_096

    /// Why a subscription cannot be used, as a sentence.
    package struct Invalid: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    /// - Parameters:
    ///   - endpoint: an https URL.
    ///   - p256dh: the browser's public key, an uncompressed point of P-256 in base64url.
    ///   - auth: its secret, 16 bytes in base64url.
    package init(endpoint: String, p256dh: String, auth: String) throws(Invalid) {
        do throws(EndpointURL.Invalid) {
            self.url = try EndpointURL(endpoint)
        } catch {
            throw Invalid(description: "endpoint \(error)")
        }
        guard let key = [UInt8](base64URL: Array(p256dh.utf8)[...]),
            (try? P256.KeyAgreement.PublicKey(x963Representation: key)) != nil
        else {
            throw Invalid(description: "keys.p256dh must be an uncompressed point of P-256 in base64url.")
        }
        guard let secret = [UInt8](base64URL: Array(auth.utf8)[...]), secret.count == Self.secretBytes else {
            throw Invalid(description: "keys.auth must be \(Self.secretBytes) bytes in base64url.")
        }
        (self.endpoint, self.publicKey, self.secret) = (endpoint, key, secret)
    }

    /// The `https://host[:port]` of the push service.
    var origin: String {
        let host = self.url.host.contains(":") ? "[\(self.url.host)]" : self.url.host
        return "https://\(host)" + (self.url.port == 443 ? "" : ":\(self.url.port)")
    }

    /// Encrypts a message with the content coding `aes128gcm` (RFC 8188).
    func encrypted(_ message: [UInt8]) throws -> [UInt8] {
        try self.encrypted(
            message, with: P256.KeyAgreement.PrivateKey(),
            salt: SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) })
    }

    /// - Parameters:
    ///   - key: used for this message only.
    ///   - salt: 16 random bytes.
    func encrypted(_ message: [UInt8], with key: P256.KeyAgreement.PrivateKey, salt: [UInt8]) throws -> [UInt8] {
        precondition(message.count <= Self.longestMessage, "a longer message does not fit into one record")
        let own = Array(key.publicKey.x963Representation)
        let shared = try key.sharedSecretFromKeyAgreement(
            with: P256.KeyAgreement.PublicKey(x963Representation: self.publicKey))
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: self.secret, sharedInfo: Array("WebPush: info\0".utf8) + self.publicKey + own,
            outputByteCount: 32)
        func derived(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: input, salt: salt, info: Array("Content-Encoding: \(info)\0".utf8),
                outputByteCount: count)
        }
        let nonce = try derived("nonce", 12).withUnsafeBytes { try AES.GCM.Nonce(data: $0) }
        // The byte 2 ends the last record.
        let box = try AES.GCM.seal(message + [2], using: derived("aes128gcm", 16), nonce: nonce)
        let size = withUnsafeBytes(of: Self.recordSize.bigEndian) { Array($0) }
        return salt + size + [UInt8(own.count)] + own + Array(box.ciphertext) + Array(box.tag)
    }
}

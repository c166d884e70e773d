// The receiver's side of push messages (RFC 8291), as implemented by a browser.

package import Crypto
import Foundation

/// A browser that has subscribed to push messages.
package struct TestBrowser: Sendable {
    private let key: P256.KeyAgreement.PrivateKey
    private let secret: [UInt8]

    package init(
        key: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey(),
        secret: [UInt8] = (0..<16).map { _ in .random(in: 0...255) }
    ) {
        (self.key, self.secret) = (key, secret)
    }

    package static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    package var p256dh: String { Self.base64URL(self.key.publicKey.x963Representation) }
    package var auth: String { Self.base64URL(self.secret) }

    /// Decrypts the body of a request.
    package func read(_ body: [UInt8]) throws -> String {
        let (salt, own) = (Array(body[0..<16]), Array(body[21..<21 + Int(body[20])]))
        let sealed = body[(21 + own.count)...]
        let shared = try self.key.sharedSecretFromKeyAgreement(with: .init(x963Representation: own))
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: self.secret,
            sharedInfo: Array("WebPush: info\0".utf8) + Array(self.key.publicKey.x963Representation) + own,
            outputByteCount: 32)
        func derived(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: input, salt: salt, info: Array("Content-Encoding: \(info)\0".utf8),
                outputByteCount: count)
        }
        let box = try AES.GCM.SealedBox(
            nonce: derived("nonce", 12).withUnsafeBytes { try AES.GCM.Nonce(data: $0) },
            ciphertext: sealed.dropLast(16), tag: sealed.suffix(16))
        let message = try AES.GCM.open(box, using: derived("aes128gcm", 16))
        return String(decoding: message.dropLast(), as: UTF8.self)
    }
}

// Data that only the owner of the secret can find and decrypt. The name of the record and the encryption key are both
// derived from the secret. Somebody who reads Redis has neither, and cannot see whose data it is.

internal import Crypto
internal import EnrouteWire
internal import FoundationEssentials

/// A name and an encryption key, both derived from one secret.
struct SealedRecord: Sendable {
    /// 32 of [0-9a-f]; reveals nothing about the secret.
    let name: String
    private let key: SymmetricKey
    private let digestKey: SymmetricKey

    private static let nameBytes = 16

    /// - Parameters:
    ///   - secret: the encryption is only as strong as this.
    ///   - use: the purpose. Values derived for one purpose reveal nothing about those for another.
    init(secret: String, for use: String) {
        let secret = SymmetricKey(data: Data(secret.utf8))
        func derive(_ part: String, bytes: Int) -> SymmetricKey {
            // RFC 5869
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: secret, info: Data("enroute \(use) \(part)".utf8), outputByteCount: bytes)
        }
        self.key = derive("key", bytes: 32)
        self.digestKey = derive("digest", bytes: 32)
        self.name = derive("name", bytes: Self.nameBytes).withUnsafeBytes { $0.hexadecimal }
    }

    /// Encrypts with AES-256-GCM. The nonce precedes the ciphertext, and the name is authenticated, so a record cannot be
    /// moved to another name.
    func seal(_ bytes: [UInt8]) -> [UInt8] {
        guard
            let box = try? AES.GCM.seal(
                Data(bytes), using: self.key, authenticating: Data(self.name.utf8)),
            let sealed = box.combined
        else { preconditionFailure("AES-GCM with a 256-bit key encrypts any input") }
        return Array(sealed)
    }

    /// Decrypts; `nil` when the bytes were not encrypted with this key.
    func open(_ sealed: [UInt8]) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: Data(sealed)),
            let bytes = try? AES.GCM.open(box, using: self.key, authenticating: Data(self.name.utf8))
        else { return nil }
        return Array(bytes)
    }

    /// A keyed digest, 64 of [0-9a-f]. Only the owner of the secret can compare it with another text.
    func digest(of bytes: [UInt8]) -> String {
        HMAC<SHA256>.authenticationCode(for: Data(bytes), using: self.digestKey).hexadecimal
    }
}

// What is kept for somebody who shows a secret: under a name that is derived from the secret, encrypted under a key that is
// derived from it too. Whoever reads Redis has neither, and cannot tell whose it is.

internal import Crypto
internal import FoundationEssentials

/// A name and a key, both derived from one secret.
struct SealedRecord: Sendable {
    /// 32 of [0-9a-f]; says nothing of the secret.
    let name: String
    private let key: SymmetricKey
    private let digestKey: SymmetricKey

    private static let nameBytes = 16

    /// - Parameters:
    ///   - secret: as strong as the encryption is.
    ///   - use: what it is for: what is derived for one use says nothing of what is derived for another.
    init(secret: String, for use: String) {
        let secret = SymmetricKey(data: Data(secret.utf8))
        func derive(_ part: String, bytes: Int) -> SymmetricKey {
            // RFC 5869
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: secret, info: Data("enroute \(use) \(part)".utf8), outputByteCount: bytes)
        }
        self.key = derive("key", bytes: 32)
        self.digestKey = derive("digest", bytes: 32)
        self.name = derive("name", bytes: Self.nameBytes).withUnsafeBytes { Self.hexadecimal($0) }
    }

    /// AES-256-GCM with a nonce of its own in front; bound to the name, so that what is kept under one cannot be put
    /// under another.
    func seal(_ bytes: [UInt8]) -> [UInt8] {
        guard
            let box = try? AES.GCM.seal(
                Data(bytes), using: self.key, authenticating: Data(self.name.utf8)),
            let sealed = box.combined
        else { preconditionFailure("a key of 256 bits seals whatever there is") }
        return Array(sealed)
    }

    /// `nil` for what this key did not seal.
    func open(_ sealed: [UInt8]) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: Data(sealed)),
            let bytes = try? AES.GCM.open(box, using: self.key, authenticating: Data(self.name.utf8))
        else { return nil }
        return Array(bytes)
    }

    /// 64 of [0-9a-f]: tells whether two texts are the same to whoever has the secret, and nothing to anybody else.
    func digest(of bytes: [UInt8]) -> String {
        HMAC<SHA256>.authenticationCode(for: Data(bytes), using: self.digestKey).withUnsafeBytes {
            Self.hexadecimal($0)
        }
    }

    private static func hexadecimal(_ bytes: UnsafeRawBufferPointer) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

// Codes that sign a page in once: what stands behind # in a link that a person opens, or is typed by hand, so that no token
// is ever in a URL. Redis does not hold the token but its encryption under a key that is derived from the code, by a name
// that is derived from the code too: who reads Redis has neither.

internal import Crypto
internal import FoundationEssentials
package import NIOCore
package import Redis

/// Sign-in codes at the live instance. May be used from any thread.
package struct SignInCodes: Sendable {
    private let live: RedisClient
    private let keyspace: Keyspace

    /// How long a code may be shown, s, and when nothing else is said.
    package static let lifetimes = 1...600
    package static let usualLifetime = 120

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
    }

    /// Keeps a token for who shows the code.
    ///
    /// - Parameter seconds: one of `lifetimes`.
    /// - Returns: the code, 32 of [0-9a-f], to be shown once.
    package func issue(for token: String, seconds: Int = Self.usualLifetime) -> EventLoopFuture<String> {
        let code = Secret.make()
        let kept = Kept(code: code)
        return self.live.send([
            "SET", .text(self.keyspace.signIn(kept.name)), .bytes(kept.seal(token)), "PX", .integer(seconds * 1000),
        ]).map { _ in code }
    }

    /// Takes the token: of all who show a code, one gets it.
    ///
    /// - Returns: `nil` when there is no such code (any more).
    package func redeem(_ code: String) -> EventLoopFuture<String?> {
        guard Secret.isOne(code) else { return self.live.eventLoop.makeSucceededFuture(nil) }
        let kept = Kept(code: code)
        let key = self.keyspace.signIn(kept.name)
        return self.live.send(["GETDEL", .text(key)]).map { answer in
            self.live.value(answer, of: key, by: "GETDEL") { $0.bytes.flatMap { kept.open($0) } }
        }
    }
}

/// What a code comes to: a name that tells nothing of it, and a key for what is kept under that name.
private struct Kept {
    let name: String
    private let key: SymmetricKey

    /// Bytes of the name: as many as the code has.
    private static let nameBytes = 16

    init(code: String) {
        let secret = SymmetricKey(data: Data(code.utf8))
        func derive(_ use: String, bytes: Int) -> SymmetricKey {
            // RFC 5869: what is derived for one use says nothing of what is derived for another.
            HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Data(use.utf8), outputByteCount: bytes)
        }
        self.key = derive("enroute sign-in key", bytes: 32)
        self.name = derive("enroute sign-in name", bytes: Self.nameBytes).withUnsafeBytes { bytes in
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    /// AES-256-GCM with a nonce of its own in front; bound to the name, so that what is kept under one can not be put
    /// under another.
    func seal(_ token: String) -> [UInt8] {
        guard
            let box = try? AES.GCM.seal(
                Data(token.utf8), using: self.key, authenticating: Data(self.name.utf8)),
            let sealed = box.combined
        else { preconditionFailure("a key of 256 bits seals whatever there is") }
        return Array(sealed)
    }

    /// `nil` for what this key did not seal.
    func open(_ sealed: [UInt8]) -> String? {
        guard let box = try? AES.GCM.SealedBox(combined: Data(sealed)),
            let token = try? AES.GCM.open(box, using: self.key, authenticating: Data(self.name.utf8))
        else { return nil }
        return String(decoding: token, as: UTF8.self)
    }
}

// Codes that sign a page in once: what stands behind # in a link that a person opens, or is typed by hand, so that no token
// is ever in a URL. Redis does not hold the token but its encryption under a key that is derived from the code, by a name
// that is derived from the code too: who reads Redis has neither.

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
        let kept = SealedRecord(secret: code, for: "sign-in")
        return self.live.send([
            "SET", .text(self.keyspace.signIn(kept.name)), .bytes(kept.seal(Array(token.utf8))), "PX",
            .integer(seconds * 1000),
        ]).map { _ in code }
    }

    /// Takes the token: of all who show a code, one gets it.
    ///
    /// - Returns: `nil` when there is no such code (any more).
    package func redeem(_ code: String) -> EventLoopFuture<String?> {
        guard Secret.isOne(code) else { return self.live.eventLoop.makeSucceededFuture(nil) }
        let kept = SealedRecord(secret: code, for: "sign-in")
        let key = self.keyspace.signIn(kept.name)
        return self.live.send(["GETDEL", .text(key)]).map { answer in
            self.live.value(answer, of: key, by: "GETDEL") { answer in
                answer.bytes.flatMap { kept.open($0) }.map { String(decoding: $0, as: UTF8.self) }
            }
        }
    }
}

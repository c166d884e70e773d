// One-time codes that sign in a page. A person opens a link with the code after the # or types the code, so no token is
// ever part of a URL. Redis stores the token encrypted under a key that is derived from the code, and so is the
// record's name. Nobody can obtain the token by reading Redis.

package import NIOCore
package import Redis

/// Sign-in codes in the live instance. Safe to use from any thread.
package struct SignInCodes: Sendable {
    private let live: RedisClient
    private let keyspace: Keyspace

    /// How long a code can be valid, in seconds.
    package static let lifetimes = 1...600
    package static let defaultLifetime = 120

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
    }

    /// Stores a token, which is returned to the first caller that presents the code.
    ///
    /// - Parameter seconds: one of `lifetimes`.
    /// - Returns: the code, 32 of [0-9a-f].
    package func issue(for token: String, seconds: Int = Self.defaultLifetime) -> EventLoopFuture<String> {
        let code = Secret.make()
        let record = SealedRecord(secret: code, for: "sign-in")
        return self.live.send([
            "SET", .text(self.keyspace.signIn(record.name)), .bytes(record.seal(Array(token.utf8))), "PX",
            .integer(seconds * 1000),
        ]).map { _ in code }
    }

    /// Redeems a code. Of several attempts with the same code only one receives the token.
    ///
    /// - Returns: `nil` when there is no such code, or it has expired or been used.
    package func redeem(_ code: String) -> EventLoopFuture<String?> {
        guard Secret.isValid(code) else { return self.live.eventLoop.makeSucceededFuture(nil) }
        let record = SealedRecord(secret: code, for: "sign-in")
        let key = self.keyspace.signIn(record.name)
        return self.live.send(["GETDEL", .text(key)]).map { answer in
            self.live.value(answer, of: key, by: "GETDEL") { answer in
                answer.bytes.flatMap { record.open($0) }.map { String(decoding: $0, as: UTF8.self) }
            }
        }
    }
}

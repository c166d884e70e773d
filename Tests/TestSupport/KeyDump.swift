// Everything a Redis holds, to be compared: a refused script must leave it as it was.

package import Redis

/// What stands under one key.
package struct KeyContent: Hashable, Sendable {
    /// As DUMP serialises it: type and value.
    package var content: [UInt8]
    /// When it expires, ms since the epoch; -1 never.
    package var expiry: Int64
}

extension RedisClient {
    /// All keys of the database.
    package func dump() async throws -> [String: KeyContent] {
        var contents: [String: KeyContent] = [:]
        for key in try await self.run("KEYS", "*").array ?? [] {
            guard let name = key.text, let content = try await self.run("DUMP", name).bytes,
                let expiry = try await self.run("PEXPIRETIME", name).integer
            else { continue }
            contents[name] = KeyContent(content: content, expiry: expiry)
        }
        return contents
    }

    /// The milliseconds a key has left; -1 when it stays, -2 when there is none.
    package func timeLeft(of key: String) async throws -> Int64 {
        try await self.run("PTTL", key).integer ?? -2
    }
}

// The whole content of a Redis, for comparisons: a script that refuses must not change anything.

package import Redis

/// The content of one key.
package struct KeyContent: Hashable, Sendable {
    /// As serialized by DUMP: type and value.
    package var content: [UInt8]
    /// When it expires, ms since the epoch; -1 for never.
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

    /// The remaining lifetime of a key in ms; -1 without one, -2 without the key.
    package func timeLeft(of key: String) async throws -> Int64 {
        try await self.run("PTTL", key).integer ?? -2
    }
}

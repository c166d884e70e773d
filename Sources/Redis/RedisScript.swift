// A Lua script: its name, its source, and the digest under which Redis caches it.

internal import Crypto

/// A script that is called by its digest (EVALSHA).
package struct RedisScript: Sendable {
    package let name: String
    package let source: [UInt8]
    /// SHA-1 of the source in hexadecimal, as Redis computes it.
    package let digest: String

    package init(name: String, source: [UInt8]) {
        self.name = name
        self.source = source
        self.digest = Insecure.SHA1.hash(data: source).map { byte in
            let text = String(byte, radix: 16)
            return byte < 16 ? "0" + text : text
        }.joined()
    }

    func call(keys: [String], arguments: [RedisCommand.Word]) -> RedisCommand {
        RedisCommand([.text("EVALSHA"), .text(self.digest)] + Self.parameters(keys, arguments))
    }

    func introduction(keys: [String], arguments: [RedisCommand.Word]) -> RedisCommand {
        RedisCommand([.text("EVAL"), .bytes(self.source)] + Self.parameters(keys, arguments))
    }

    private static func parameters(_ keys: [String], _ arguments: [RedisCommand.Word]) -> [RedisCommand.Word] {
        [.integer(keys.count)] + keys.map { .text($0) } + arguments
    }
}

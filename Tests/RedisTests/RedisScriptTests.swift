import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct RedisScriptTests {
    private let script = RedisScript(name: "sum", source: Array("return ARGV[1] + ARGV[2] -- é\n".utf8))

    /// Returns how often a command was called.
    private func calls(of command: String, _ client: RedisClient) async throws -> Int {
        let lines = try await client.run("INFO", "commandstats").text?.split(separator: "\r\n") ?? []
        let prefix = "cmdstat_\(command):calls="
        return lines.first { $0.hasPrefix(prefix) }.flatMap { Int($0.dropFirst(prefix.count).prefix { $0 != "," }) }
            ?? 0
    }

    @Test func `a script's digest is the one that Redis computes`() async throws {
        try await withRedis { client, _ in
            for source in [Array("return 1".utf8), self.script.source, Array("--\r\n\treturn 0".utf8)] {
                let digest = try await client.send(["SCRIPT", "LOAD", .bytes(source)]).get().text
                #expect(RedisScript(name: "any", source: source).digest == digest)
            }
        }
    }

    @Test func `an unknown script is sent once with its source`() async throws {
        try await withRedis { client, _ in
            for round in 1...3 {
                let answer = try await client.evaluate(self.script, keys: [], arguments: ["1", .integer(round)]).get()
                #expect(answer == .integer(Int64(1 + round)))
            }
            #expect(try await self.calls(of: "evalsha", client) == 3)
            #expect(try await self.calls(of: "eval", client) == 1)
        }
    }

    @Test func `a script that the server has forgotten is sent again`() async throws {
        try await withRedis { client, _ in
            _ = try await client.evaluate(self.script, keys: [], arguments: [1, 2]).get()
            try await client.run("SCRIPT", "FLUSH")
            #expect(try await client.evaluate(self.script, keys: [], arguments: [1, 2]).get() == .integer(3))
            #expect(try await self.calls(of: "eval", client) == 2)
        }
    }

    @Test func `keys and arguments reach the script in order`() async throws {
        try await withRedis { client, _ in
            let script = RedisScript(name: "all", source: Array("return {KEYS[1], KEYS[2], ARGV[1], #ARGV}".utf8))
            let answer = try await client.evaluate(script, keys: ["{a}:1", "{a}:2"], arguments: [.bytes([0, 255])])
                .get()
            let texts = ["{a}:1", "{a}:2"].map { RESPValue.string(Array($0.utf8)) }
            #expect(answer == .array(texts + [.string([0, 255]), .integer(1)]))
        }
    }

    @Test func `a script that returns an error is not retried with its source`() async throws {
        try await withRedis { client, _ in
            let script = RedisScript(name: "no", source: Array("return redis.error_reply('ERR no: bad')".utf8))
            for _ in 0..<2 {
                let error = await failure(of: client.evaluate(script, keys: [], arguments: []))
                #expect(error == .refused(code: "ERR", message: "ERR no: bad"))
            }
            let calls = try await self.calls(of: "eval", client)
            #expect(calls == 1)
        }
    }

    @Test func `two hundred concurrent calls of an unknown script are all answered`() async throws {
        try await withRedis { client, _ in
            let answers = (0..<200).map { client.evaluate(self.script, keys: [], arguments: [1, .integer($0)]) }
            for (number, answer) in answers.enumerated() {
                let value = try await answer.get()
                #expect(value == .integer(Int64(1 + number)))
            }
        }
    }
}

import TestSupport
import Testing

@testable import Redis

@Suite struct RESPReaderTests {
    /// Every type, empty and nested, and strings that look like protocol syntax.
    private static let values: [RESPValue] = [
        .string(Array("OK".utf8)), .string([]), .string(Array("a\r\n*1\r\n\0b".utf8)), .integer(0), .integer(-42),
        .integer(.max), .integer(.min), .null, .error("ERR no"), .array([]), .array([.null, .integer(1)]),
        .array([.array([.array([.string([0xFF])]), .error("WRONGTYPE x")]), .array([]), .string(Array("end".utf8))]),
    ]

    @Test func `replies of every type are parsed`() throws {
        for value in Self.values { #expect(try RESPReader().replies(to: value.encoded) == [value]) }
    }

    @Test func `a status is parsed as text, and a null array as null`() throws {
        #expect(try RESPReader().replies(to: Array("+OK\r\n*-1\r\n".utf8)) == [.string(Array("OK".utf8)), .null])
    }

    @Test func `the chunk boundaries of the input make no difference`() throws {
        let bytes = Self.values.flatMap(\.encoded)
        for cut in 0...bytes.count {
            let reader = RESPReader()
            let replies = try reader.replies(to: bytes.prefix(cut)) + reader.replies(to: bytes.dropFirst(cut))
            #expect(replies == Self.values, "cut after \(cut) bytes")
        }
    }

    @Test func `input is parsed one byte at a time`() throws {
        let reader = RESPReader()
        #expect(try Self.values.flatMap(\.encoded).flatMap { try reader.replies(to: [$0]) } == Self.values)
    }

    @Test func `eight levels of nested arrays are accepted and nine are rejected`() throws {
        func nested(_ depth: Int) -> [UInt8] { Array((String(repeating: "*1\r\n", count: depth) + ":1\r\n").utf8) }
        #expect(try RESPReader().replies(to: nested(8)).count == 1)
        #expect(throws: RedisError.self) { try RESPReader().replies(to: nested(9)) }
    }

    @Test func `ten thousand random replies in random chunks are parsed unchanged`() throws {
        var random = SeededGenerator(seed: 6379)
        let values = (0..<10_000).map { _ in RESPValue.any(depth: 3, using: &random) }
        let bytes = values.flatMap(\.encoded)
        let reader = RESPReader()
        var (offset, replies) = (0, [RESPValue]())
        while offset < bytes.count {
            let longest = Int.random(in: 0...3, using: &random) == 0 ? 40_000 : 60
            let end = min(bytes.count, offset + Int.random(in: 1...longest, using: &random))
            replies += try reader.replies(to: bytes[offset..<end])
            offset = end
        }
        try #require(replies.count == values.count)
        for (index, (read, written)) in zip(replies, values).enumerated() {
            try #require(read == written, "reply \(index)")
        }
    }
}

/// Input that Redis never sends: rejected with a reason, and before it costs memory.
@Suite struct RESPLimitsTests {
    private func refusal(of text: String) -> String? {
        do {
            _ = try RESPReader().replies(to: text.utf8)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func `an array may announce at most 1 Mi elements`() {
        #expect(self.refusal(of: "*1048576\r\n") == nil)
        #expect(
            self.refusal(of: "*1048577\r\n")
                == "Redis violated RESP2: an array of 1048577 elements, which exceeds the limit.")
    }

    @Test(arguments: [
        "2147483647", "2147483648", "4294967295", "4294967297", "9223372036854775807", "99999999999999999999",
    ])
    func `a length beyond Int32 neither crashes nor wraps around`(length: String) {
        #expect(self.refusal(of: "*\(length)\r\n:1\r\n:2\r\n") != nil)
    }

    @Test func `a string of 1 MiB is accepted`() throws {
        let value = RESPValue.string([UInt8](repeating: 0x61, count: 1 << 20))
        #expect(try RESPReader().replies(to: value.encoded) == [value])
    }

    @Test func `a string of 2 MiB is rejected before it is buffered`() throws {
        let reader = RESPReader()
        let piece = [UInt8](repeating: 0x61, count: 16_384)
        var taken = try reader.replies(to: "$2097152\r\n".utf8).count
        let error = #expect(throws: RedisError.self) {
            while taken < 2 << 20 {
                _ = try reader.replies(to: piece)
                taken += piece.count
            }
        }
        #expect(taken <= 1 << 20 + 16_384)
        #expect(error == .protocolViolation("a string longer than 1048576 bytes"))
    }

    @Test func `a string one byte too long is rejected even if it is complete`() {
        let value = RESPValue.string([UInt8](repeating: 0x61, count: 1 << 20 + 1))
        #expect(throws: RedisError.protocolViolation("a string of 1048577 bytes, which exceeds the limit")) {
            try RESPReader().replies(to: value.encoded)
        }
    }

    @Test func `an endless line is rejected before it is buffered`() throws {
        let reader = RESPReader()
        var taken = 0
        _ = try reader.replies(to: "+".utf8)
        #expect(throws: RedisError.self) {
            while taken < 4 << 20 {
                _ = try reader.replies(to: [UInt8](repeating: 0x61, count: 16_384))
                taken += 16_384
            }
        }
        #expect(taken <= 2 << 20)
    }

    @Test(
        arguments: [
            "_\r\n", "#t\r\n", ",1.5\r\n", "(1\r\n", "!3\r\nERR\r\n", "=5\r\ntxt:a\r\n", "%1\r\n", "~1\r\n", ">1\r\n",
            "|1\r\n",
        ])
    func `a RESP3 type is rejected and named`(text: String) {
        let reason = self.refusal(of: text)
        #expect(reason?.contains("RESP2") == true)
        #expect(reason?.contains(String(text.prefix(1))) == true, "\(reason ?? "accepted")")
    }

    @Test(
        arguments: [
            "HTTP/1.1 400 Bad Request\r\n", "\0", "\r\n", "garbage\r\n", ":abc\r\n", "*abc\r\n", "$abc\r\n", "*-2\r\n",
            "$-2\r\n", ":99999999999999999999\r\n", "$99999999999999999999\r\n",
        ])
    func `input that is not RESP is rejected with a reason`(text: String) {
        let reason = self.refusal(of: text)
        #expect(reason?.hasPrefix("Redis violated RESP2: ") == true)
        #expect((reason?.count ?? 0) > 28, "\(reason ?? "accepted")")
    }

    @Test func `a reader that has rejected its input rejects everything afterwards`() {
        let reader = RESPReader()
        for text in ["?\r\n", "+OK\r\n", ":1\r\n"] {
            #expect(throws: RedisError.self) { try reader.replies(to: text.utf8) }
        }
    }
}

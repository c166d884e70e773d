import NIOCore
import TestSupport
import Testing

@testable import Redis

/// Commands without futures.
@Suite struct DirectCommandTests {
    /// The outcome of a direct command, as a value.
    private enum Outcome: Equatable {
        case value(RESPValue)
        case failure(RedisError)
        case notSent
    }

    /// Sends `words` and returns a future of the outcome. On the client's loop.
    private static func send(_ client: RedisClient, _ words: [String]) -> EventLoopFuture<Outcome> {
        let promise = client.eventLoop.makePromise(of: Outcome.self)
        let most = words.reduce(0) { $0 + CommandWriter.size(ofWord: $1.utf8.count) }
        let isSent = client.sendDirectly(key: words[1], words: words.count, most: most) { writer in
            for word in words { writer.word(word) }
        } _: { reply in
            switch reply {
            case .reply(let tape): promise.succeed(.value(tape.value))
            case .failure(let error): promise.succeed(.failure(error))
            }
        }
        if !isSent { promise.succeed(.notSent) }
        return promise.futureResult
    }

    private static func send(_ client: RedisClient, _ words: String...) async throws -> Outcome {
        try await client.eventLoop.flatSubmit { Self.send(client, words) }.get()
    }

    @Test func `a reply reaches its command`() async throws {
        try await withRedis { client, _ in
            let stored = try await Self.send(client, "SET", "key", "value\r\n")
            #expect(stored == .value(.string(Array("OK".utf8))))
            let read = try await Self.send(client, "GET", "key")
            #expect(read == .value(.string(Array("value\r\n".utf8))))
            let both = try await Self.send(client, "MGET", "key", "none")
            #expect(both == .value(.array([.string(Array("value\r\n".utf8)), .null])))
        }
    }

    @Test func `an error of the server is a failure`() async throws {
        try await withRedis { client, _ in
            try await client.run("SET", "key", "text")
            guard case .failure(.refused("ERR", _)) = try await Self.send(client, "INCR", "key") else {
                Issue.record("not refused")
                return
            }
            guard case .failure(let error) = try await Self.send(client, "EVALSHA", "0", "0") else {
                Issue.record("not refused")
                return
            }
            #expect(error.needsGeneralPath)
        }
    }

    @Test func `commands with and without futures keep their order on one connection`() async throws {
        try await withRedis { client, _ in
            let outcomes = try await client.eventLoop.flatSubmit {
                let sent = (0..<200).map { index in
                    index % 2 == 0
                        ? Self.send(client, ["INCR", "n"]) : client.send(["INCR", "n"]).map { Outcome.value($0) }
                }
                return EventLoopFuture.whenAllSucceed(sent, on: client.eventLoop)
            }.get()
            #expect(outcomes == (1...200).map { .value(.integer($0)) })
        }
    }

    @Test func `numbers of any size are written in decimal`() async throws {
        try await withRedis { client, _ in
            for number in [0, 7, -1, 1_700_000_000_000, .max, .min] as [Int64] {
                let sent = try await client.eventLoop.flatSubmit {
                    let promise = client.eventLoop.makePromise(of: Bool.self)
                    _ = client.sendDirectly(key: "n", words: 3, most: 100) { writer in
                        writer.word("SET")
                        writer.word("n")
                        writer.word(number)
                    } _: {
                        if case .reply = $0 { promise.succeed(true) } else { promise.succeed(false) }
                    }
                    return promise.futureResult
                }.get()
                #expect(sent)
                #expect(try await client.run("GET", "n").text == "\(number)")
            }
        }
    }

    @Test func `a lost connection fails the unanswered commands, and further ones are not sent`() async throws {
        try await withRedis { client, server in
            server.freeze()
            let waiting = try await client.eventLoop.submit { Self.send(client, ["GET", "key"]) }.get()
            server.crash()
            let outcome = try await waiting.get()
            #expect(outcome == .failure(.connectionLost))
            let later = try await Self.send(client, "GET", "key")
            #expect(later == .notSent)
        }
    }
}

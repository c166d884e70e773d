import Embedded
import Glibc
import NIOCore
import TestSupport
import Testing

@testable import Redis

/// Commands that are written directly to the kernel, when the kernel does not accept them.
@Suite struct DirectSocketTests {
    /// Sends a command and counts its outcome. On the client's loop.
    private static func send(
        _ client: RedisClient, _ words: [String], _ completion: @escaping (DirectReply) -> Void
    ) -> Bool {
        let most = words.reduce(0) { $0 + CommandWriter.size(ofWord: $1.utf8.count) }
        return client.sendDirectly(key: words[1], words: words.count, most: most) { writer in
            for word in words { writer.word(word) }
        } _: {
            completion($0)
        }
    }

    @Test func `commands that the kernel does not accept arrive later, complete and in order`() async throws {
        try await withRedis { client, server in
            // A multiple of what a socket's buffers hold, so that some commands are accepted in part and others not at all.
            let (count, padding) = (64, String(repeating: "-", count: 64 * 1024))
            let lengths = client.eventLoop.makePromise(of: [Int64].self)
            let found = NIOLoopBoundBox.makeBoxSendingValue([Int64](), eventLoop: client.eventLoop)
            server.freeze()
            for index in 0..<count {
                // Each in its own loop tick, so that each is offered to the kernel.
                let isSent = try await client.eventLoop.submit {
                    Self.send(client, ["RPUSH", "list", "\(index)" + padding]) { reply in
                        if case .reply(let tape) = reply { found.value.append(tape.value.integer ?? 0) }
                        if found.value.count == count { lengths.succeed(found.value) }
                    }
                }.get()
                #expect(isSent)
            }
            server.thaw()
            #expect(try await lengths.futureResult.within().get() == (1...Int64(count)).map { $0 })
            let stored = try await client.run("LRANGE", "list", "0", "-1").array?.compactMap(\.text)
            #expect(stored == (0..<count).map { "\($0)" + padding })
            // The kernel accepts commands again.
            let next = try await client.run("LLEN", "list")
            #expect(next == .integer(Int64(count)))
        }
    }

    @Test func `a command may be sent in the callback of another one that failed because the connection broke`()
        async throws
    {
        try await withRedis { client, server in
            let (count, loop) = (100, client.eventLoop)
            let followUps = NIOLoopBoundBox.makeBoxSendingValue(0, eventLoop: loop)
            let ended = loop.makePromise(of: Void.self)
            server.freeze()
            try await loop.submit {
                // The loop has not noticed that the server has exited, so the kernel reports it at the next write.
                server.crash()
                while server.isRunning { sched_yield() }
                for _ in 0..<count {
                    let isSent = Self.send(client, ["INCR", "n"]) { reply in
                        guard case .failure = reply else { return }
                        _ = Self.send(client, ["INCR", "n"]) { _ in }
                        client.send(["INCR", "n"]).whenComplete { _ in
                            followUps.value += 1
                            if followUps.value == count { ended.succeed() }
                        }
                    }
                    #expect(isSent)
                }
            }.get()
            try await ended.futureResult.get()
        }
    }
}

extension RedisServer {
    /// A killed process keeps its sockets until the kernel has ended it; then it is a zombie, or gone.
    fileprivate var isRunning: Bool {
        guard let status = fopen("/proc/\(self.processID)/stat", "r") else { return false }
        defer { fclose(status) }
        var text = [CChar](repeating: 0, count: 512)
        guard fgets(&text, Int32(text.count), status) != nil else { return false }
        let words = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return words.split(separator: ")").last?.split(separator: " ").first != "Z"
    }
}

import Foundation
import NIOCore
import Redis
import TestSupport
import Testing

@Suite(.needsMachine(for: .faults)) struct RestartableRedisTests {
    @Test(arguments: ["unix", "tcp"])
    func `a server that crashed comes back at the same address with what it had acknowledged`(kind: String) async throws
    {
        let port = kind == "tcp" ? try await freePort() : nil
        try await RestartableRedis.running(port: port) { redis in
            let first = try await redis.processID
            let client = try await RedisClient.started(at: redis.address)
            defer { client.stop() }
            for number in 1...100 { try await client.run("SET", "k\(number)", "v") }
            await redis.crash()
            #expect(await eventually { await failure(of: client.send(["PING"])) == .disconnected })
            try await redis.start(.kept)
            #expect(try await redis.run("DBSIZE").integer == 100)
            #expect(try await redis.processID != first)
            #expect(await eventually { await failure(of: client.send(["PING"])) == nil })
        }
    }

    @Test func `a server started again with an empty memory has lost everything`() async throws {
        try await RestartableRedis.running { redis in
            _ = try await redis.run("SET", "a", "1")
            try await redis.restart(.empty)
            #expect(try await redis.run("DBSIZE").integer == 0)
            try await redis.restart(.kept)
            #expect(try await redis.run("DBSIZE").integer == 0)
        }
    }

    @Test func `a server told to keep nothing has lost everything however it is started`() async throws {
        try await RestartableRedis.running(options: ["--appendonly", "no"]) { redis in
            _ = try await redis.run("SET", "a", "1")
            try await redis.restart(.kept)
            #expect(try await redis.run("DBSIZE").integer == 0)
        }
    }

    @Test func `a frozen server keeps its connections, says nothing, and answers when it is thawed`() async throws {
        try await RestartableRedis.running { redis in
            try await RawRedis.talking(to: redis.endpoint) { connection in
                try await connection.run("PING")
                try await redis.freeze()
                connection.send(["PING"])
                await #expect(throws: NothingCame.self) { try await connection.replies.next(within: Self.silence) }
                try await redis.thaw()
                #expect(try await connection.next().text == "PONG")
            }
        }
    }

    @Test func `a server that was frozen can be crashed, and its connections end`() async throws {
        try await RestartableRedis.running { redis in
            try await RawRedis.talking(to: redis.endpoint) { connection in
                try await redis.freeze()
                await redis.crash()
                #expect(try await connection.replies.next() == nil)
            }
            try await redis.start()
            #expect(try await redis.run("PING").text == "PONG")
        }
    }

    @Test func `two hundred restarts leave no process and no descriptor behind`() async throws {
        try await RestartableRedis.running(port: try await freePort()) { redis in
            var processes: [Int32] = []
            let descriptors = try Self.descriptorCount()
            for round in 1...200 {
                let value = try await redis.run("INCR", "rounds").integer
                try #require(value == Int64(round))
                processes.append(try #require(try await redis.processID))
                if round % 2 == 0 { try await redis.freeze() }
                try await redis.restart()
            }
            #expect(Set(processes).count == 200)
            for process in processes {
                #expect(!FileManager.default.fileExists(atPath: "/proc/\(process)"), "\(process) is still there")
            }
            // Other tests run beside this one and hold some of their own for a while; one leaked in each round would stay.
            try await becomes("most descriptors are given back") { try Self.descriptorCount() < descriptors + 150 }
        }
    }

    @Test func `a server that can not start says why`() async throws {
        await #expect {
            try await RestartableRedis.running(options: ["--maxmemory", "nonsense"]) { _ in }
        } throws: { "\($0)".contains("maxmemory") }
    }

    /// How long nothing must come from who is silent.
    private static let silence = TimeAmount.milliseconds(200)

    /// Descriptors that this process holds.
    private static func descriptorCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
}

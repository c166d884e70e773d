import Foundation
import NIOCore
import Redis
import TestSupport
import Testing

@Suite(.needsMachine(for: .faults)) struct RestartableRedisTests {
    @Test(arguments: ["unix", "tcp"])
    func `a crashed server restarts at the same address with everything it acknowledged`(kind: String) async throws {
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

    @Test func `a server restarted without its data has lost everything`() async throws {
        try await RestartableRedis.running { redis in
            _ = try await redis.run("SET", "a", "1")
            try await redis.restart(.empty)
            #expect(try await redis.run("DBSIZE").integer == 0)
            try await redis.restart(.kept)
            #expect(try await redis.run("DBSIZE").integer == 0)
        }
    }

    @Test func `a server without persistence loses everything at every restart`() async throws {
        try await RestartableRedis.running(options: ["--appendonly", "no"]) { redis in
            _ = try await redis.run("SET", "a", "1")
            try await redis.restart(.kept)
            #expect(try await redis.run("DBSIZE").integer == 0)
        }
    }

    @Test func `a frozen server keeps its connections, is silent, and answers when thawed`() async throws {
        try await RestartableRedis.running { redis in
            try await RawRedis.talking(to: redis.endpoint) { connection in
                try await connection.run("PING")
                try await redis.freeze()
                connection.send(["PING"])
                await #expect(throws: NothingArrived.self) { try await connection.replies.next(within: Self.silence) }
                try await redis.thaw()
                #expect(try await connection.next().text == "PONG")
            }
        }
    }

    @Test func `a frozen server can be killed, and its connections end`() async throws {
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

    @Test func `two hundred restarts leak no process and no descriptor`() async throws {
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
            // Concurrent tests hold some descriptors for a while; one leaked per round would stay.
            try await becomes("most descriptors are released") { try Self.descriptorCount() < descriptors + 150 }
        }
    }

    @Test func `a server that cannot start reports why`() async throws {
        await #expect {
            try await RestartableRedis.running(options: ["--maxmemory", "nonsense"]) { _ in }
        } throws: { "\($0)".contains("maxmemory") }
    }

    /// How long a silent server must stay silent in these tests.
    private static let silence = TimeAmount.milliseconds(200)

    /// The number of open descriptors of this process.
    private static func descriptorCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
}

import TestSupport
import Testing

@testable import Redis

@Suite struct ClusterMapTests {
    private static let (a, b) = (
        RedisAddress.Node(host: "10.0.0.1", port: 7000), RedisAddress.Node(host: "b", port: 7001)
    )

    private static func range(_ first: Int64, _ last: Int64, _ host: String, _ port: Int64) -> RESPValue {
        let replica = RESPValue.array([.string(Array("elsewhere".utf8)), .integer(7009), .string(Array("id".utf8))])
        return .array([.integer(first), .integer(last), .array([.string(Array(host.utf8)), .integer(port)]), replica])
    }

    @Test func `the hash slot of a key is the one that Redis computes`() async throws {
        try await withRedis(options: ["--cluster-enabled", "yes"]) { client, _ in
            for key in ["a", "job:{42}:position", "{}x", "x{", "a}b{c}", "{a}{b}", "{{a}}", "", "ключ", "{}{a}"] {
                let slot = try await client.run("CLUSTER", "KEYSLOT", key).integer
                #expect(slot == Int64(HashSlot.of(key)), "\(key)")
            }
        }
    }

    @Test func `the first node of a CLUSTER SLOTS range owns its slots`() throws {
        let answer = RESPValue.array([Self.range(0, 100, "10.0.0.1", 7000), Self.range(101, 16_383, "b", 7001)])
        let map = try #require(ClusterMap(answer, from: Self.a))
        #expect(map.owner(of: 0) == Self.a && map.owner(of: 100) == Self.a)
        #expect(map.owner(of: 101) == Self.b && map.owner(of: 16_383) == Self.b)
        #expect(map.isWhole)
        #expect(map.nodes == [Self.a, Self.b])
    }

    @Test(arguments: ["", "?"])
    func `a node that reports no host is reached at the queried host`(host: String) throws {
        let map = try #require(ClusterMap(.array([Self.range(5, 5, host, 7000)]), from: Self.a))
        #expect(map.owner(of: 5) == Self.a)
        #expect(map.owner(of: 6) == nil)
        #expect(!map.isWhole)
    }

    @Test(arguments: [
        RESPValue.null, .array([.integer(1)]), .array([.array([.integer(0), .integer(1)])]),
        .array([ClusterMapTests.range(5, 4, "a", 1)]), .array([ClusterMapTests.range(-1, 4, "a", 1)]),
        .array([ClusterMapTests.range(0, 16_384, "a", 1)]), .array([ClusterMapTests.range(0, 1, "a", 65_536)]),
        .array([ClusterMapTests.range(0, 1, "a", -1)]), .array([ClusterMapTests.range(0, 1, "a", 0)]),
    ])
    func `an invalid CLUSTER SLOTS reply is rejected`(answer: RESPValue) {
        #expect(ClusterMap(answer, from: Self.a) == nil)
    }

    @Test func `a permanent redirection changes only the owner of its slot`() throws {
        var map = try #require(ClusterMap(.array([Self.range(0, 16_383, "10.0.0.1", 7000)]), from: Self.a))
        map.apply(try #require(Redirection(RedisError(errorLine: "MOVED 3999 b:7001"), asked: Self.a)))
        #expect(map.owner(of: 3999) == Self.b)
        #expect(map.owner(of: 3998) == Self.a && map.owner(of: 4000) == Self.a)
    }

    @Test func `MOVED is permanent, ASK is not, and a redirection without a host keeps the host`() throws {
        let moved = try #require(Redirection(RedisError(errorLine: "MOVED 1 b:7001"), asked: Self.a))
        #expect(moved.isPermanent && moved.slot == 1 && moved.node == Self.b)
        let ask = try #require(Redirection(RedisError(errorLine: "ASK 16383 :7005"), asked: Self.a))
        #expect(!ask.isPermanent && ask.node == RedisAddress.Node(host: "10.0.0.1", port: 7005))
        let six = try #require(Redirection(RedisError(errorLine: "MOVED 1 2001:db8::1:7001"), asked: Self.a))
        #expect(six.node == RedisAddress.Node(host: "2001:db8::1", port: 7001))
    }

    @Test(arguments: [
        "MOVED", "MOVED x b:1", "MOVED 16384 b:1", "MOVED -1 b:1", "ASK 1 b", "ASK 1 b:x", "ERR MOVED 1 b:1",
        "MOVED 1 b:65536", "MOVED 1 b:0", "ASK 1 b:-1",
    ])
    func `other errors are not redirections`(line: String) {
        #expect(Redirection(RedisError(errorLine: line), asked: Self.a) == nil)
    }

    @Test func `a command is routed by its first key`() {
        let slot = HashSlot.of("k")
        for command: RedisCommand in [
            ["GET", "k"], ["MGET", "k", "{k}2"], ["hmget", "k", "f"], ["EVALSHA", "digest", "1", "k", "a"],
            ["EVAL", .bytes([1]), "2", .bytes([107]), "a"], ["SPUBLISH", "k", "m"],
        ] {
            #expect(command.slot == slot, "\(command.words)")
        }
        for command: RedisCommand in [["PING"], ["INFO", "replication"], ["TIME"], ["wait", "1", "0"]] {
            #expect(command.slot == nil)
        }
    }
}

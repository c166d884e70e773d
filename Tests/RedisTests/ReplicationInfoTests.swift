import TestSupport
import Testing

@testable import Redis

/// The values parsed from the reply to INFO replication.
@Suite struct ReplicationInfoTests {
    private static let master = """
        # Replication
        role:master
        connected_slaves:2
        slave0:ip=10.0.0.2,port=6379,state=online,offset=420,lag=0
        slave1:ip=10.0.0.3,port=6379,state=wait_bgsave,offset=0,lag=0
        master_failover_state:no-failover
        master_replid:8d0cc7e2f8a2b5b4a3c1c8f0a1b2c3d4e5f60718
        master_replid2:0000000000000000000000000000000000000000
        master_repl_offset:420
        second_repl_offset:-1
        """

    private static func info(_ text: String) -> ReplicationInfo {
        ReplicationInfo(text.replacing("\n", with: "\r\n").utf8)
    }

    @Test func `a master reports its history and the replicas that receive writes`() {
        let info = Self.info(Self.master)
        #expect(info.isMaster)
        #expect(info.history == Array("8d0cc7e2f8a2b5b4a3c1c8f0a1b2c3d4e5f60718".utf8))
        #expect(!info.hasPreviousHistory)
        #expect(info.onlineReplicas == 1)
    }

    @Test func `a promoted replica has a previous history`() {
        let promoted = Self.master.replacing("replid2:0000", with: "replid2:00a0")
        #expect(Self.info(promoted).hasPreviousHistory)
    }

    @Test func `settings of a replica are not counted as replicas`() {
        let info = Self.info("role:slave\nslave_read_only:1\nslave_priority:100,state=online\nmaster_replid:ab\n")
        #expect(!info.isMaster)
        #expect(info.onlineReplicas == 0)
        #expect(info.history == Array("ab".utf8))
    }

    @Test(arguments: ["", "role", "role:", "slave", "slave0", "slave0:", "master_replid", ":::", "\0\0\n\u{FF}"])
    func `a malformed reply contains no master, no history and no replicas`(text: String) {
        let info = Self.info(text)
        #expect(!info.isMaster && info.onlineReplicas == 0 && info.history == nil)
    }

    @Test func `the reply of a real server is parsed`() async throws {
        try await withServer { server in
            let client = try await RedisClient.started(at: server.address)
            defer { client.stop() }
            let reply = try await client.send(["INFO", "replication"]).get()
            let info = ReplicationInfo(try #require(reply.bytes))
            #expect(info.isMaster && info.history?.count == 40 && !info.hasPreviousHistory)
        }
    }
}

import Embedded
import Foundation
import LiveState
import Redis
import Subprocess
import TestSupport
import Testing

/// Two installations on one Redis, with the users that the commands of deploy/redis/README.md create.
@Suite struct SharedRedisTests {
    private static let installations = ["north", "south"]

    /// The access list that the README's commands make of the shipped one, with the passwords of the tests.
    private static func accessList(of role: DeployedRedis, in folder: String) async throws -> String {
        let blocks = try DeployedRedis.text("README.md").split(separator: "```").filter { $0.hasPrefix("sh\n") }
        let prefix = try #require(blocks.first { $0.contains("# Set PREFIX") }).dropFirst(3)
            .replacing("/etc/redis/$ROLE.acl", with: "$COPY")
        let users = try #require(blocks.first { $0.contains("# Set ROLE, NAME") }).dropFirst(3)
            .replacing("/etc/redis", with: folder)
        let list = "\(folder)/\(role.rawValue).acl"
        try FileManager.default.copyItem(atPath: role.accessListPath, toPath: list)
        for name in Self.installations {
            let copy = "\(folder)/\(name).acl"
            try FileManager.default.copyItem(atPath: role.accessListPath, toPath: copy)
            let variables = "ROLE='\(role.rawValue)'\nNAME='\(name)'\nPREFIX='\(name):'\nCOPY='\(copy)'\n"
            let outcome = try await Subprocess.run(
                .name("sh"), arguments: ["-ec", variables + prefix + "\n" + users], output: .string(limit: 65_536),
                error: .combinedWithOutput)
            #expect(outcome.terminationStatus.isSuccess, "\(outcome.standardOutput)")
        }
        return try String(contentsOfFile: list, encoding: .utf8)
            .replacing(" on ", with: " on >\(DeployedRedis.password) ")
    }

    private static func running(_ role: DeployedRedis, _ body: (RedisServer) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = "\(folder)/shared.acl"
        try Data(try await self.accessList(of: role, in: folder).utf8).write(to: URL(filePath: file))
        try await withServer(configuration: role.configurationPath, options: ["--aclfile", file]) { server in
            try await body(server)
        }
    }

    private static func access(
        of user: String, to prefix: String, at role: DeployedRedis, _ server: RedisServer
    ) async throws -> AccessFacts {
        let client = try await RedisClient.started(at: server.address(for: user))
        defer { client.stop() }
        let probe = AccessProbe(role: role == .live ? .live : .ledger, keyspace: Keyspace(prefix: prefix))
        return try #require(try await probe.run(client).get())
    }

    @Test(arguments: DeployedRedis.allCases)
    func `each installation's user has the required permissions, and none for the other's keys`(
        role: DeployedRedis
    ) async throws {
        try await Self.running(role) { server in
            for (name, other) in [("north", "south"), ("south", "north")] {
                let own = try await Self.access(of: "\(name)-enroute", to: "\(name):", at: role, server)
                #expect(own == AccessFacts(), "\(own)")
                let others = try await Self.access(of: "\(name)-enroute", to: "\(other):", at: role, server)
                #expect(others.missing.contains { $0.contains(" \(other):") }, "\(others)")
            }
        }
    }

    @Test(arguments: DeployedRedis.allCases)
    func `a user that may read keys without a prefix, although gateways have one, is reported`(
        role: DeployedRedis
    ) async throws {
        try await Self.running(role) { server in
            let admin = try await RedisClient.started(at: server.address(for: "admin"))
            defer { admin.stop() }
            _ = try await admin.run("ACL", "SETUSER", "north-enroute", "~job:*")
            let access = try await Self.access(of: "north-enroute", to: "north:", at: role, server)
            #expect(access.missing.isEmpty)
            let key = role == .live ? "job:{enroute-check}:travel" : "job:{enroute-check}"
            #expect(access.excessive == ["GET \(key)"])
        }
    }
}

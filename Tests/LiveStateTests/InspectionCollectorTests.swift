import Embedded
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// Inspections of real servers.
@Suite struct InspectionCollectorTests {
    private static let connection = RedisConnectionInfo(RedisAddress(endpoint: .tcp(host: "localhost", port: 6379)))

    private func role(_ deployed: DeployedRedis) throws -> RedisRole {
        try #require(RedisRole(rawValue: deployed.rawValue))
    }

    @Test(arguments: DeployedRedis.allCases)
    func `with the files of deploy no error is found, whether or not a user may read settings`(
        deployed: DeployedRedis
    ) async throws {
        let role = try self.role(deployed)
        try await deployed.run { server in
            let client = try await RedisClient.started(at: server.address(for: "enroute"))
            let admin = try await RedisClient.started(at: server.address(for: "operations"))
            defer { for client in [client, admin] { client.stop() } }
            for asked in [admin, nil] {
                let facts = try await RedisInspector(
                    role: role, connection: Self.connection, client: client, admin: asked
                )
                .allFacts(keyspace: Keyspace()).get()
                #expect(facts.access == AccessFacts())
                #expect((facts.settings == nil) == (asked == nil))
                let wrong = facts.findings(in: .production).filter { $0.severity != .ok }
                let expected: [Finding.Subject] =
                    (role == .ledger ? [.replicas] : []) + (asked == nil ? [.settings] : [])
                #expect(wrong.map(\.subject) == expected, "\(wrong)")
                #expect(wrong.allSatisfy { $0.severity == .warning })
            }
        }
    }

    @Test func `B31: missing permissions of the default user are an error, and unknown ones a warning`()
        async throws
    {
        func reload(_ server: RedisServer, in mode: DeploymentMode = .production) async throws -> Finding? {
            let client = try await RedisClient.started(at: server.address(for: "enroute"))
            let operations = try await RedisClient.started(at: server.address(for: "operations"))
            defer { for client in [client, operations] { client.stop() } }
            return try await RedisInspector(
                role: .ledger, connection: Self.connection, client: client, admin: operations
            )
            .allFacts(keyspace: Keyspace()).get().findings(in: mode).first { $0.subject == .reload }
        }
        try await DeployedRedis.ledger.run { server in
            let admin = try await RedisClient.started(at: server.address(for: "admin"))
            defer { admin.stop() }
            #expect(try await reload(server)?.severity == .ok)
            // The access list as it was before.
            try await admin.run("ACL", "SETUSER", "default", "off", "resetpass", "resetkeys", "resetchannels", "-@all")
            let finding = try #require(try await reload(server))
            #expect(finding.severity == .error)
            #expect(finding.what.contains("loses all jobs") && finding.what.contains("HSET"), "\(finding.what)")
            #expect(finding.remedy.contains("ACL SETUSER default off resetpass ~* &* +@all"))
            #expect(finding.remedy.contains("BGREWRITEAOF"))
            #expect(try await reload(server, in: .development)?.severity == .warning)
            // Either user is enough to detect it; without both the finding says that it could not be checked.
            try await admin.run("ACL", "SETUSER", "enroute", "-acl|dryrun")
            #expect(try await reload(server)?.severity == .error)
            try await admin.run("ACL", "SETUSER", "operations", "-acl|dryrun")
            #expect(try await reload(server)?.severity == .warning)
            try await admin.run("CONFIG", "SET", "appendonly", "no")
            #expect(try await reload(server) == nil)
        }
    }

    /// The gateway's Redis persists, and the admin's does not.
    @Test func `an admin connected to another Redis is an error, and does not hide other findings`() async throws {
        try await withServer(options: ["--save", "60 1"]) { server in
            try await RedisServer.running { other in
                let client = try await RedisClient.started(at: server.address)
                let (same, wrong) = (
                    try await RedisClient.started(at: server.address), try await RedisClient.started(at: other.address)
                )
                defer { for client in [client, same, wrong] { client.stop() } }
                try await wrong.run("HSET", Keyspace().job(JobID("job-1")!), "status", "created")
                for (admin, isElsewhere) in [(wrong, true), (same, false)] {
                    let facts = try await RedisInspector(
                        role: .live, connection: Self.connection, client: client, admin: admin
                    )
                    .allFacts(keyspace: Keyspace()).get()
                    #expect(facts.isAdminElsewhere == isElsewhere && facts.keys == [])
                    let errors = facts.findings(in: .production).filter { $0.severity == .error }
                    #expect(errors.map(\.subject) == (isElsewhere ? [.persistence, .settings] : [.persistence]))
                }
            }
        }
    }

    @Test func `an admin that may not run INFO is not trusted`() async throws {
        try await withRedis { client, server in
            try await client.run("ACL", "SETUSER", "blind", "on", ">secret", "~*", "&*", "+@all", "-info")
            var address = server.address
            (address.user, address.password) = ("blind", "secret")
            let admin = try await RedisClient.started(at: address)
            defer { admin.stop() }
            let facts = try await RedisInspector(
                role: .live, connection: Self.connection, client: client, admin: admin
            )
            .allFacts(keyspace: Keyspace()).get()
            #expect(facts.isAdminElsewhere && facts.settings != nil)
        }
    }

    @Test func `an inspection changes nothing`() async throws {
        try await withRedis { client, _ in
            try await client.run("SET", "a", "1")
            let before = try await client.dump()
            for role in RedisRole.allCases {
                _ = try await RedisInspector(role: role, connection: Self.connection, client: client)
                    .allFacts(keyspace: Keyspace()).get()
            }
            let after = try await client.dump()
            #expect(after == before)
            let settings = try await client.run("CONFIG", "GET", "save")
            #expect(settings.array?.last?.text == "")
        }
    }

    @Test func `permissions of an unlimited user that no gateway needs are named`() async throws {
        try await withRedis { client, _ in
            let access = try await AccessProbe(role: .live, keyspace: Keyspace()).run(client).get()
            #expect(access?.missing == [])
            let excessive = try #require(access?.excessive)
            for command in ["KEYS *", "CONFIG SET", "FLUSHALL", "SCRIPT FLUSH", "GET enroute-check-foreign"] {
                #expect(excessive.contains(command), "\(excessive)")
            }
        }
    }

    @Test(arguments: [
        ("-get", "GET"), ("-wait", "WAIT"), ("-ssubscribe", "SSUBSCRIBE"), ("-evalsha", "EVAL"),
        ("resetchannels", "SPUBLISH"), ("resetkeys", "SET"),
    ])
    func `required permissions that the user lacks are named`(rule: String, command: String) async throws {
        try await DeployedRedis.live.run { server in
            let admin = try await RedisClient.started(at: server.address(for: "admin"))
            let client = try await RedisClient.started(at: server.address(for: "enroute"))
            defer { for client in [client, admin] { client.stop() } }
            try await admin.run("ACL", "SETUSER", "enroute", rule)
            let access = try await AccessProbe(role: .live, keyspace: Keyspace()).run(client).get()
            let missing = try #require(access?.missing)
            #expect(missing.contains { $0.hasPrefix(command) }, "\(missing)")
        }
    }

    /// `rename-command` of redis.conf. Such a command is missing for every user, so no permission helps.
    @Test(arguments: ["WAIT", "XADD", "SPUBLISH", "SSUBSCRIBE", "EVAL", "EVALSHA"])
    func `required commands that Redis does not know are named and are an error`(command: String) async throws {
        let options = ["--appendonly", "yes", "--rename-command", command, ""]
        try await withServer(options: options) { server in
            let client = try await RedisClient.started(at: server.address)
            defer { client.stop() }
            let facts = try await RedisInspector(role: .ledger, connection: Self.connection, client: client)
                .allFacts(keyspace: Keyspace()).get()
            let access = try #require(facts.access)
            // Without scripts nothing else can be checked.
            #expect(access.unknown == [command.hasPrefix("EVAL") ? "EVAL, EVALSHA" : command] && access.missing == [])
            let errors = facts.findings(in: .production).filter { $0.severity == .error }
            #expect(errors.map(\.subject) == [.access], "\(errors)")
            #expect(
                errors.first?.what.contains(command) == true && errors.first?.remedy.contains("rename-command") == true)
        }
    }

    @Test func `commands that no gateway needs may be unknown`() async throws {
        let options = ["--rename-command", "FLUSHALL", "", "--rename-command", "DEBUG", ""]
        try await withServer(options: options) { server in
            let client = try await RedisClient.started(at: server.address)
            defer { client.stop() }
            let access = try await AccessProbe(role: .live, keyspace: Keyspace()).run(client).get()
            #expect(access?.unknown == [] && access?.missing == [])
            #expect(access?.excessive.contains("FLUSHALL") == false && access?.excessive.contains("FLUSHDB") == true)
        }
    }

    @Test func `a different prefix than the access list's is detected`() async throws {
        try await DeployedRedis.ledger.run { server in
            let client = try await RedisClient.started(at: server.address(for: "enroute"))
            defer { client.stop() }
            let access = try await AccessProbe(role: .ledger, keyspace: Keyspace(prefix: "other:")).run(client)
                .get()
            let missing = try #require(access?.missing)
            #expect(missing.contains { $0.hasPrefix("HSET other:") }, "\(missing)")
        }
    }

    @Test(arguments: [Int64(0), 900, -900, 40_000])
    func `the difference between the clocks is measured in both directions`(offsetMilliseconds: Int64) async throws {
        try await withRedis { client, _ in
            let inspector = RedisInspector(role: .live, connection: Self.connection, client: client) {
                Int64(Date.now.timeIntervalSince1970 * 1_000_000) - offsetMilliseconds * 1000
            }
            let facts = try await inspector.allFacts(keyspace: Keyspace()).get()
            let ahead = try #require(facts.clockAheadMilliseconds)
            // The error of the measurement is up to the round trip, which is not short on a busy machine.
            #expect((ahead - offsetMilliseconds).magnitude < 150)
        }
    }

    /// The probe must contain every command that the scripts of a role call.
    @Test(arguments: RedisRole.allCases)
    func `the probe contains every command of the scripts`(role: RedisRole) throws {
        let asked = Set(AccessProbe(role: role, keyspace: Keyspace()).needed.map { $0[0] })
        var called = 0
        for (name, text) in try LuaFolder.scripts() where text.contains("-- Role     \(role.rawValue)\n") {
            for match in text.matches(of: /redis\.p?call\('([A-Z]+)'/) {
                #expect(asked.contains(match.1.lowercased()), "\(name): \(match.1)")
                called += 1
            }
        }
        #expect(called > 30)
    }
}

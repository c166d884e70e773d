import Embedded
import Foundation
import LiveState
import NIOCore
import Redis
import Subprocess
import TestSupport
import Testing

/// The promises of deploy/redis about the disk, and the commands of its README.
@Suite(.needsMachine(for: .faults)) struct DeployedFilesTests {
    /// All files in the server's folder.
    private func files(of server: RedisServer) throws -> Set<String> {
        let folder = URL(filePath: server.socketPath).deletingLastPathComponent()
        return Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
            .subtracting(["redis.sock", "redis.pid"])
    }

    private func admin(of server: RedisServer) async throws -> RedisClient {
        try await RedisClient.started(at: server.address(for: "admin"))
    }

    @Test func `I2: the live instance and its replica leave nothing on disk, not even when they shut down`()
        async throws
    {
        let port = "\(try await freePort())"
        let signIn = ["--masteruser", "replica", "--masterauth", DeployedRedis.password]
        try await DeployedRedis.live.run(options: ["--port", port] + signIn) { master in
            let client = try await self.admin(of: master)
            defer { client.stop() }
            for number in 0..<1000 { try await client.run("SET", "\(number)", "a position", "PX", "60000") }
            try await DeployedRedis.live.runBeside(options: ["--replicaof", "127.0.0.1 \(port)"] + signIn) { replica in
                try await self.wait(for: 1000, in: replica)
                _ = try await self.ask(master, "SET", "late", "another", "PX", "60000")
                try await self.wait(for: 1001, in: replica)
                for server in [replica, master] {
                    let before = try self.files(of: server)
                    #expect(before.isEmpty)
                    _ = try await self.ask(server, "SHUTDOWN")
                    let hasEnded = await eventually { !self.isListening(server) }
                    let after = try self.files(of: server)
                    #expect(hasEnded && after.isEmpty)
                }
            }
        }
    }

    /// Uses redis-cli, because Enroute's clients refuse a replica, and reconnect when a master gets its first replica: Redis
    /// then gives its history another name (master_replid).
    private func ask(_ server: RedisServer, _ words: String...) async throws -> String {
        try await Subprocess.run(
            .name("redis-cli"),
            arguments: Arguments(
                [
                    "-s", server.socketPath, "--user", "admin", "--pass", DeployedRedis.password, "--no-auth-warning",
                ] + words), output: .string(limit: 65_536), error: .combinedWithOutput
        ).standardOutput
    }

    private func wait(for keys: Int, in server: RedisServer) async throws {
        let isThere = try await eventually { try await self.ask(server, "DBSIZE").contains("\(keys)") }
        #expect(isThere)
    }

    private func isListening(_ server: RedisServer) -> Bool {
        FileManager.default.fileExists(atPath: server.socketPath)
    }

    /// Redis delays a write by up to 2 s while an earlier fsync is in progress. A kill during that time loses it.
    @Test func `a killed ledger still has what it wrote to its file`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-ledger-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let options = ["--dir", folder.path]
        try await DeployedRedis.ledger.run(options: options) { server in
            let client = try await self.admin(of: server)
            defer { client.stop() }
            for number in 0..<100 { try await client.run("SET", "\(number)", "a status") }
            let isWritten = try await eventually {
                try await client.run("INFO", "persistence").text?.contains("aof_buffer_length:0\r\n") == true
            }
            #expect(isWritten)
            kill(server.processID, SIGKILL)
        }
        try await DeployedRedis.ledger.run(options: options) { server in
            let client = try await self.admin(of: server)
            defer { client.stop() }
            let size = try await client.run("DBSIZE")
            #expect(size == .integer(100))
        }
    }

    // MARK: commands of the README

    /// The blocks of the README that start with ```sh.
    private func blocks() throws -> [Substring] {
        try DeployedRedis.text("README.md").split(separator: "```").filter { $0.hasPrefix("sh\n") }
    }

    /// Runs a block of the README on a copy of a list.
    private func list(after word: String, _ variables: [String: String], of role: DeployedRedis) async throws -> String
    {
        let block = try #require(try self.blocks().first { $0.contains(word) })
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let copy = folder.appending(path: "\(role.rawValue).acl").path
        try FileManager.default.copyItem(atPath: role.accessListPath, toPath: copy)
        let script = block.dropFirst(3).replacing("/etc/redis", with: folder.path)
        let settings = variables.map { "\($0.key)='\($0.value)'\n" }.joined() + "ROLE=\(role.rawValue)\n"
        let outcome = try await Subprocess.run(
            .name("sh"), arguments: ["-ec", settings + script], output: .string(limit: 65_536),
            error: .combinedWithOutput)
        #expect(outcome.terminationStatus.isSuccess, "\(outcome.standardOutput)")
        return try String(contentsOfFile: copy, encoding: .utf8)
    }

    @Test(arguments: DeployedRedis.allCases)
    func `the README's commands set a user's password`(role: DeployedRedis) async throws {
        let variables = ["PASSWORD": "a pass/word", "ENROUTE_USER": "operations"]
        let list = try await self.list(after: "sha256sum", variables, of: role)
        let file = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID()).acl")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(list.utf8).write(to: file)
        try await withServer(configuration: role.configurationPath, options: ["--aclfile", file.path]) { server in
            var address = server.address
            (address.user, address.password) = ("operations", "a pass/word")
            let client = try await RedisClient.started(at: address)
            defer { client.stop() }
            let name = try await client.run("ACL", "WHOAMI").text
            #expect(name == "operations")
            address.user = "enroute"
            let other = try await RedisClient.made(at: address)
            let refusal = await failure(of: other.start())
            #expect(refusal != nil)
        }
    }

    @Test(arguments: DeployedRedis.allCases)
    func `the README's command adds a prefix to every key and channel`(role: DeployedRedis) async throws {
        let list = try await self.list(after: "PREFIX", ["PREFIX": "staging:"], of: role)
        let names = list.matches(of: /[~&]([a-z:]+)/).map { $0.1 }.filter { $0 != "__sentinel__:hello" }
        #expect(names.count >= 6)
        let kinds = [
            "job:", "jobs:", "link:", "ticket:", "signin:", "idempotency:", "budget:", "rider:", "riders:", "request:",
            "home:", "moving:", "zones", "zone:", "gateway", "control", "access", "audit", "events:", "outbox:",
            "webhook",
        ]
        #expect(names.allSatisfy { name in kinds.contains { name.hasPrefix("staging:" + $0) } })
    }

    @Test(arguments: DeployedRedis.allCases, ["prod/", "a&b:", "a,b:", "a|b;"])
    func `the README's command adds every valid prefix`(role: DeployedRedis, prefix: String) async throws {
        let list = try await self.list(after: "PREFIX", ["PREFIX": prefix], of: role)
        let (key, channel) = role == .live ? ("job:{*}:travel", "job:{*}:feed") : ("job:{*}:log", "job:{*}:events")
        #expect(list.contains(" ~\(prefix)\(key) ") && list.contains(" &\(prefix)\(channel) "), "\(list)")
        #expect(list.contains(" %R~\(prefix)\(key) "), "\(list)")
        #expect(!list.contains("~\(key)") && !list.contains("&\(channel)"), "\(list)")
    }

    @Test(arguments: DeployedRedis.allCases)
    func `the README's file for a machine starts a server without permissions for any user`(
        role: DeployedRedis
    ) async throws {
        let blocks = try DeployedRedis.text("README.md").split(separator: "```").filter { $0.hasPrefix("conf\n") }
        let block = try #require(blocks.first { $0.contains("include /etc/redis/\(role.rawValue).conf") })
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "redis-\(role.rawValue).conf")
        let text = block.dropFirst(5).replacing("/etc/redis/", with: DeployedRedis.folder + "/")
            .replacing("/var/lib/redis/ledger", with: folder.path)
        try Data(text.utf8).write(to: file)
        try await withServer(configuration: file.path) { server in
            let client = try await RedisClient.made(at: server.address)
            defer { client.stop() }
            guard case .authenticationRefused? = await failure(of: client.start()) else {
                Issue.record("a client without a name could sign in")
                return
            }
        }
    }

    @Test func `Redis accepts the Sentinel example`() async throws {
        let text = try DeployedRedis.text("sentinel.conf")
        let file = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID()).conf")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(text.utf8).write(to: file)
        let words = [
            "--pdeathsig", "KILL", "redis-server", file.path, "--sentinel", "--port", "\(try await freePort())",
        ]
        let watched = try await Subprocess.run(
            .name("setpriv"), arguments: Arguments(words), input: .none, output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            var masters: Set<String> = []
            for try await line in execution.standardOutput.strings() {
                if let match = line.firstMatch(of: /\+monitor master ([a-z-]+)/) { masters.insert(String(match.1)) }
                if masters.count == 2 { break }
            }
            try? execution.send(signal: .kill)
            return masters
        }.closureResult
        #expect(watched == ["enroute-live", "enroute-ledger"])
    }
}

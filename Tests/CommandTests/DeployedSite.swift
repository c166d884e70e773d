import Embedded
import Foundation
import Redis
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// A gateway at log level trace with two redis-servers configured as in deploy/redis, and one folder with everything they
/// write: logs, AOF, RDB, core dumps.
struct DeployedSite: Sendable {
    /// A process and the file with its output.
    struct Running: Sendable {
        let processID: Int32
        let log: String
        func send(_ signal: Int32) { kill(self.processID, signal) }
    }

    let folder: URL
    let port: Int
    let management: Int
    let live: Running
    let ledger: Running
    let gateway: Running
    private let livePort: Int
    private let ledgerPort: Int

    static let secret = "a secret of at least thirty-two bytes"

    /// Runs `body`, kills all processes, then searches their files.
    ///
    /// - Returns: the words that were found, each with its file, and the names of all files.
    static func findings(
        with settings: [Environment.Key: String] = [:], of words: @Sendable @escaping () -> [String],
        after body: @Sendable @escaping (DeployedSite) async throws -> Void
    ) async throws -> (hits: [String], files: [String]) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-site-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await Turns.servers.take { try await self.run(in: folder, settings, body) }
        return try self.search(folder, for: words())
    }

    private static func run(
        in folder: URL, _ settings: [Environment.Key: String],
        _ body: @Sendable @escaping (DeployedSite) async throws -> Void
    ) async throws {
        let ports = (try await freePort(), try await freePort())
        try await self.withRedis(.live, port: ports.0, in: folder) { live in
            try await self.withRedis(.ledger, port: ports.1, in: folder) { ledger in
                func url(_ port: Int) -> String { "redis://enroute:\(DeployedRedis.password)@127.0.0.1:\(port)" }
                let environment: [Environment.Key: String] = [
                    "PATH": "/usr/bin:/bin", "ENROUTE_REDIS_LIVE_URL": url(ports.0),
                    "ENROUTE_REDIS_LEDGER_URL": url(ports.1), "ENROUTE_TLS": "off", "ENROUTE_TOKEN_SECRET": self.secret,
                    "ENROUTE_LOG_LEVEL": "trace", "ENROUTE_MANAGEMENT_PORT": "0", "ENROUTE_EVENT_LOOPS": "1",
                    "ENROUTE_OVERLOAD_LOOP_LAG_MS": "60000", "ENROUTE_DRAIN_SECONDS": "1",
                    "ENROUTE_DRAIN_ACCEPT_SECONDS": "0",
                ]
                try await self.process(
                    "\(CommandTests.binary) serve --host 127.0.0.1 --port 0", "gateway", in: folder,
                    environment.merging(settings) { $1 },
                    ready: "probes and metrics"
                ) { gateway in
                    let log = try String(contentsOfFile: gateway.log, encoding: .utf8)
                    let found = try #require(log.firstMatch(of: /port (\d+).*probes and metrics on port (\d+)/))
                    try await body(
                        DeployedSite(
                            folder: folder, port: try #require(Int(found.1)), management: try #require(Int(found.2)),
                            live: live, ledger: ledger, gateway: gateway, livePort: ports.0, ledgerPort: ports.1))
                }
            }
        }
    }

    private static func withRedis(
        _ role: DeployedRedis, port: Int, in folder: URL, _ body: @Sendable @escaping (Running) async throws -> Void
    ) async throws {
        let own = folder.appending(path: role.rawValue)
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
        let list = folder.appending(path: "\(role.rawValue).acl")
        try role.writeAccessList(to: list)
        // Here the ledger logs every command as slow; the slow log of the live Redis is as deployed.
        let slow = role == .ledger ? "--slowlog-log-slower-than 0 --slowlog-max-len 100000" : ""
        try await self.process(
            "redis-server \(role.configurationPath) --port \(port) --dir \(own.path) --aclfile \(list.path) "
                + "--loglevel debug \(slow)", role.rawValue, in: folder, ["PATH": "/usr/bin:/bin"],
            ready: "eady to accept connections", body)
    }

    /// Runs a command for as long as `body` takes. Its output goes to a file, and it may write a core dump to the folder.
    private static func process(
        _ command: String, _ name: String, in folder: URL, _ environment: [Environment.Key: String], ready: String,
        _ body: @Sendable @escaping (Running) async throws -> Void
    ) async throws {
        let log = folder.appending(path: "\(name).log").path
        var platform = PlatformOptions()
        platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
        let line = "ulimit -c unlimited; cd \(folder.path); exec setpriv --pdeathsig KILL \(command) >\(log) 2>&1"
        _ = try await Subprocess.run(
            .path("/bin/sh"), arguments: ["-c", line], environment: .custom(environment), platformOptions: platform,
            input: .none, output: .discarded, error: .discarded
        ) { execution in
            let running = Running(processID: execution.processIdentifier.value, log: log)
            defer { running.send(SIGKILL) }
            let isReady = await eventually {
                (try? String(contentsOfFile: log, encoding: .utf8))?.contains(ready) == true
            }
            try #require(isReady, "\((try? String(contentsOfFile: log, encoding: .utf8)) ?? "no log of \(name)")")
            try await body(running)
        }
    }

    /// Searches files for words, as text and, if a word is a number, as its eight bytes.
    private static func search(_ folder: URL, for words: [String]) throws -> (hits: [String], files: [String]) {
        let needles =
            words.map { ($0, Data($0.utf8)) }
            + words.compactMap { word in
                Double(word).map { number in ("\(word) in binary", withUnsafeBytes(of: number.bitPattern) { Data($0) })
                }
            }
        var (hits, files): ([String], [String]) = ([], [])
        for case let path as String in FileManager.default.enumerator(atPath: folder.path) ?? .init() {
            guard let bytes = FileManager.default.contents(atPath: folder.appending(path: path).path) else { continue }
            files.append(path)
            for (word, needle) in needles where bytes.range(of: needle) != nil { hits.append("\(word) in \(path)") }
        }
        return (hits, files)
    }

    // MARK: actions of tests

    /// A token made by `enroute token`.
    func token(_ person: String, _ role: String) async throws -> String {
        try await CommandTests.run(
            ["token", person, "--role", role], environment: ["ENROUTE_TOKEN_SECRET": Self.secret]
        ).output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Sends a request and returns everything until the connection closes.
    func send(_ request: String, isPublic: Bool = true) async throws -> String {
        let port = isPublic ? self.port : self.management
        return try await blocking {
            let socket = try RawSocket(port: port)
            try socket.send(request)
            return String(decoding: (try? socket.readToEnd()) ?? [], as: UTF8.self)
        }
    }

    func rest(_ method: String, _ path: String, as token: String, _ body: String = "") async throws -> String {
        try await self.send(
            "\(method) \(path) HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\nConnection: close\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// The reply to a Redis command, run as a user with all permissions.
    func redis(_ role: DeployedRedis, _ words: String...) async throws -> String {
        try await Subprocess.run(
            .name("redis-cli"),
            arguments: Arguments(
                [
                    "-p", "\(role == .live ? self.livePort : self.ledgerPort)", "--user", "admin", "--pass",
                    DeployedRedis.password, "--no-auth-warning",
                ] + words), output: .string(limit: 1 << 22), error: .combinedWithOutput
        ).standardOutput
    }
}

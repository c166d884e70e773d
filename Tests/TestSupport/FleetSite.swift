// Where the servers of a fleet run: a folder and a TCP port for each, stopped at the end of the test. At most three fleets run
// at the same time: their elections take seconds, and a busy machine prolongs them.

private import Embedded

private import FoundationEssentials

extension Turns {
    package static let fleets = Turns(3, for: .faults)
}

/// A folder and a scope for the servers of one fleet.
package struct FleetSite: Sendable {
    package let folder: String
    private let servers: Servers

    package static func open<Result: Sendable>(
        _ body: (FleetSite) async throws -> Result
    ) async throws -> Result {
        try SharedMachine.refuse()
        return try await Turns.fleets.take {
            try await TemporaryFolder.holding("enroute-fleet") { folder in
                try await Servers.running { try await body(FleetSite(folder: folder, servers: $0)) }
            }
        }
    }

    /// A server that has not been started, on a TCP port and in its own folder. It writes nothing to disk except the fleet's
    /// own state, as in the live role (`redis.md`), and its replicas synchronize immediately.
    ///
    /// - Parameter options: additional arguments of redis-server, which take precedence.
    package func redis(_ name: String, options: [String]) async throws -> RestartableRedis {
        let folder = try self.folder(name)
        let port = try await freePort()
        let words =
            RedisServer.arguments(in: folder) + [
                "--port", "\(port)", "--bind", "127.0.0.1", "--repl-diskless-sync", "yes",
                "--repl-diskless-sync-delay", "0", "--repl-diskless-load", "swapdb",
            ]
        return RestartableRedis(at: .tcp(port: port), in: folder, words: words + options, servers: self.servers)
    }

    /// A Sentinel that is not started, on a TCP port and in its own folder. It stores its state in its configuration file.
    package func sentinel(_ name: String, _ configuration: [String]) async throws -> RestartableRedis {
        let folder = try self.folder(name)
        let port = try await freePort()
        let file = "\(folder)/sentinel.conf"
        let lines = ["port \(port)", "bind 127.0.0.1", "dir \(folder)"] + configuration
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: file))
        return RestartableRedis(at: .tcp(port: port), in: folder, words: [file, "--sentinel"], servers: self.servers)
    }

    private func folder(_ name: String) throws -> String {
        let folder = "\(self.folder)/\(name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }
}

extension [RestartableRedis] {
    /// Starts all concurrently; all are ready when this returns.
    package func startAll() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for redis in self { group.addTask { try await redis.start() } }
            try await group.waitForAll()
        }
    }

    /// The servers that are running and not frozen.
    func awake() async throws -> [RestartableRedis] {
        var awake: [RestartableRedis] = []
        for redis in self where await redis.isAwake { awake.append(redis) }
        return awake
    }
}

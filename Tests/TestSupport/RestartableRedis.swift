// A redis-server at a fixed address that a test can kill, freeze and restart as often as it likes, with its data or
// without. Its append-only file is written before a reply is sent, but not synced. It therefore survives the death of
// the process, which is what is tested, and costs next to nothing.

private import Embedded
package import Redis

private import FoundationEssentials

/// A server that restarts at the same address. One caller at a time starts and stops it.
package actor RestartableRedis {
    /// The data of a server when it starts.
    package enum Memory: Sendable {
        case empty
        /// Everything in its folder, unless options say otherwise.
        case kept
    }

    package nonisolated let endpoint: LoopbackEndpoint
    package nonisolated let folder: String
    private let servers: Servers
    private let words: [String]
    private var life: Servers.Life?
    private var isFrozen = false

    /// - Parameter words: the complete command line.
    package init(at endpoint: LoopbackEndpoint, in folder: String, words: [String], servers: Servers) {
        (self.endpoint, self.folder, self.words, self.servers) = (endpoint, folder, words, servers)
    }

    package nonisolated var url: String { self.endpoint.url }
    /// 0 for a Unix socket.
    package nonisolated var port: Int { self.endpoint.port ?? 0 }
    package nonisolated var address: RedisAddress { get throws { try self.endpoint.address } }

    /// Runs a started server while `body` runs.
    ///
    /// - Parameters:
    ///   - port: where it listens; `nil` for only a Unix socket.
    ///   - options: additional arguments of redis-server.
    package static func running<Result: Sendable>(
        port: Int? = nil, options: [String] = [], _ body: (RestartableRedis) async throws -> Result
    ) async throws -> Result {
        try SharedMachine.refuse()
        return try await Turns.servers.take {
            try await TemporaryFolder.holding("enroute-redis") { folder in
                try await Servers.running { servers in
                    let redis = RestartableRedis(at: port, in: folder, options: options, servers: servers)
                    try await redis.start()
                    return try await body(redis)
                }
            }
        }
    }

    private init(at port: Int?, in folder: String, options: [String], servers: Servers) {
        let listening = port.map { ["--port", "\($0)", "--bind", "127.0.0.1"] } ?? []
        let keeping = ["--appendonly", "yes", "--appendfsync", "no"]
        self.init(
            at: port.map { .tcp(port: $0) } ?? .unix(path: "\(folder)/redis.sock"), in: folder,
            words: RedisServer.arguments(in: folder) + listening + keeping + options, servers: servers)
    }

    /// Starts it; it is ready when this returns.
    ///
    /// - Throws: `RedisServer.Failure`.
    package func start(_ memory: Memory = .kept) async throws {
        precondition(self.life == nil, "the server is still running")
        if memory == .empty { try self.forget() }
        self.life = try await self.servers.start(in: self.folder, words: self.words)
    }

    /// Kills it, frozen or not; it has exited when this returns.
    package func crash() async {
        let life = self.life
        (self.life, self.isFrozen) = (nil, false)
        await life?.end()
    }

    /// `crash` and `start`.
    package func restart(_ memory: Memory = .kept) async throws {
        await self.crash()
        try await self.start(memory)
    }

    /// Freezes it: until `thaw` it keeps its connections but does not respond.
    package func freeze() async throws {
        self.isFrozen = true
        try await self.life?.server.freeze()
    }

    package func thaw() async throws {
        try await self.life?.server.thaw()
        self.isFrozen = false
    }

    /// Whether it is running and not frozen.
    package var isAwake: Bool { self.life != nil && !self.isFrozen }

    /// The process, `nil` when it is not running.
    package var processID: Int32? {
        get async throws { try await self.life?.server.processID }
    }

    /// Returns the reply to one command, over a new connection.
    package nonisolated func run(_ words: String...) async throws -> RESPValue {
        try await RawRedis.talking(to: self.endpoint) { try await $0.run(words) }
    }

    private func forget() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: self.folder) {
            guard name.hasPrefix("appendonly") || name.hasSuffix(".rdb") else { continue }
            try FileManager.default.removeItem(atPath: "\(self.folder)/\(name)")
        }
    }
}

// A redis-server at one fixed address that a test can kill, freeze and start again as often as it likes, with its data or
// without. Its append-only file is written before a command is answered and not synced: it outlives the process, which
// is what dies here, and costs next to nothing.

private import Embedded
package import Redis

private import FoundationEssentials

/// A server that comes back at the same address. One caller at a time starts and ends it.
package actor RestartableRedis {
    /// What a server knows when it starts.
    package enum Memory: Sendable {
        case empty
        /// All that its folder holds: what it was before, but for options that say otherwise.
        case kept
    }

    package nonisolated let endpoint: LoopbackEndpoint
    package nonisolated let folder: String
    private let servers: Servers
    private let words: [String]
    private var life: Servers.Life?
    private var isFrozen = false

    /// - Parameter words: all of its command line.
    package init(at endpoint: LoopbackEndpoint, in folder: String, words: [String], servers: Servers) {
        (self.endpoint, self.folder, self.words, self.servers) = (endpoint, folder, words, servers)
    }

    package nonisolated var url: String { self.endpoint.url }
    /// 0 at a unix socket.
    package nonisolated var port: Int { self.endpoint.port ?? 0 }
    package nonisolated var address: RedisAddress { get throws { try self.endpoint.address } }

    /// Runs one that has started, for as long as `body` does.
    ///
    /// - Parameters:
    ///   - port: where it listens; without one, at a unix socket only.
    ///   - options: further words of redis-server's command line.
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
            words: RedisServer.words(in: folder) + listening + keeping + options, servers: servers)
    }

    /// Starts it; it is ready when this returns.
    ///
    /// - Throws: `RedisServer.Failure`.
    package func start(_ memory: Memory = .kept) async throws {
        precondition(self.life == nil, "it was not ended")
        if memory == .empty { try self.forget() }
        self.life = try await self.servers.start(in: self.folder, words: self.words)
    }

    /// Killed without a goodbye, frozen or not, and gone when this returns.
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

    /// It keeps its connections and says nothing until `thaw`.
    package func freeze() async throws {
        self.isFrozen = true
        try await self.life?.server.freeze()
    }

    package func thaw() async throws {
        try await self.life?.server.thaw()
        self.isFrozen = false
    }

    /// It runs, and is not frozen.
    package var isAwake: Bool { self.life != nil && !self.isFrozen }

    /// The process, `nil` while there is none.
    package var processID: Int32? {
        get async throws { try await self.life?.server.processID }
    }

    /// The answer to one command, over a connection of its own.
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

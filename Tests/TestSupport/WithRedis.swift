// A private redis-server and a client. At most eight servers run at the same time, so that a whole suite in parallel does not
// make the machine too slow for the time limits under test.

package import Embedded
package import Logging
package import Redis

private import NIOCore
private import NIOPosix

/// Runs a server and an authenticated client while `body` runs.
package func withRedis<Result: Sendable>(
    options: [String] = [], timing: RedisTiming = .patient,
    _ body: (RedisClient, RedisServer) async throws -> Result
) async throws -> Result {
    try await withServer(options: options) { server in
        let client = try await RedisClient.started(at: server.address, timing: timing)
        defer { client.stop() }
        return try await body(client, server)
    }
}

/// Runs only a server.
package func withServer<Result: Sendable>(
    configuration: String? = nil, options: [String] = [], _ body: (RedisServer) async throws -> Result
) async throws -> Result {
    // For servers on Unix sockets it would be 10,000 for each of them.
    let bus = options.contains("--cluster-enabled") ? ["--cluster-port", "\(try await freePort())"] : []
    return try await Turns.servers.take {
        try await RedisServer.running(configuration: configuration, options: options + bus, body)
    }
}

extension RedisServer {
    /// The address, for tests to vary.
    package var address: RedisAddress { RedisAddress(endpoint: .unix(path: self.socketPath)) }
}

extension RedisClient {
    /// A client on a loop of the shared group that is not connected yet.
    package static func made(at address: RedisAddress, timing: RedisTiming = .patient) async throws -> RedisClient {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        return try await eventLoop.submit {
            RedisClient(address: address, eventLoop: eventLoop, timing: timing, logger: .quiet)
        }.get()
    }

    /// A connected client, or an error.
    package static func started(
        at address: RedisAddress, timing: RedisTiming = .patient
    ) async throws -> RedisClient {
        let client = try await Self.made(at: address, timing: timing)
        try await client.start().get()
        return client
    }

    /// Returns the reply to a command.
    @discardableResult
    package func run(_ words: String...) async throws -> RESPValue {
        try await self.send(RedisCommand(words.map { .text($0) })).get()
    }
}

extension RedisTiming {
    /// For tests that do not concern time: on a busy machine a reply may take long, but reconnecting must not.
    package static var patient: RedisTiming {
        var timing = RedisTiming()
        timing.answer = .seconds(30)
        timing.longestBackoff = .milliseconds(200)
        return timing
    }
}

extension Logger {
    /// Discards logs.
    package static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

/// A limited number of turns, granted in the order of requests. A task that has a turn gets further ones immediately, because
/// two tasks that each wait for the other's turn would deadlock.
package actor Turns {
    package static let servers = Turns(8, for: .shared)

    /// Whether the task has a turn.
    @TaskLocal private static var isTaken = false

    private nonisolated let use: MachineUse
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// - Parameter use: the use of the machine that a turn needs, unless the test has declared one (`NeedsMachine`).
    package init(_ count: Int, for use: MachineUse) { (self.free, self.use) = (count, use) }

    package nonisolated(nonsending) func take<Result: Sendable>(
        _ body: () async throws -> Result
    ) async throws -> Result {
        guard !Self.isTaken else { return try await body() }
        return try await Machine.this.take(for: self.use) {
            await self.begin()
            do {
                let result = try await Self.$isTaken.withValue(true) { try await body() }
                await self.end()
                return result
            } catch {
                await self.end()
                throw error
            }
        }
    }

    private func begin() async {
        if self.free > 0 { return self.free -= 1 }
        await withCheckedContinuation { self.waiting.append($0) }
    }

    private func end() {
        if self.waiting.isEmpty { self.free += 1 } else { self.waiting.removeFirst().resume() }
    }
}

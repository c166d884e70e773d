// The connection to the ledger for commands that need no gateway.

import LiveState
import NIOCore
import NIOPosix
import Redis

extension ProcessConfiguration {
    /// Runs `body` with a connection to the ledger, and closes it.
    ///
    /// - Parameter request: what to do instead with the gateway of `enroute dev`, whose Redis has no URL.
    func withLedger(
        withDev request: String, _ body: (RedisClient, LiveStateSettings) async throws -> Void
    ) async throws {
        let ledger = try self.redis(withDev: request).ledger
        var state = LiveStateSettings()
        state.keyspace = try self.keyspace()
        let logger = try self.logger()
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let client = try await loop.submit { RedisClient(address: ledger, eventLoop: loop, logger: logger) }.get()
        defer { client.stop() }
        try await client.start().get()
        try await body(client, state)
    }
}

// Simulates network and server faults: a proxy in front of a Redis that drops selected pushes, and can be slow, silent or
// down. Everything else passes unchanged. Bytes that it holds back stay in memory.

package import NIOCore
package import Redis

private import Embedded
private import NIOPosix

/// Which of the future pushes to drop, across all connections.
package enum Loss: Hashable, Sendable {
    case none
    /// Drops the push with this number, counted from 1 since this was set.
    case push(number: Int)
    /// Drops all pushes of one channel.
    case channel(String)
    case all
}

/// A proxy with its own endpoint, for as long as `running` runs. Its switches take effect with the next byte.
package struct LossyProxy: Sendable {
    /// Where clients connect.
    package let endpoint: LoopbackEndpoint
    private let exchange: NIOLoopBound<ProxyExchange>

    package enum Kind: String, Sendable { case tcp, unix }

    /// - Parameter upstream: the Redis behind it, which may restart.
    package static func running<Result: Sendable>(
        to upstream: LoopbackEndpoint, at kind: Kind = .tcp, _ body: (LossyProxy) async throws -> Result
    ) async throws -> Result {
        try await TemporaryFolder.holding("enroute-proxy") { folder in
            let endpoint: LoopbackEndpoint =
                kind == .tcp ? try await .freeTCP() : .unix(path: "\(folder)/proxy.sock")
            let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
            let exchange = try await eventLoop.submit {
                NIOLoopBound(ProxyExchange(upstream: upstream, eventLoop: eventLoop), eventLoop: eventLoop)
            }.get()
            let bootstrap = ServerBootstrap(group: eventLoop)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { try exchange.value.take(channel) }
                }
            let listener = try await endpoint.bind(bootstrap).get()
            let proxy = LossyProxy(endpoint: endpoint, exchange: exchange)
            defer {
                listener.close(promise: nil)
                eventLoop.execute { exchange.value.cut() }
            }
            return try await body(proxy)
        }
    }

    package var url: String { self.endpoint.url }
    package var address: RedisAddress { get throws { try self.endpoint.address } }

    // MARK: Switches

    package func lose(_ loss: Loss) async throws { try await self.onLoop { $0.losses.lose(loss) } }

    /// Delay of bytes in each direction.
    package func delay(_ delay: TimeAmount) async throws { try await self.onLoop { $0.delay = delay } }

    /// A black hole: connections stay open and are even accepted, but nothing passes, not even the end of a connection.
    package func hold() async throws { try await self.onLoop { $0.isHolding = true } }

    /// Releases held-back bytes in order, followed by new ones.
    package func goOn() async throws { try await self.onLoop { $0.isHolding = false } }

    /// Closes all connections on both sides, and discards everything that is held back.
    package func cut() async throws { try await self.onLoop { $0.cut() } }

    /// Whether new connections are closed immediately; existing ones are not affected.
    package func refuse(_ isRefusing: Bool) async throws { try await self.onLoop { $0.isRefusing = isRefusing } }

    // MARK: Counts

    /// Connections so far.
    package var connectionCount: Int { get async throws { try await self.onLoop { $0.connectionCount } } }
    /// Current connections.
    package var openCount: Int { get async throws { try await self.onLoop { $0.openCount } } }
    /// Pushes received from Redis.
    package var pushCount: Int { get async throws { try await self.onLoop { $0.losses.pushCount } } }
    package var lostCount: Int { get async throws { try await self.onLoop { $0.losses.lostCount } } }

    private func onLoop<Value: Sendable>(_ body: @escaping @Sendable (ProxyExchange) -> Value) async throws -> Value {
        try await self.exchange.eventLoop.submit { body(self.exchange.value) }.get()
    }
}

// What networks and servers do to pushes, on command: a proxy before a Redis that loses the pushes it is told to lose,
// and can be slow, silent or gone. All else passes byte for byte. It keeps in memory what it holds back.

package import NIOCore
package import Redis

private import Embedded
private import NIOPosix

/// Which pushes are lost, of all that come from now on, over all connections.
package enum Loss: Hashable, Sendable {
    case none
    /// The one with this number, counted from 1 since it was set.
    case push(number: Int)
    /// All of one channel.
    case channel(String)
    case all
}

/// A proxy at an endpoint of its own, for as long as `running` runs. Its switches work from the next byte on.
package struct LossyProxy: Sendable {
    /// Where a client finds it.
    package let endpoint: LoopbackEndpoint
    private let exchange: NIOLoopBound<ProxyExchange>

    package enum Kind: String, Sendable { case tcp, unix }

    /// - Parameter upstream: the Redis behind it; it may come and go.
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

    // MARK: switches

    package func lose(_ loss: Loss) async throws { try await self.onLoop { $0.losses.lose(loss) } }

    /// How long bytes take, each way.
    package func delay(_ delay: TimeAmount) async throws { try await self.onLoop { $0.delay = delay } }

    /// Black hole: connections stand, are accepted even, and nothing comes through, not even their end.
    package func hold() async throws { try await self.onLoop { $0.isHolding = true } }

    /// What was held comes through, in order, and what comes after it.
    package func goOn() async throws { try await self.onLoop { $0.isHolding = false } }

    /// All connections end, at both sides, with what was held.
    package func cut() async throws { try await self.onLoop { $0.cut() } }

    /// Whether a new connection is ended at once; those that stand are left alone.
    package func refuse(_ isRefusing: Bool) async throws { try await self.onLoop { $0.isRefusing = isRefusing } }

    // MARK: counts

    /// Connections there have been.
    package var connectionCount: Int { get async throws { try await self.onLoop { $0.connectionCount } } }
    /// Connections there are.
    package var openCount: Int { get async throws { try await self.onLoop { $0.openCount } } }
    /// Pushes that came from Redis.
    package var pushCount: Int { get async throws { try await self.onLoop { $0.losses.pushCount } } }
    package var lostCount: Int { get async throws { try await self.onLoop { $0.losses.lostCount } } }

    private func onLoop<Value: Sendable>(_ body: @escaping @Sendable (ProxyExchange) -> Value) async throws -> Value {
        try await self.exchange.eventLoop.submit { body(self.exchange.value) }.get()
    }
}

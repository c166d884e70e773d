// The gateway process: N event loops, what they share, and one listener. `GatewayParts.swift` contains the steps of
// `run`, and `Listener/Serving.swift` serves connections until a graceful shutdown.

internal import Access
internal import ETA
internal import HTTPValues
internal import Hummingbird
internal import HummingbirdCore
internal import Jobs
internal import EnrouteWire
internal import LiveState
package import Logging
package import NIOCore
internal import NIOPosix
internal import Realtime
internal import Redis
internal import Push
internal import REST
internal import ServiceLifecycle
internal import Telemetry
internal import TrafficControl
internal import Webhooks

/// Accepts connections and serves them until it is stopped.
package struct GatewayServer: Service, CustomStringConvertible {
    let settings: GatewaySettings
    let group: any EventLoopGroup
    let logger: Logger
    let beforeStarting: @Sendable () async throws -> Void
    let onListening: @Sendable (Ports) async -> Void
    private let status: GatewayStatus

    /// The ports that a gateway listens on.
    package struct Ports: Hashable, Sendable {
        package var gateway: Int
        package var management: Int?
    }

    /// - Parameters:
    ///   - group: the event loops. Each owns its sockets, its follow table and its connections to Redis.
    ///   - onListening: called with the ports as soon as the gateway accepts connections.
    ///   - beforeStarting: returns when everything the gateway needs is available. Until then the management listener answers
    ///     probes, and the gateway is not ready. A graceful shutdown cancels it.
    ///   - status: read by the supervisor.
    package init(
        settings: GatewaySettings, group: any EventLoopGroup, logger: Logger, status: GatewayStatus = GatewayStatus(),
        onListening: @escaping @Sendable (Ports) async -> Void = { _ in },
        beforeStarting: @escaping @Sendable () async throws -> Void = {}
    ) {
        self.settings = settings
        self.group = group
        self.logger = logger
        self.beforeStarting = beforeStarting
        self.onListening = onListening
        self.status = status
    }

    package var description: String { "gateway" }

    /// Runs until the task is cancelled or a graceful shutdown is triggered.
    ///
    /// - Throws: `StartFailure`, `InvalidProviderSetting`, or `RedisError` if Redis refuses the connections for a
    ///   reason that waiting does not solve. While Redis is unavailable, it waits.
    package func run() async throws {
        try await ArrivalRouting.with(self.settings.arrivals, self.logger) { routing in
            try await TileProxy.with(self.settings.tiles, self.logger) { try await self.run(routing, $0) }
        }
    }

    private func run(_ routing: ArrivalRouting, _ tiles: TileProxy?) async throws {
        self.logMissingPages()
        let loops = try await self.makeLoops(routing)
        defer { loops.stop() }
        self.status.follow(loops)

        let services = try await loops.services
        let zoneJobs = try await self.zoneJobs(services[0], loops)
        // The first event loop reads the zones for all operations pages and watchers, so they are read only once.
        var operations = OperationsQueries(services[0])
        let health = HealthReporter(name: self.settings.name, gatewayLoops: loops, registry: operations.registry)
        operations.healthSource = .init(id: health.id) { await health.health().health }
        let webhooks = try await self.webhookClient(loops.redis)
        defer { webhooks.stop() }
        let sender = WebhookSender(settings: self.settings.webhooks)
        let shared = self.sharedServices(loops, operations, sender, tiles)
        let routes = services.map { Routes($0, shared) }

        var background = self.backgroundWork(routes[0], routing, loops)
        background += [{ await zoneJobs.run() }, { await health.run() }]
        if let push = try await self.pushService(services[0], loops) { background.append { await push.run() } }
        if self.settings.webhooks.isDelivering {
            let service = self.webhookService(webhooks, sender, loops, holder: health.id)
            background.append { await service.run() }
        }
        let connections = self.connections(to: routes, shared.loops, loops)
        do {
            try await self.serve(connections, self.managementConnections(beside: connections, loops), loops, background)
            {
                if self.settings.webhooks.isDelivering { try await webhooks.start().get() }
            }
        } catch {
            await sender.shutdown()
            throw error
        }
        // REST requests may have used the sender, whether or not this gateway delivers events.
        await sender.shutdown()
    }
}

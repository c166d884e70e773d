// The gateway process: one listener, N event loops, and a graceful shutdown.

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
    private let settings: GatewaySettings
    private let group: any EventLoopGroup
    private let logger: Logger
    private let beforeStarting: @Sendable () async throws -> Void
    private let onListening: @Sendable (Ports) async -> Void
    private let status: GatewayStatus

    /// The maximum number of HTTP connections waiting to be served; further ones are closed.
    private static let maxQueuedConnections = 1024

    /// The ports that a gateway listens on.
    package struct Ports: Hashable, Sendable {
        package var gateway: Int
        package var management: Int?
    }

    /// Why a gateway did not start.
    package enum StartFailure: Error, CustomStringConvertible {
        case portTaken(host: String, port: Int, isManagement: Bool)
        case notBound(host: String, port: Int, isManagement: Bool, reason: String)

        package var description: String {
            switch self {
            case .portTaken(let host, let port, let isManagement):
                "Port \(port) on \(host), for \(Self.users(isManagement)), is already in use."
            case .notBound(let host, let port, let isManagement, let reason):
                "Cannot listen on \(host):\(port), for \(Self.users(isManagement)): \(reason)."
            }
        }

        private static func users(_ isManagement: Bool) -> String { isManagement ? "probes and metrics" : "clients" }
    }

    /// - Parameters:
    ///   - group: the event loops. Each owns its sockets, its follow table and its connections to Redis.
    ///   - onListening: called with the ports as soon as the gateway accepts connections.
    ///   - beforeStarting: returns when everything the gateway needs is available. Until then the management listener answers
    ///     probes, and the gateway is not ready. A graceful shutdown cancels it.
    ///   - status: what a supervisor reads.
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
    /// - Throws: `StartFailure`, `InvalidProviderSetting`, or `RedisError` when Redis cannot be reached at the start.
    package func run() async throws {
        try await ArrivalRouting.with(self.settings.arrivals, self.logger) { routing in
            try await TileProxy.with(self.settings.tiles, self.logger) { try await self.run(routing, $0) }
        }
    }

    private func run(_ routing: ArrivalRouting, _ tiles: TileProxy?) async throws {
        let loops = Array(self.group.makeIterator())
        let load = SharedLoad(loops: loops.count)
        let quotas = Quotas(limits: self.settings.limits)
        let revocations = Revocations(
            retentionMilliseconds: self.settings.liveState.revocationRetention.milliseconds)
        for file in Pages.missingFiles(self.settings.pages) {
            // Logged once at the start instead of for each request.
            self.logger.error("page asset missing", metadata: [LogKey.path: "\(file)"])
        }
        let faultMonitors = RedisFaultMonitors(keyspace: self.settings.liveState.keyspace, logger: self.logger)
        var states: [NIOLoopBound<LoopState>] = []
        for (index, loop) in loops.enumerated() {
            let (settings, logger) = (self.settings, self.logger)
            states.append(
                try await loop.submit {
                    let state = LoopState(
                        eventLoop: loop, index: index, loops: loops.count, settings: settings.realtime, quotas: quotas,
                        load: load, revocations: revocations, routing: routing, faultMonitors: faultMonitors,
                        logger: logger)
                    return NIOLoopBound(state, eventLoop: loop)
                }.get())
        }
        defer { for (loop, state) in zip(loops, states) { loop.execute { state.value.stop() } } }
        let eventCounts = SharedCounts()
        let gatewayLoops = GatewayLoops(
            loops: loops, states: states, load: load, quotas: quotas, settings: self.settings,
            issuerKeys: self.settings.issuerKeys, eventCounts: eventCounts, arrivalCounts: routing.counts,
            redis: faultMonitors,
            clocks: ClockComparison(
                addresses: [.live: "\(self.settings.live)", .ledger: "\(self.settings.ledger)"], logger: self.logger),
            requests: RequestCounts(loops: loops))
        self.status.follow(gatewayLoops)

        var services: [LoopServices] = []
        for (loop, state) in zip(loops, states) {
            services.append(try await loop.submit { state.value.services }.get())
        }
        // The first event loop reads the zones for all operations pages and watchers, so they are read only once.
        var operations = OperationsQueries(services[0])
        let zoneJobs = ZoneJobsFeed(services[0].zoneJobsReader, logger: self.logger)
        for (loop, state) in zip(loops, states) {
            try await loop.submit {
                state.value.zoneJobs.connect(to: zoneJobs)
                state.value.zonePlaces.connect(to: zoneJobs)
            }.get()
        }
        let healthReporter = HealthReporter(
            name: self.settings.name, gatewayLoops: gatewayLoops, registry: operations.registry)
        operations.healthSource = .init(id: healthReporter.id) { await healthReporter.health().health }
        let sender = WebhookSender(settings: self.settings.webhooks)
        let webhooks = try await self.webhookClient(faultMonitors)
        defer { webhooks.stop() }
        let webhookService = WebhookService(
            store: WebhookStore(ledger: webhooks, settings: self.settings.liveState), settings: self.settings.webhooks,
            sender: sender, counts: gatewayLoops.webhookCounts, holder: healthReporter.id, logger: self.logger)
        let shared = SharedServices(
            settings: self.settings.realtime, pages: Pages(settings: self.settings.pages),
            origins: self.settings.origins, topics: self.settings.topics, quotas: quotas, revocations: revocations,
            eventCounts: eventCounts, loops: LoopMap(states, loops: loops), operations: operations, tiles: tiles,
            webhookSender: sender,
            becomeStream: { channel in
                let exchange = try channel.pipeline.syncOperations.handler(type: HTTPExchange.self)
                try exchange.switchToStream()
                return exchange.isChunked
            })
        let routes = services.map { Routes($0, shared) }
        let responders = Dictionary(
            uniqueKeysWithValues: zip(loops, routes).map { loop, routes in
                (
                    ObjectIdentifier(loop),
                    Self.responder(routes.router().buildResponder(), self.logger, gatewayLoops.requests)
                )
            })
        let connections = Connections(
            responder: { request, channel in
                guard let respond = responders[ObjectIdentifier(channel.eventLoop)] else {
                    preconditionFailure("connection on an event loop of another gateway")
                }
                try await respond(request, channel)
            },
            settings: self.settings, loops: shared.loops, mismatches: ProxyMismatchLog(logger: self.logger))
        let management = Connections(
            responder: Self.responder(
                ManagementRoutes(gatewayLoops: gatewayLoops).router().buildResponder(), self.logger, nil),
            settings: self.settings, loops: connections.loops, mismatches: connections.mismatches,
            isManagement: true)
        var background: [@Sendable () async -> Void] = [{ await zoneJobs.run() }]
        if let queue = self.settings.queue {
            let consumer = QueueConsumer(
                queue: queue, routes: routes[0], dependencies: routing.counts.services, logger: self.logger)
            background.append { await consumer.run() }
        }
        if let credentials = self.settings.credentials {
            let watch = CertificateWatch(credentials: credentials, logger: self.logger)
            background.append { await watch.run() }
        }
        if let push = try await self.pushService(services[0], gatewayLoops, states, revocations) {
            background.append { await push.run() }
        }
        do {
            try await self.serve(connections, management, gatewayLoops, healthReporter, background) {
                guard self.settings.webhooks.isDelivering else { return nil }
                try await webhooks.start().get()
                return webhookService
            }
        } catch {
            await sender.shutdown()
            throw error
        }
        // Requests of REST may have used it, whether or not this gateway delivers events.
        await sender.shutdown()
    }

    /// Notifies browsers of the riders that any event loop finds near; `nil` if that is not configured.
    private func pushService(
        _ services: LoopServices, _ gatewayLoops: GatewayLoops, _ states: [NIOLoopBound<LoopState>],
        _ revocations: Revocations
    ) async throws -> PushService? {
        guard let settings = self.settings.push else { return nil }
        let push = PushService(
            settings: settings, subscriptions: services.push, counts: gatewayLoops.pushCounts,
            checks: .init(
                hasStopsBefore: { job, rider in
                    try await !services.precedingStops.stops(before: job, of: rider).get().isEmpty
                }, mayKnow: { try await services.mayKnow($0, that: $2, isNear: $1, revocations) }), logger: self.logger)
        for (loop, state) in zip(gatewayLoops.loops, states) {
            try await loop.submit { state.value.onNear = { push.report($0, $1, $2) } }.get()
        }
        return push
    }

    /// A client on an event loop that no session uses: reading events in bulk must not delay locations.
    private func webhookClient(_ faultMonitors: RedisFaultMonitors) async throws -> RedisClient {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let (settings, logger) = (self.settings, self.logger)
        return try await loop.submit {
            RedisClient(
                address: settings.ledger, eventLoop: loop, timing: settings.redisTiming, logger: logger,
                witness: faultMonitors.ledger)
        }.get()
    }

    private func serve(
        _ connections: Connections, _ management: Connections, _ gatewayLoops: GatewayLoops,
        _ healthReporter: HealthReporter,
        _ background: [@Sendable () async -> Void], _ startWebhooks: () async throws -> WebhookService?
    ) async throws {
        // Only connections with HTTP requests need a task; WebSocket sessions run without one.
        let (http, arrivals) = AsyncStream.makeStream(
            of: HTTPConnection.self, bufferingPolicy: .bufferingOldest(Self.maxQueuedConnections))
        defer { arrivals.finish() }
        var managementListener: (any Channel)?
        if let place = self.settings.management {
            managementListener = try await self.listen(place.host, place.port, management, nil) { arrivals.yield($0) }
        }
        async let answering: Void = Self.answer(http, self.logger)
        let listener: any Channel
        let webhooks: WebhookService?
        do {
            try await cancelWhenGracefulShutdown { try await self.beforeStarting() }
            try await self.start(gatewayLoops)
            webhooks = try await startWebhooks()
            listener = try await self.listen(self.settings.host, self.settings.port, connections, gatewayLoops) {
                arrivals.yield($0)
            }
        } catch {
            try? await managementListener?.close()
            guard error is CancellationError else { throw error }
            // There is nothing to shut down.
            self.logger.notice("stopped before the gateway was ready")
            return
        }
        let ports = Ports(
            gateway: listener.localAddress?.port ?? self.settings.port,
            management: managementListener?.localAddress?.port)
        self.logger.info(
            "listening", metadata: [LogKey.address: "\(self.settings.host)", LogKey.port: "\(ports.gateway)"])

        let drained = await withDiscardingTaskGroup { group in
            if let keys = self.settings.issuerKeys { group.addTask { await keys.run() } }
            for work in background { group.addTask { await work() } }
            group.addTask { await healthReporter.run() }
            if let webhooks { group.addTask { await webhooks.run() } }
            await self.onListening(ports)
            // Also returns on cancellation, for example after a second signal; then the drain below is cut short.
            try? await gracefulShutdown()
            gatewayLoops.load.drain()
            // Load balancers take a while to notice that /readyz fails. Connections that they open until then are served.
            try? await Task.sleep(for: self.settings.drainAccept)
            try? await listener.close()
            self.logger.info(
                "stopped accepting connections; asking clients to reconnect",
                metadata: [LogKey.seconds: "\(self.settings.drain.components.seconds)"])
            let drained = await gatewayLoops.drain(self.settings.drain)
            try? await managementListener?.close()
            group.cancelAll()
            return drained
        }
        arrivals.finish()
        await answering
        self.logger.notice(
            "stopped",
            metadata: [LogKey.sessions: "\(drained.sessions)", LogKey.connections: "\(drained.openConnections)"])
    }

    /// Connects every event loop to both Redis instances.
    private func start(_ gatewayLoops: GatewayLoops) async throws {
        for (loop, state) in zip(gatewayLoops.loops, gatewayLoops.states) {
            try await loop.flatSubmit { state.value.start() }.get()
        }
        gatewayLoops.load.reachedRedis()
    }

    /// Serves HTTP connections until the stream finishes.
    private static func answer(_ http: AsyncStream<HTTPConnection>, _ logger: Logger) async {
        await withDiscardingTaskGroup { group in
            for await connection in http { group.addTask { await connection.serve(logger) } }
            group.cancelAll()
        }
    }

    /// - Parameter gatewayLoops: of a listener that is guarded against overload; `nil` for the management listener.
    private func listen(
        _ host: String, _ port: Int, _ connections: Connections, _ gatewayLoops: GatewayLoops?,
        _ arrive: @escaping @Sendable (HTTPConnection) -> AsyncStream<HTTPConnection>.Continuation.YieldResult
    ) async throws -> any Channel {
        let (logger, settings) = (self.logger, self.settings)
        let bootstrap = ServerBootstrap(group: self.group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // One connection for each read, so that `AcceptGate` decides about each of them.
            .serverChannelOption(.maxMessagesPerRead, value: 1)
            // Accepted sockets inherit both (tcp(7), socket(7)), which costs no system call.
            .serverChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .serverChannelOption(.socketOption(.so_sndbuf), value: settings.limits.socketSendBytes)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let gatewayLoops else { return }
                    let gate = AcceptGate(
                        settings: settings, load: gatewayLoops.load, loop: connections.loops[channel.eventLoop],
                        logger: logger, shed: { gatewayLoops.shed(percent: $0) })
                    try channel.pipeline.syncOperations.addHandler(gate)
                }
            }
            .childChannelInitializer { channel in
                connections.setup(channel: channel, logger: logger) { connection in
                    guard case .enqueued = arrive(connection) else { return connection.channel.close(promise: nil) }
                }
            }
        do {
            return try await bootstrap.bind(host: host, port: port).get()
        } catch {
            let isManagement = gatewayLoops == nil
            if let error = error as? IOError, error.errnoCode == EADDRINUSE {
                throw StartFailure.portTaken(host: host, port: port, isManagement: isManagement)
            }
            let isUnresolved = if case SocketAddressError.unknown = error { true } else { false }
            throw StartFailure.notBound(
                host: host, port: port, isManagement: isManagement,
                reason: isUnresolved ? "the host name cannot be resolved" : "\(error)")
        }
    }

    /// Wraps a router as Hummingbird's own server does: creates the context of each request, and responds to uncaught errors.
    ///
    /// - Parameter counts: the request metrics to update; `nil` for the management listener.
    private static func responder(
        _ routes: some HTTPResponder<GatewayRequestContext>, _ logger: Logger, _ counts: RequestCounts?
    ) -> Responder {
        { pending, channel in
            let request = pending.request
            var context = GatewayRequestContext(
                source: ApplicationRequestContextSource(channel: channel, logger: logger))
            context.peer = pending.peer
            context.setTrace(RequestTrace(request.headers[values: .traceparent]))
            let started = NIODeadline.now()
            var response: Response
            do {
                response = try await routes.respond(to: request, context: context)
            } catch {
                response = try Problem(causedBy: error).response(from: request, context: context)
            }
            response.removeLengthOfEventStream()
            context.finish(&response)
            counts?.record(
                context.endpointPath, status: response.status.code, after: .now() - started, on: channel.eventLoop)
            try await pending.response.write(response: response.head, body: response.body)
        }
    }
}

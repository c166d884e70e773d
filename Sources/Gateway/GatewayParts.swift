// Creates the parts of a gateway: the state of each event loop, the services that all loops share, the routers, and the work
// that runs beside the connections. `GatewayServer.run` puts them together.

internal import Access
internal import ETA
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import Push
internal import Realtime
internal import Redis
internal import REST
internal import Telemetry
internal import TrafficControl
internal import Webhooks

extension GatewayServer {
    // MARK: event loops

    func makeLoops(_ routing: ArrivalRouting) async throws -> GatewayLoops {
        let loops = Array(self.group.makeIterator())
        let (load, quotas) = (SharedLoad(loops: loops.count), Quotas(limits: self.settings.limits))
        let revocations = Revocations(
            retentionMilliseconds: self.settings.liveState.revocationRetention.milliseconds)
        let faultMonitors = RedisFaultMonitors(keyspace: self.settings.liveState.keyspace, logger: self.logger)
        let (settings, logger) = (self.settings.realtime, self.logger)
        var states: [NIOLoopBound<LoopState>] = []
        for (index, loop) in loops.enumerated() {
            states.append(
                try await loop.submit {
                    let state = LoopState(
                        eventLoop: loop, index: index, loops: loops.count, settings: settings, quotas: quotas,
                        load: load, revocations: revocations, routing: routing, faultMonitors: faultMonitors,
                        logger: logger)
                    return NIOLoopBound(state, eventLoop: loop)
                }.get())
        }
        let addresses: [RedisMetrics.Role: String] = [
            .live: "\(self.settings.live)", .ledger: "\(self.settings.ledger)",
        ]
        return GatewayLoops(
            loops: loops, states: states, load: load, quotas: quotas, revocations: revocations, settings: self.settings,
            issuerKeys: self.settings.issuerKeys, arrivalCounts: routing.counts, redis: faultMonitors,
            clocks: ClockComparison(addresses: addresses, logger: self.logger),
            replicas: ReplicaWatch(addresses: addresses, logger: self.logger),
            requests: RequestCounts(loops: loops))
    }

    /// The jobs of the zones that any event loop watches, read on one of them.
    func zoneJobs(_ services: LoopServices, _ gatewayLoops: GatewayLoops) async throws -> ZoneJobsFeed {
        let feed = ZoneJobsFeed(services.zoneJobsReader, logger: self.logger)
        for (loop, state) in zip(gatewayLoops.loops, gatewayLoops.states) {
            try await loop.submit {
                state.value.zoneJobs.connect(to: feed)
                state.value.zonePlaces.connect(to: feed)
            }.get()
        }
        return feed
    }

    // MARK: routers

    /// Logs missing page files once at the start instead of for each request.
    func logMissingPages() {
        for file in Pages.missingFiles(self.settings.pages) {
            self.logger.error("page asset missing", metadata: [LogKey.path: "\(file)"])
        }
    }

    func sharedServices(
        _ gatewayLoops: GatewayLoops, _ operations: OperationsQueries, _ sender: WebhookSender, _ tiles: TileProxy?
    ) -> SharedServices {
        SharedServices(
            settings: self.settings.realtime, pages: Pages(settings: self.settings.pages),
            origins: self.settings.origins, topics: self.settings.topics, quotas: gatewayLoops.quotas,
            revocations: gatewayLoops.revocations, eventCounts: gatewayLoops.eventCounts,
            loops: LoopMap(gatewayLoops.states, loops: gatewayLoops.loops), operations: operations, tiles: tiles,
            webhookSender: sender,
            becomeStream: { channel in
                let exchange = try channel.pipeline.syncOperations.handler(type: HTTPExchange.self)
                try exchange.switchToStream()
                return exchange.isChunked
            })
    }

    /// The clients' connections. Each is served by the router of its event loop.
    func connections(to routes: [Routes], _ map: LoopMap, _ gatewayLoops: GatewayLoops) -> Connections {
        let responders = Dictionary(
            uniqueKeysWithValues: zip(gatewayLoops.loops, routes).map { loop, routes in
                (ObjectIdentifier(loop), self.responder(routes.router().buildResponder(), gatewayLoops.requests))
            })
        return Connections(
            responder: { request, channel in
                guard let respond = responders[ObjectIdentifier(channel.eventLoop)] else {
                    preconditionFailure("connection on an event loop of another gateway")
                }
                try await respond(request, channel)
            },
            settings: self.settings, loops: map, mismatches: ProxyMismatchLog(logger: self.logger))
    }

    func managementConnections(beside connections: Connections, _ gatewayLoops: GatewayLoops) -> Connections {
        let router = ManagementRoutes(gatewayLoops: gatewayLoops).router()
        return Connections(
            responder: self.responder(router.buildResponder(), nil), settings: self.settings, loops: connections.loops,
            mismatches: connections.mismatches, isManagement: true)
    }

    // MARK: work beside the connections

    /// Fetches the issuers' keys and receives the events of a queue, if these are configured.
    func backgroundWork(
        _ routes: Routes, _ routing: ArrivalRouting, _ gatewayLoops: GatewayLoops
    ) -> [@Sendable () async -> Void] {
        var work: [@Sendable () async -> Void] = []
        if let keys = gatewayLoops.issuerKeys { work.append { await keys.run() } }
        if let queue = self.settings.queue {
            let consumer = QueueConsumer(
                queue: queue, routes: routes, dependencies: routing.counts.services, logger: self.logger)
            work.append { await consumer.run() }
        }
        if let credentials = self.settings.credentials {
            let watch = CertificateWatch(credentials: credentials, logger: self.logger)
            work.append { await watch.run() }
        }
        return work
    }

    func webhookService(
        _ ledger: RedisClient, _ sender: WebhookSender, _ gatewayLoops: GatewayLoops, holder: String
    ) -> WebhookService {
        WebhookService(
            store: WebhookStore(ledger: ledger, settings: self.settings.liveState), settings: self.settings.webhooks,
            sender: sender, counts: gatewayLoops.webhookCounts, holder: holder, logger: self.logger)
    }

    /// A client on an event loop that no session uses: reading events in bulk must not delay locations.
    func webhookClient(_ faultMonitors: RedisFaultMonitors) async throws -> RedisClient {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let (settings, logger) = (self.settings, self.logger)
        return try await loop.submit {
            RedisClient(
                address: settings.ledger, eventLoop: loop, timing: settings.redisTiming, logger: logger,
                witness: faultMonitors.ledger)
        }.get()
    }

    /// Notifies browsers when any event loop finds that a rider is near; `nil` if that is not configured.
    func pushService(_ services: LoopServices, _ gatewayLoops: GatewayLoops) async throws -> PushService? {
        guard let settings = self.settings.push else { return nil }
        let revocations = gatewayLoops.revocations
        let push = PushService(
            settings: settings, subscriptions: services.push, counts: gatewayLoops.pushCounts,
            checks: .init(
                hasStopsBefore: { job, rider in
                    try await !services.precedingStops.stops(before: job, of: rider).get().isEmpty
                }, customer: { try await services.customer(of: $0, with: $1) },
                mayFollow: { try await services.mayFollow($0, $1, of: $2, revocations) }), logger: self.logger)
        for (loop, state) in zip(gatewayLoops.loops, gatewayLoops.states) {
            try await loop.submit { state.value.onNear = { push.report($0, $1, $2) } }.get()
        }
        return push
    }
}

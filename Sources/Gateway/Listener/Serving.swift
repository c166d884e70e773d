// Serves connections: from the first probe on the management listener, while the gateway starts, to the last close of a
// graceful shutdown.

internal import HTTPValues
internal import Logging
internal import NIOCore
internal import Realtime
internal import ServiceLifecycle
internal import Telemetry
internal import TrafficControl

extension GatewayServer {
    /// The maximum number of HTTP connections waiting to be served; further ones are closed.
    private static let maxQueuedConnections = 1024

    /// Listens and serves until the task is cancelled or a graceful shutdown is triggered.
    ///
    /// - Parameters:
    ///   - background: runs while the gateway serves clients.
    ///   - connectMore: makes the connections that belong to no event loop, before the gateway listens.
    func serve(
        _ connections: Connections, _ management: Connections, _ gatewayLoops: GatewayLoops,
        _ background: [@Sendable () async -> Void], _ connectMore: @escaping @Sendable () async throws -> Void
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
        do {
            try await cancelWhenGracefulShutdown {
                try await self.beforeStarting()
                try await self.connectToRedis(gatewayLoops, connectMore)
            }
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
        let drained = await self.serveUntilDrained(listener, managementListener, gatewayLoops, background)
        arrivals.finish()
        await answering
        self.logger.notice(
            "stopped",
            metadata: [LogKey.sessions: "\(drained.sessions)", LogKey.connections: "\(drained.openConnections)"])
    }

    /// Runs the background work until a graceful shutdown, then closes the listener and asks the clients to reconnect.
    private func serveUntilDrained(
        _ listener: any Channel, _ managementListener: (any Channel)?, _ gatewayLoops: GatewayLoops,
        _ background: [@Sendable () async -> Void]
    ) async -> GatewayLoops.Drained {
        let ports = Ports(
            gateway: listener.localAddress?.port ?? self.settings.port,
            management: managementListener?.localAddress?.port)
        self.logger.info(
            "listening", metadata: [LogKey.address: "\(self.settings.host)", LogKey.port: "\(ports.gateway)"])
        return await withDiscardingTaskGroup { group in
            for work in background { group.addTask { await work() } }
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
    }

    /// Connects every event loop to both Redis instances.
    private func connectToRedis(
        _ gatewayLoops: GatewayLoops, _ connectMore: @Sendable () async throws -> Void
    ) async throws {
        var wait = RedisWait(logger: self.logger)
        for (loop, state) in zip(gatewayLoops.loops, gatewayLoops.states) {
            try await wait.untilConnected { try await loop.flatSubmit { state.value.start() }.get() }
        }
        try await wait.untilConnected(connectMore)
        wait.log()
        gatewayLoops.load.reachedRedis()
    }

    /// Serves HTTP connections until the stream finishes.
    private static func answer(_ http: AsyncStream<HTTPConnection>, _ logger: Logger) async {
        await withDiscardingTaskGroup { group in
            for await connection in http { group.addTask { await connection.serve(logger) } }
            group.cancelAll()
        }
    }
}

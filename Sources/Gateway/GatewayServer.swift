// A gateway: one listener, as many loops as it is given, and an end that nobody has to notice.

internal import Hummingbird
internal import HummingbirdCore
internal import EnrouteWire
internal import LiveState
package import Logging
package import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import Synchronization
internal import Telemetry

/// Accepts connections and serves them until it is told to stop.
package struct GatewayServer: Service, CustomStringConvertible {
    private let settings: GatewaySettings
    private let group: any EventLoopGroup
    private let logger: Logger
    private let onListening: @Sendable (Int) async -> Void

    /// HTTP connections that wait to be served, at most; more are closed.
    private static let mostArrivals = 1024

    /// Why a gateway did not start.
    package enum StartFailure: Error, CustomStringConvertible {
        case portTaken(host: String, port: Int)
        case notBound(host: String, port: Int, reason: String)

        package var description: String {
            switch self {
            case .portTaken(let host, let port):
                "Port \(port) of \(host) is taken. Choose another with --port or ENROUTE_PORT."
            case .notBound(let host, let port, let reason):
                "Listening on \(host):\(port) failed: \(reason). Choose another with --host and --port."
            }
        }
    }

    /// - Parameters:
    ///   - group: the event loops; each owns its sockets, its follow table and its connections to Redis.
    ///   - onListening: called with the port once connections are accepted.
    package init(
        settings: GatewaySettings, group: any EventLoopGroup, logger: Logger,
        onListening: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
    ) {
        self.settings = settings
        self.group = group
        self.logger = logger
        self.onListening = onListening
    }

    package var description: String { "gateway" }

    /// Runs until the task is cancelled or a graceful shutdown is asked for.
    ///
    /// - Throws: `StartFailure`, or `RedisError` when Redis can not be reached at the start.
    package func run() async throws {
        let loops = Array(self.group.makeIterator())
        var states: [NIOLoopBound<LoopState>] = []
        for loop in loops {
            let (settings, logger) = (self.settings, self.logger)
            states.append(
                try await loop.submit {
                    NIOLoopBound(LoopState(eventLoop: loop, settings: settings, logger: logger), eventLoop: loop)
                }.get())
        }
        defer { for (loop, state) in zip(loops, states) { loop.execute { state.value.stop() } } }
        for (loop, state) in zip(loops, states) { try await loop.flatSubmit { state.value.start() }.get() }

        let readiness = Readiness()
        let probe: @Sendable () async -> Bool = { [states] in
            guard !readiness.isDraining else { return false }
            for (loop, state) in zip(loops, states) {
                guard (try? await loop.flatSubmit({ state.value.ping() }).get()) != nil else { return false }
            }
            return true
        }
        let jobs = try await loops[0].submit { [state = states[0]] in state.value.jobs }.get()
        let router = Routes(jobs: jobs, settings: self.settings, isReady: probe).router()
        let connections = Connections(
            responder: Self.responder(router.buildResponder(), self.logger), settings: self.settings,
            loops: LoopMap(states, loops: loops))
        try await self.serve(connections, loops, states, readiness)
    }

    private func serve(
        _ connections: Connections, _ loops: [any EventLoop], _ states: [NIOLoopBound<LoopState>],
        _ readiness: Readiness
    ) async throws {
        let logger = self.logger
        // Only connections that stay HTTP become a task; a session costs none.
        let (http, arrivals) = AsyncStream.makeStream(
            of: HTTPConnection.self, bufferingPolicy: .bufferingOldest(Self.mostArrivals))
        let bootstrap = ServerBootstrap(group: self.group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.socketOption(.so_sndbuf), value: self.settings.limits.socketSendBytes)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: self.settings.limits.receiveBytes)
            )
            .childChannelInitializer { channel in
                connections.setup(channel: channel, logger: logger).map { value in
                    value.http.whenSuccess { connection in
                        guard let connection else { return }
                        if case .dropped = arrivals.yield(connection) { connection.channel.close(promise: nil) }
                    }
                }
            }
        let listener: any Channel
        do {
            listener = try await bootstrap.bind(host: self.settings.host, port: self.settings.port).get()
        } catch {
            arrivals.finish()
            if let error = error as? IOError, error.errnoCode == EADDRINUSE {
                throw StartFailure.portTaken(host: self.settings.host, port: self.settings.port)
            }
            throw StartFailure.notBound(host: self.settings.host, port: self.settings.port, reason: "\(error)")
        }
        let port = listener.localAddress?.port ?? self.settings.port
        logger.info("listening", metadata: [LogKey.address: "\(self.settings.host)", LogKey.port: "\(port)"])

        await withDiscardingTaskGroup { group in
            group.addTask {
                await self.onListening(port)
                // Ends by cancellation too: then there is no time left to drain.
                try? await gracefulShutdown()
                readiness.drain()
                try? await listener.close()
                await self.drain(loops, states)
                arrivals.finish()
            }
            for await connection in http {
                group.addTask { await connections.handleHTTP(asyncChannel: connection, logger: logger) }
            }
            group.cancelAll()
        }
    }

    /// Tells every client to come back elsewhere, spread over the first half of the drain time, and waits for them.
    private func drain(_ loops: [any EventLoop], _ states: [NIOLoopBound<LoopState>]) async {
        let milliseconds = self.settings.drain.milliseconds
        let gone = zip(loops, states).map { loop, state in
            loop.flatSubmit { state.value.drain(retryInMilliseconds: milliseconds / 2) }
        }
        let all = EventLoopFuture.andAllSucceed(gone, on: loops[0])
        let deadline = loops[0].scheduleTask(in: .milliseconds(milliseconds)) {}
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await all.get() }
            group.addTask { _ = try? await deadline.futureResult.get() }
            await group.next()
            deadline.cancel()
            // `all` may never come when a peer is gone for good; its promise ends with the loop's state.
            group.cancelAll()
        }
    }

    /// What Hummingbird's own server does around a responder: a context, and an answer for what was not caught.
    private static func responder<Responder: HTTPResponder>(
        _ responder: Responder, _ logger: Logger
    ) -> HTTPChannelHandler.Responder where Responder.Context == BasicRequestContext {
        { request, writer, channel in
            let context = BasicRequestContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
            let response: Response
            do {
                response = try await responder.respond(to: request, context: context)
            } catch {
                response = try Problem(.internal, status: 500, detail: "Something went wrong on our side.")
                    .response(from: request, context: context)
            }
            try await writer.write(response: response.head, body: response.body)
        }
    }
}

/// Whether the gateway takes new work.
private final class Readiness: Sendable {
    private let draining = Atomic(false)
    var isDraining: Bool { self.draining.load(ordering: .acquiring) }
    func drain() { self.draining.store(true, ordering: .releasing) }
}

// Binds a listener, and explains why it could not be bound.

internal import EnrouteWire
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import Realtime
internal import TrafficControl

extension GatewayServer {
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

    /// - Parameter gatewayLoops: of a listener that is guarded against overload; `nil` for the management listener.
    func listen(
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
}

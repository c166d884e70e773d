// Opens the connection to one node: over TCP or a Unix domain socket, with TLS if the address has it.

internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import NetworkErrors

extension RedisAddress {
    /// Connects a handler to the node at this address. Fails with `RedisError.unreachable`.
    ///
    /// - Parameter context: `nil` without TLS.
    func connect(
        _ handler: NIOLoopBound<RedisChannelHandler>, _ context: NIOSSLContext?, timeout: TimeAmount,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context, let tls = self.tls, case .tcp(let host, _) = self.endpoint {
                        try channel.pipeline.syncOperations.addHandler(tls.handler(context, host: host))
                    }
                    try channel.pipeline.syncOperations.addHandler(handler.value)
                }
            }
        let connected: EventLoopFuture<any Channel>
        switch self.endpoint {
        case .tcp(let host, let port):
            connected = bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1).connect(host: host, port: port)
        case .unix(let path): connected = bootstrap.connect(unixDomainSocketPath: path)
        case .sentinels, .cluster: preconditionFailure("a link connects to one node")
        }
        return connected.flatMapErrorThrowing { error in
            throw RedisError.unreachable(address: self.description, reason: ConnectFailure.reason(error))
        }
    }
}

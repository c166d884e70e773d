// The load balancer of the demonstration: one port, behind it the gateways that are there at the moment. It passes on bytes
// and knows neither TLS nor HTTP, so that a gateway can be killed under a page and the page finds the other one.

import NIOCore
import NIOPosix
import Synchronization

/// Passes connections on to gateways of this machine, one after the other.
final class DemoRelay: Sendable {
    private struct State {
        var ports: [Int] = []
        var next = 0
    }

    private let state = Mutex(State())

    /// Connections that a listening socket keeps, at most.
    private static let backlog: Int32 = 256
    private static let connectTimeout = TimeAmount.seconds(2)

    func add(_ port: Int) { self.state.withLock { $0.ports.append(port) } }

    func remove(_ port: Int) { self.state.withLock { $0.ports.removeAll { $0 == port } } }

    var ports: [Int] { self.state.withLock { $0.ports } }

    /// The gateways in the order in which they are to be tried.
    private func order() -> [Int] {
        self.state.withLock { state in
            guard !state.ports.isEmpty else { return [] }
            state.next = (state.next + 1) % state.ports.count
            return Array(state.ports[state.next...] + state.ports[..<state.next])
        }
    }

    /// - Returns: the listening channel.
    /// - Throws: what binding throws, `EADDRINUSE` among them.
    func listen(host: String, port: Int, group: any EventLoopGroup) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                // Nothing is read until somebody is there to be told.
                self.connect(channel, to: self.order())
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: host, port: port).get()
    }

    private func connect(_ client: any Channel, to ports: [Int]) {
        guard let port = ports.first else { return client.close(promise: nil) }
        ClientBootstrap(group: client.eventLoop)
            .connectTimeout(Self.connectTimeout)
            .channelOption(.autoRead, value: false)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: port)
            .whenComplete { result in
                switch result {
                case .failure: self.connect(client, to: Array(ports.dropFirst()))
                case .success(let gateway): Self.join(client, gateway)
                }
            }
    }

    /// Both are on one event loop.
    private static func join(_ client: any Channel, _ gateway: any Channel) {
        do {
            try client.pipeline.syncOperations.addHandler(PassingOn(to: gateway))
            try gateway.pipeline.syncOperations.addHandler(PassingOn(to: client))
            client.read()
            gateway.read()
        } catch {
            client.close(promise: nil)
            gateway.close(promise: nil)
        }
    }
}

/// What one side says is said to the other; the next is read when that has been taken. Whoever ends ends both.
private final class PassingOn: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel

    init(to other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let reader = NIOLoopBound(context, eventLoop: context.eventLoop)
        self.other.writeAndFlush(self.unwrapInboundIn(data)).whenComplete { result in
            switch result {
            case .success: reader.value.read()
            case .failure: reader.value.close(promise: nil)
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) { self.other.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

// The demo's load balancer: one port in front of the running gateways. It forwards bytes and does not interpret TLS or
// HTTP. When a gateway is killed, pages reconnect to the other one through the same port.

import NIOCore
import NIOPosix
import Synchronization

/// Forwards connections to gateways on this machine, round robin.
final class DemoRelay: Sendable {
    private struct State {
        /// By the number of the gateway.
        var ports: [(gateway: Int, port: Int)] = []
        var next = 0
    }

    private let state = Mutex(State())

    /// Maximum length of the listening socket's queue.
    private static let backlog: Int32 = 256

    /// - Parameter gateway: the gateway's number; a door may prefer it.
    func add(_ port: Int, gateway: Int = 0) {
        self.state.withLock { state in
            state.ports.append((gateway, port))
            state.ports.sort { $0.gateway < $1.gateway }
        }
    }

    func remove(_ port: Int) { self.state.withLock { $0.ports.removeAll { $0.port == port } } }

    var ports: [Int] { self.state.withLock { $0.ports.map(\.port) } }

    /// The numbers of the running gateways.
    var gateways: [Int] { self.state.withLock { $0.ports.map(\.gateway) } }

    /// The gateways in the order to try them.
    ///
    /// - Parameter preferred: the number of the gateway to try first; `nil` for a different one each time.
    fileprivate func order(preferring preferred: Int?) -> [Int] {
        self.state.withLock { state in
            guard !state.ports.isEmpty else { return [] }
            if let preferred {
                return (state.ports.filter { $0.gateway == preferred } + state.ports.filter { $0.gateway != preferred })
                    .map(\.port)
            }
            state.next = (state.next + 1) % state.ports.count
            return (state.ports[state.next...] + state.ports[..<state.next]).map(\.port)
        }
    }

    /// - Parameter door: the port that the connections use, and through which they can be cut.
    /// - Returns: the listening channel.
    /// - Throws: errors of `bind`, including `EADDRINUSE`.
    func listen(
        host: String, port: Int, group: any EventLoopGroup, door: DemoDoor = DemoDoor()
    ) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                guard door.admit(channel) else { return channel.close() }
                return channel.eventLoop.makeCompletedFuture {
                    let side = RelaySide(channel)
                    try channel.pipeline.syncOperations.addHandler(GatewaySearch(self, door, for: side))
                    try channel.pipeline.syncOperations.addHandler(side)
                }
            }
            .bind(host: host, port: port).get()
    }
}

/// Connects an accepted connection to a gateway. It starts in `channelActive`, not in the child initializer, which runs
/// too early: a channel that starts to read before it is registered with its event loop never reads.
private final class GatewaySearch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private static let connectTimeout = TimeAmount.seconds(2)
    /// How often all gateways are tried while none is available, with `pause` in between. This takes about as long as
    /// browsers wait.
    private static let maxRounds = 40
    private static let pause = TimeAmount.milliseconds(250)

    private let relay: DemoRelay
    private let door: DemoDoor
    private let client: RelaySide

    init(_ relay: DemoRelay, _ door: DemoDoor, for client: RelaySide) {
        (self.relay, self.door, self.client) = (relay, door, client)
    }

    func channelActive(context: ChannelHandlerContext) {
        self.search(self.relay.order(preferring: self.door.preferredGateway), round: 1)
        context.fireChannelActive()
    }

    private func search(_ ports: [Int], round: Int) {
        let channel = self.client.channel
        guard channel.isActive else { return }
        let searching = NIOLoopBound(self, eventLoop: channel.eventLoop)
        guard let port = ports.first else {
            guard round < Self.maxRounds else { return channel.close(promise: nil) }
            channel.eventLoop.scheduleTask(in: Self.pause) {
                let order = searching.value.relay.order(preferring: searching.value.door.preferredGateway)
                searching.value.search(order, round: round + 1)
            }
            return
        }
        ClientBootstrap(group: channel.eventLoop)
            .connectTimeout(Self.connectTimeout)
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: port)
            .whenComplete { result in
                switch result {
                case .failure: searching.value.search(Array(ports.dropFirst()), round: round)
                case .success(let gateway): searching.value.client.join(gateway)
                }
            }
    }
}

/// One of a client's two connections. It forwards what it receives to the other one, and reads more only when that has
/// been written, so a slow reader slows down only its own writer. Both are on the same event loop.
private final class RelaySide: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    let channel: any Channel
    private var other: (any Channel)?
    /// Bytes received before the gateway is connected: when a connection closes, its channel reads all remaining bytes.
    private var unsent: [ByteBuffer] = []
    private var hasReceivedAll = false
    private var hasFailed = false

    init(_ channel: any Channel) { self.channel = channel }

    /// Starts forwarding in both directions.
    func join(_ gateway: any Channel) {
        guard self.channel.isActive, gateway.isActive else {
            gateway.close(promise: nil)
            return self.channel.close(promise: nil)
        }
        let side = RelaySide(gateway)
        do {
            try gateway.pipeline.syncOperations.addHandler(side)
        } catch {
            gateway.close(promise: nil)
            return self.channel.close(promise: nil)
        }
        (self.other, side.other) = (gateway, self.channel)
        for bytes in self.unsent { self.forward(bytes) }
        self.unsent = []
        if self.hasReceivedAll { self.finishOther() }
        self.channel.read()
        gateway.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        if self.other == nil { self.unsent.append(bytes) } else { self.forward(bytes) }
    }

    private func forward(_ bytes: ByteBuffer) {
        let channel = self.channel
        self.other?.writeAndFlush(bytes).whenComplete { result in
            switch result {
            case .success: channel.read()
            case .failure: channel.close(promise: nil)
            }
        }
    }

    /// The peer has closed its sending direction, but may still receive.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event {
            self.hasReceivedAll = true
            self.finishOther()
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Also called for a connection whose output was closed before; such a connection gets no `inputClosed` event.
    func channelInactive(context: ChannelHandlerContext) {
        guard !self.hasFailed else {
            self.other?.close(promise: nil)
            return
        }
        self.afterLastByte { $0.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.hasFailed = true
        context.close(promise: nil)
    }

    private func finishOther() { self.afterLastByte { $0.close(mode: .output, promise: nil) } }

    /// Closes after everything is written, because a channel that closes both directions drops unsent data.
    private func afterLastByte(_ end: @escaping @Sendable (any Channel) -> Void) {
        guard let other else { return }
        other.writeAndFlush(ByteBuffer()).whenComplete { _ in end(other) }
    }
}

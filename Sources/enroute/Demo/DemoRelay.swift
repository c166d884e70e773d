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

    func add(_ port: Int) { self.state.withLock { $0.ports.append(port) } }

    func remove(_ port: Int) { self.state.withLock { $0.ports.removeAll { $0 == port } } }

    var ports: [Int] { self.state.withLock { $0.ports } }

    /// The gateways in the order in which they are to be tried.
    fileprivate func order() -> [Int] {
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
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let side = RelaySide(channel)
                    try channel.pipeline.syncOperations.addHandler(GatewaySearch(self, for: side))
                    try channel.pipeline.syncOperations.addHandler(side)
                }
            }
            .bind(host: host, port: port).get()
    }
}

/// Connects an accepted connection to a gateway. It begins in `channelActive`: a channel that is asked to read before it is
/// registered with its event loop never reads, and the child initializer runs before that.
private final class GatewaySearch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private static let connectTimeout = TimeAmount.seconds(2)
    /// While every gateway is away, they are tried again so often, with this pause: about as long as a browser is patient.
    private static let mostRounds = 40
    private static let pause = TimeAmount.milliseconds(250)

    private let relay: DemoRelay
    private let client: RelaySide

    init(_ relay: DemoRelay, for client: RelaySide) { (self.relay, self.client) = (relay, client) }

    func channelActive(context: ChannelHandlerContext) {
        self.search(self.relay.order(), round: 1)
        context.fireChannelActive()
    }

    private func search(_ ports: [Int], round: Int) {
        let channel = self.client.channel
        guard channel.isActive else { return }
        let searching = NIOLoopBound(self, eventLoop: channel.eventLoop)
        guard let port = ports.first else {
            guard round < Self.mostRounds else { return channel.close(promise: nil) }
            channel.eventLoop.scheduleTask(in: Self.pause) {
                searching.value.search(searching.value.relay.order(), round: round + 1)
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

/// One of the two connections. What it hears is said by the other; the next is read when that has been taken, so a reader
/// that is slow holds up its own writer only. Both are on one event loop.
private final class RelaySide: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    let channel: any Channel
    private var other: (any Channel)?
    /// What came with the end of a connection that has no other side yet: at its end a channel reads all that is there.
    private var early: [ByteBuffer] = []
    private var hasHeardAll = false
    private var hasFailed = false

    init(_ channel: any Channel) { self.channel = channel }

    /// Begins to pass on, both ways.
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
        for bytes in self.early { self.pass(bytes) }
        self.early = []
        if self.hasHeardAll { self.finishOther() }
        self.channel.read()
        gateway.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        if self.other == nil { self.early.append(bytes) } else { self.pass(bytes) }
    }

    private func pass(_ bytes: ByteBuffer) {
        let channel = self.channel
        self.other?.writeAndFlush(bytes).whenComplete { result in
            switch result {
            case .success: channel.read()
            case .failure: channel.close(promise: nil)
            }
        }
    }

    /// It says no more, but it may go on listening.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event {
            self.hasHeardAll = true
            self.finishOther()
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Also the end of one that was finished by us before: of its last byte no `inputClosed` tells.
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

    /// A channel whose two directions are closed drops what still waits; so the end waits behind it.
    private func afterLastByte(_ end: @escaping @Sendable (any Channel) -> Void) {
        guard let other else { return }
        other.writeAndFlush(ByteBuffer()).whenComplete { _ in end(other) }
    }
}

// The channel pipeline of an accepted connection: TLS, then HTTP one request at a time, then either the router or a
// WebSocket session.

internal import EnrouteWire
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Realtime
internal import SecureSocket
internal import Telemetry
internal import TrafficControl

/// Responds to a request. Throws if the connection is closed.
typealias Responder = @Sendable (PendingRequest, any Channel) async throws -> Void

/// Sets up accepted connections.
struct Connections: Sendable {
    let responder: Responder
    let settings: GatewaySettings
    let loops: LoopMap
    let mismatches: ProxyMismatchLog
    let receiveBuffers: FixedSizeRecvByteBufferAllocator
    /// Whether this is the management listener, which serves HTTP only, without TLS and without limits.
    let isManagement: Bool

    init(
        responder: @escaping Responder, settings: GatewaySettings, loops: LoopMap, mismatches: ProxyMismatchLog,
        isManagement: Bool = false
    ) {
        (self.responder, self.settings, self.loops) = (responder, settings, loops)
        (self.mismatches, self.isManagement) = (mismatches, isManagement)
        self.receiveBuffers = FixedSizeRecvByteBufferAllocator(capacity: settings.limits.receiveBytes)
    }

    /// The maximum size of a request's headers in bytes.
    static let maxHeaderBytes = 8192
    /// The maximum number of headers in a request.
    static let maxHeaders = 64
    /// How long a connection may be idle between two requests, in seconds.
    static let idleSeconds = 60

    /// The client's address has reached its limit of connections.
    struct TooMany: Error {}

    /// The PROXY protocol is required, and this peer is not one of the balancers that may use it.
    struct Untrusted: Error {}

    /// - Parameter onFirstRequest: called once on the channel's event loop, with the connection's first request for the router.
    func setup(
        channel: any Channel, logger: Logger, onFirstRequest: @escaping @Sendable (HTTPConnection) -> Void
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let loop = self.loops[channel.eventLoop]
            let peer = try self.accept(channel, loop)
            let sync = channel.pipeline.syncOperations
            let socket = SecureSocketHandler(
                loop: loop.sockets, tls: self.isManagement ? nil : self.settings.credentials?.current,
                inspectFirst: self.settings.proxyProtocol == nil && !self.isManagement
                    ? { [mismatches] in mismatches.inspect($0, from: peer.address) } : nil)
            let feed = RequestFeed()
            let exchange = HTTPExchange(
                loop: loop, socket: socket, feed: feed, peer: peer, connections: self, logger: logger,
                onFirstRequest: onFirstRequest)
            feed.exchange = exchange
            // Set here rather than as options of the bootstrap, which creates a future for each option and connection.
            let options = channel.syncOptions
            try options?.setOption(.maxMessagesPerRead, value: 1)
            try options?.setOption(.recvAllocator, value: self.receiveBuffers)
            // A client may close its side of the connection after the request and still wait for the response.
            try options?.setOption(.allowRemoteHalfClosure, value: true)
            try sync.addHandler(socket)
            try sync.addHandler(feed)
            try sync.addHandler(HTTPResponseEncoder())
            try sync.addHandler(RequestFeed.decoder())
            try sync.addHandler(exchange)
        }
    }

    /// Counts the connection while it is open, or throws. Behind a balancer that uses the PROXY protocol, the client's address
    /// is known and counted only when the header has arrived.
    private func accept(_ channel: any Channel, _ loop: LoopState) throws -> ConnectionPeer {
        let load = loop.load
        load.socketOpened()
        channel.closeFuture.whenComplete { _ in load.socketClosed() }
        let peer = ConnectionPeer(channel.remoteAddress)
        guard !self.isManagement else { return peer }
        loop.add(requestChannel: channel)
        loop.counts.add(.connectionsAccepted)
        guard let balancers = self.settings.proxyProtocol else {
            try self.count(peer, channel, loop)
            return peer
        }
        guard balancers.trusts(channel.remoteAddress) else {
            loop.counts.add(.proxyHeadersUntrusted)
            self.mismatches.record(.untrusted, from: channel.remoteAddress)
            throw Untrusted()
        }
        let open = NIOLoopBound(channel, eventLoop: channel.eventLoop)
        try channel.pipeline.syncOperations.addHandler(
            ProxyHeaderHandler(loop: loop, mismatches: self.mismatches) { header in
                switch header {
                case .local: peer.address = nil
                case .client(let address):
                    peer.address = address
                    try self.count(peer, open.value, loop)
                }
            })
        return peer
    }

    /// Counts the connection for its address, or throws `TooMany`.
    private func count(_ peer: ConnectionPeer, _ channel: any Channel, _ loop: LoopState) throws {
        guard !self.settings.trustedProxies.trusts(peer.address), let address = ClientAddress(peer.address) else {
            return
        }
        let quotas = loop.quotas
        guard quotas.acquireConnection(address) else {
            loop.counts.add(.connectionsRefusedByAddress)
            throw TooMany()
        }
        channel.closeFuture.whenComplete { _ in quotas.releaseConnection(address) }
    }
}

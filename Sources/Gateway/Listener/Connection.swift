// The pipeline of an accepted connection: TLS, then HTTP one request at a time, and from there either the router or a
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

/// Answers a request. Throws when the connection is gone.
typealias Responder = @Sendable (Request, ResponseWriter, any Channel) async throws -> Void

/// Sets up accepted connections.
struct Connections: Sendable {
    let responder: Responder
    let settings: GatewaySettings
    let loops: LoopMap
    /// The management listener: plain, not limited, and nothing but HTTP.
    var isManagement = false

    /// Bytes of a request's headers, at most.
    static let maxHeaderBytes = 8192
    /// Headers of one request, at most.
    static let maxHeaders = 64
    /// Seconds a connection may be idle between two requests.
    static let idleSeconds = 60

    /// This address has as many connections as it may.
    struct TooMany: Error {}

    /// - Parameter arrive: called on the channel's loop when the connection asks for something plain, once.
    func setup(
        channel: any Channel, logger: Logger, arrive: @escaping @Sendable (HTTPConnection) -> Void
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let loop = self.loops[channel.eventLoop]
            try self.count(channel, loop)
            let sync = channel.pipeline.syncOperations
            let socket = SecureSocketHandler(
                loop: loop.sockets, tls: self.isManagement ? nil : self.settings.credentials?.current)
            let feed = RequestFeed()
            let exchange = HTTPExchange(
                loop: loop, socket: socket, feed: feed, connections: self, logger: logger, arrive: arrive)
            feed.exchange = exchange
            // The client may end its side and still wait for the answer.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
            try sync.addHandler(socket)
            try sync.addHandler(feed)
            try sync.addHandler(HTTPResponseEncoder())
            try sync.addHandler(RequestFeed.decoder())
            try sync.addHandler(exchange)
        }
    }

    /// Counts the connection for as long as it is open, or refuses it.
    private func count(_ channel: any Channel, _ loop: LoopState) throws {
        let (load, quotas) = (loop.load, loop.quotas)
        load.socketOpened()
        channel.closeFuture.whenComplete { _ in load.socketClosed() }
        guard !self.isManagement else { return }
        loop.add(requestChannel: channel)
        loop.counts.add(.connectionsAccepted)
        let peer = channel.remoteAddress
        guard !self.settings.trustedProxies.trusts(peer), let address = ClientAddress(peer) else { return }
        guard quotas.acquireConnection(address) else {
            loop.counts.add(.connectionsRefusedByAddress)
            throw TooMany()
        }
        channel.closeFuture.whenComplete { _ in quotas.releaseConnection(address) }
    }
}

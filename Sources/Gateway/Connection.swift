// The pipeline of an accepted connection: TLS, then HTTP, and from there either the router or a WebSocket session.

internal import EnrouteWire
internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1
internal import SecureSocket
internal import Telemetry

typealias HTTPConnection = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

/// Sets up accepted connections and serves those that speak plain HTTP.
struct Connections: HTTPChannelHandler {
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        let http: EventLoopFuture<HTTPConnection?>
    }

    let responder: HTTPChannelHandler.Responder
    let settings: GatewaySettings
    let loops: LoopMap
    /// The management listener: plain, not limited, and nothing but HTTP.
    var isManagement = false

    /// Bytes of a request's headers, at most; with more the connection is closed.
    static let longestHead = 8192
    /// Headers of one request, at most.
    static let mostHeaders = 64
    /// Seconds a connection may be idle between two requests.
    static let idleSeconds = 60

    /// This address has as many connections as it may.
    struct TooMany: Error {}

    /// - Returns: the connection for the router, or `nil` once it has become a session.
    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let loop = self.loops[channel.eventLoop]
            try self.count(channel, loop)
            let sync = channel.pipeline.syncOperations
            let socket = SecureSocketHandler(
                loop: loop.sockets, tls: self.isManagement ? nil : self.settings.credentials?.current)
            try sync.addHandler(socket)
            let gate = UpgradeGate(loop: loop, allowsUpgrade: !self.isManagement)
            let parts = NIOLoopBound((socket, gate, loop), eventLoop: channel.eventLoop)
            let upgrader = WebSocketUpgrader { channel in
                channel.eventLoop.makeCompletedFuture {
                    let (socket, gate, loop) = parts.value
                    try Self.startSession(channel, socket, gate, loop, logger)
                    return nil
                }
            }
            var configuration = NIOUpgradableHTTPServerPipelineConfiguration<HTTPConnection?>(
                upgradeConfiguration: NIOTypedHTTPServerUpgradeConfiguration(
                    upgraders: [upgrader],
                    notUpgradingCompletionHandler: { channel in
                        channel.eventLoop.makeCompletedFuture {
                            let (socket, _, loop) = parts.value
                            return try Self.serveHTTP(channel, socket, loop, logger)
                        }
                    }))
            configuration.enablePipelining = false
            configuration.enableErrorHandling = false
            configuration.enableResponseHeaderValidation = false
            configuration.decoderConfiguration.maxHeaderListSize = Self.longestHead
            configuration.decoderConfiguration.maxHeaderFieldSize = Self.longestHead
            configuration.decoderConfiguration.maxHeaderFieldCount = Self.mostHeaders
            let outcome = try sync.configureUpgradableHTTPServerPipeline(configuration: configuration)
            try sync.addHandler(
                gate, position: .before(sync.handler(type: NIOTypedHTTPServerUpgradeHandler<HTTPConnection?>.self)))
            try sync.addHandler(
                Arrival(loop: loop, isSecure: !self.isManagement && self.settings.credentials != nil))
            return Value(channel: channel, http: outcome)
        }
    }

    /// Counts the connection for as long as it is open, or refuses it.
    private func count(_ channel: any Channel, _ loop: LoopState) throws {
        let (load, quotas) = (loop.load, loop.quotas)
        load.socketOpened()
        channel.closeFuture.whenComplete { _ in load.socketClosed() }
        guard !self.isManagement else { return }
        loop.add(visitor: channel)
        loop.counts.add(.connectionsAccepted)
        let peer = channel.remoteAddress
        guard !self.settings.trustedProxies.trusts(peer), let address = ClientAddress(peer) else { return }
        guard quotas.enter(address) else {
            loop.counts.add(.connectionsRefusedByAddress)
            throw TooMany()
        }
        channel.closeFuture.whenComplete { _ in quotas.leave(address) }
    }

    private static func startSession(
        _ channel: any Channel, _ socket: SecureSocketHandler, _ gate: UpgradeGate, _ loop: LoopState, _ logger: Logger
    ) throws {
        let sync = channel.pipeline.syncOperations
        try self.removeFirstRequestHandlers(sync)
        // After the session is there: a gateway that is stopping waits until it has neither.
        defer { loop.remove(visitor: channel) }
        switch gate.admission {
        case .session(let admitted):
            try sync.addHandler(
                Session(loop: loop, socket: socket, address: gate.address, admitted: admitted, logger: logger))
        case .ticket(let ticket):
            try sync.addHandler(
                Session(loop: loop, socket: socket, address: gate.address, ticket: ticket, logger: logger))
        case .token(let token):
            try sync.addHandler(
                Session(loop: loop, socket: socket, address: gate.address, token: token, logger: logger))
        case .echo: try sync.addHandler(EchoSession(socket: socket))
        case .refused, nil: preconditionFailure("the gate lets only what it admits go on to the upgrade")
        }
    }

    private static func serveHTTP(
        _ channel: any Channel, _ socket: SecureSocketHandler, _ loop: LoopState, _ logger: Logger
    ) throws -> HTTPConnection? {
        let sync = channel.pipeline.syncOperations
        try self.removeFirstRequestHandlers(sync)
        // The client may end its side and still wait for the answer.
        try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        try sync.addHandler(AnswerStall(loop: loop, socket: socket))
        try sync.addHandler(HTTP1ToHTTPServerCodec(secure: true))
        try sync.addHandler(HTTPConnectionStateHandler(idleTimeout: .seconds(Self.idleSeconds), logger: logger))
        return try HTTPConnection(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
    }

    private static func removeFirstRequestHandlers(_ sync: ChannelPipeline.SynchronousOperations) throws {
        sync.removeHandler(context: try sync.context(handlerType: Arrival.self), promise: nil)
        sync.removeHandler(context: try sync.context(handlerType: UpgradeGate.self), promise: nil)
    }

    func handle(value: Value, logger: Logger) async {
        guard let connection = try? await value.http.get() else { return }
        await self.handleHTTP(asyncChannel: connection, logger: logger)
    }
}

/// The state of each event loop, found by the loop.
struct LoopMap: Sendable {
    private let states: [ObjectIdentifier: NIOLoopBound<LoopState>]
    private let all: [(loop: any EventLoop, state: NIOLoopBound<LoopState>)]

    init(_ states: [NIOLoopBound<LoopState>], loops: [any EventLoop]) {
        self.all = Array(zip(loops, states))
        self.states = Dictionary(uniqueKeysWithValues: zip(loops.map { ObjectIdentifier($0) }, states))
    }

    /// Must be called on `eventLoop`, which must be one of the gateway's.
    subscript(eventLoop: any EventLoop) -> LoopState {
        guard let state = self.states[ObjectIdentifier(eventLoop)] else {
            preconditionFailure("a connection on a loop that is not the gateway's")
        }
        return state.value
    }

    /// Runs on the loop that keeps what is known of a rider between its requests: always the same one.
    func atHome<Value: Sendable>(
        of rider: PersonID, _ body: @escaping @Sendable (LoopState) -> EventLoopFuture<Value>
    ) -> EventLoopFuture<Value> {
        let (loop, state) = self.all[Int(UInt(bitPattern: rider.hashValue) % UInt(self.all.count))]
        return loop.flatSubmit { body(state.value) }
    }
}

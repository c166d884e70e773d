// The pipeline of an accepted connection: TLS, then HTTP, and from there either the router or a WebSocket session.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1
internal import NIOWebSocket
internal import SecureSocket

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

    /// Bytes of a request's headers, at most; with more the connection is closed.
    static let longestHead = 8192
    /// Headers of one request, at most.
    static let mostHeaders = 64
    /// Seconds a connection may be idle between two requests.
    static let idleSeconds = 60

    /// - Returns: the connection for the router, or `nil` once it has become a session.
    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let loop = self.loops[channel.eventLoop]
            let sync = channel.pipeline.syncOperations
            let socket = SecureSocketHandler(loop: loop.sockets, tls: self.settings.credentials?.current)
            try sync.addHandler(socket)
            let gate = UpgradeGate(tokens: self.settings.tokens)
            let parts = NIOLoopBound((socket, gate, loop), eventLoop: channel.eventLoop)
            let upgrader = NIOTypedWebSocketServerUpgrader<HTTPConnection?>(
                maxFrameSize: self.settings.limits.messageBytes, enableAutomaticErrorHandling: false,
                shouldUpgrade: { channel, _ in
                    channel.eventLoop.makeSucceededFuture(["sec-websocket-protocol": Limits.subprotocol])
                },
                upgradePipelineHandler: { channel, _ in
                    channel.eventLoop.makeCompletedFuture {
                        let (socket, gate, loop) = parts.value
                        let sync = channel.pipeline.syncOperations
                        try Self.removeFirstRequestHandlers(sync)
                        try sync.addHandler(Session(loop: loop, socket: socket, grant: gate.grant, logger: logger))
                        return nil
                    }
                })
            var configuration = NIOUpgradableHTTPServerPipelineConfiguration<HTTPConnection?>(
                upgradeConfiguration: NIOTypedHTTPServerUpgradeConfiguration(
                    upgraders: [upgrader],
                    notUpgradingCompletionHandler: { channel in
                        channel.eventLoop.makeCompletedFuture { try Self.serveHTTP(channel, logger) }
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
            try sync.addHandler(FirstRequestDeadline(seconds: self.settings.limits.firstRequestSeconds))
            return Value(channel: channel, http: outcome)
        }
    }

    private static func serveHTTP(_ channel: any Channel, _ logger: Logger) throws -> HTTPConnection? {
        let sync = channel.pipeline.syncOperations
        try self.removeFirstRequestHandlers(sync)
        // The client may end its side and still wait for the answer.
        try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        try sync.addHandler(HTTP1ToHTTPServerCodec(secure: true))
        try sync.addHandler(HTTPConnectionStateHandler(idleTimeout: .seconds(Self.idleSeconds), logger: logger))
        return try HTTPConnection(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
    }

    private static func removeFirstRequestHandlers(_ sync: ChannelPipeline.SynchronousOperations) throws {
        sync.removeHandler(context: try sync.context(handlerType: FirstRequestDeadline.self), promise: nil)
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

    init(_ states: [NIOLoopBound<LoopState>], loops: [any EventLoop]) {
        self.states = Dictionary(uniqueKeysWithValues: zip(loops.map { ObjectIdentifier($0) }, states))
    }

    /// Must be called on `eventLoop`, which must be one of the gateway's.
    subscript(eventLoop: any EventLoop) -> LoopState {
        guard let state = self.states[ObjectIdentifier(eventLoop)] else {
            preconditionFailure("a connection on a loop that is not the gateway's")
        }
        return state.value
    }
}

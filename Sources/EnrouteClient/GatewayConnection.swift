// A WebSocket to a gateway that is open for as long as a closure runs.

public import EnrouteWire
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import NIOWebSocket
internal import NetworkErrors

/// A WebSocket to a gateway with the subprotocol `enroute.v1`.
///
/// ```swift
/// try await GatewayConnection.open("wss://gateway.example", token: token) { connection in
///     try await connection.send(.subscribe(job: job, since: nil))
///     for try await message in connection.messages { … }
/// }
/// ```
public struct GatewayConnection: Sendable {
    /// The messages of the gateway, in order. Throws `ClientError` when the gateway closes the connection. Can be
    /// iterated once.
    public struct Messages: AsyncSequence, Sendable {
        public typealias Element = ServerMessage
        let inbound: NIOAsyncChannelInboundStream<[UInt8]>

        public struct AsyncIterator: AsyncIteratorProtocol {
            var inbound: NIOAsyncChannelInboundStream<[UInt8]>.AsyncIterator

            public mutating func next() async throws -> ServerMessage? {
                try await self.next(isolation: nil)
            }

            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws -> ServerMessage? {
                // Unknown messages of a newer gateway are ignored.
                while let bytes = try await self.inbound.next(isolation: actor) {
                    if let message = try? bytes.withUnsafeBytes({ try ServerMessage($0) }) { return message }
                }
                return nil
            }
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(inbound: self.inbound.makeAsyncIterator()) }
    }

    /// Timeouts for opening the socket, and then for the response to the upgrade request.
    private static let (connectWithin, upgradeWithin) = (TimeAmount.seconds(5), TimeAmount.seconds(10))

    public let messages: Messages
    private let outbound: NIOAsyncChannelOutboundWriter<[UInt8]>

    /// Sends a message. Returns when the socket accepts more data.
    ///
    /// - Parameter ref: repeated by the `ok` or `error` that answers the message.
    public func send(_ message: ClientMessage, ref: MessageRef? = nil) async throws {
        try await self.outbound.write(ClientRequest(message, ref: ref).encoded)
    }

    /// Sends any text, for tests of malformed messages.
    package func send(text: [UInt8]) async throws { try await self.outbound.write(text) }

    /// Connects, runs `body` and closes the connection.
    ///
    /// - Parameters:
    ///   - url: `wss://host[:port][/prefix]`, or `ws://…` without TLS.
    ///   - token: sent in the upgrade request as `Authorization: Bearer`. Without it, `body` has to send `auth` first.
    ///   - trust: how to verify the gateway's certificate.
    /// - Throws: `ClientError`, or the error that `body` throws.
    public nonisolated(nonsending) static func open<Result>(
        _ url: String, token: String? = nil, trust: ServerTrust = .system,
        _ body: (GatewayConnection) async throws -> Result
    ) async throws -> Result {
        let address = try GatewayAddress(url)
        let ending = NIOLockedValueBox<ClientError?>(nil)
        let channel = try await self.connect(address, url: url, token: token, trust: trust, ending)
        do {
            return try await channel.executeThenClose { inbound, outbound in
                try await body(GatewayConnection(messages: Messages(inbound: inbound), outbound: outbound))
            }
        } catch let error as ChannelError where error == .ioOnClosedChannel {
            throw ending.withLockedValue { $0 } ?? ClientError.connectionLost
        }
    }

    private static func connect(
        _ address: GatewayAddress, url: String, token: String?, trust: ServerTrust,
        _ ending: NIOLockedValueBox<ClientError?>
    ) async throws -> NIOAsyncChannel<[UInt8], [UInt8]> {
        let tls = address.isSecure ? try NIOSSLContext(configuration: trust.configuration) : nil
        let (socket, upgraded): (any Channel, EventLoopFuture<NIOAsyncChannel<[UInt8], [UInt8]>>)
        do {
            (socket, upgraded) = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connectTimeout(Self.connectWithin)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connect(host: address.host, port: address.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let sync = channel.pipeline.syncOperations
                        if let tls {
                            let name = address.isName ? address.host : nil
                            try sync.addHandler(NIOSSLClientHandler(context: tls, serverHostname: name))
                        }
                        return (channel, try Self.upgrade(sync, address, token, ending))
                    }
                }
        } catch {
            throw ClientError.unreachable(url: url, reason: ConnectFailure.known(error) ?? "\(error)")
        }
        let late = ClientError.unreachable(url: url, reason: "no response to the upgrade request in time")
        let limit = socket.eventLoop.scheduleTask(in: Self.upgradeWithin) {
            ending.withLockedValue { $0 = late }
            socket.close(promise: nil)
        }
        defer { limit.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await upgraded.get()
            } onCancel: {
                socket.close(promise: nil)
            }
        } catch let error as ClientError {
            throw error
        } catch {
            try Task.checkCancellation()
            throw ending.withLockedValue { $0 }
                ?? ClientError.unreachable(url: url, reason: ConnectFailure.known(error) ?? "\(error)")
        }
    }

    private static func upgrade(
        _ sync: ChannelPipeline.SynchronousOperations, _ address: GatewayAddress, _ token: String?,
        _ ending: NIOLockedValueBox<ClientError?>
    ) throws -> EventLoopFuture<NIOAsyncChannel<[UInt8], [UInt8]>> {
        let answer = NIOLoopBound(UpgradeAnswer(), eventLoop: sync.eventLoop)
        let upgrader = NIOTypedWebSocketClientUpgrader<NIOAsyncChannel<[UInt8], [UInt8]>>(
            maxFrameSize: 1 << 20,
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    channel.pipeline.syncOperations.removeHandler(answer.value, promise: nil)
                    try channel.pipeline.syncOperations.addHandler(ClientFrameHandler(ending: ending))
                    return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
                }
            })
        var headers: HTTPHeaders = [
            "host": address.authority, "content-length": "0",
            "sec-websocket-protocol": Limits.subprotocol,
        ]
        if let token { headers.add(name: "authorization", value: "Bearer \(token)") }
        var configuration = NIOUpgradableHTTPClientPipelineConfiguration(
            upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
                upgradeRequestHead: HTTPRequestHead(
                    version: .http1_1, method: .GET, uri: address.socketPath, headers: headers),
                upgraders: [upgrader],
                notUpgradingCompletionHandler: { channel in
                    channel.close(promise: nil)
                    return channel.eventLoop.makeFailedFuture(
                        ClientError.upgradeRefused(status: answer.value.status))
                }))
        // The gateway may send `welcome` in the same packet as its response to the upgrade request.
        configuration.leftOverBytesStrategy = .forwardBytes
        let outcome = try sync.configureUpgradableHTTPClientPipeline(configuration: configuration)
        typealias Upgrade = NIOTypedHTTPClientUpgradeHandler<NIOAsyncChannel<[UInt8], [UInt8]>>
        try sync.addHandler(answer.value, position: .before(sync.handler(type: Upgrade.self)))
        return outcome
    }
}

/// Records the HTTP status of the response to the upgrade request.
private final class UpgradeAnswer: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    private(set) var status: UInt = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // WebSocket frames may follow the head immediately; they are not HTTP.
        if self.status == 0, case .head(let head) = self.unwrapInboundIn(data) { self.status = head.status.code }
        context.fireChannelRead(data)
    }
}

extension ServerTrust {
    fileprivate var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        switch self {
        case .system: break
        case .authorities(let file): configuration.trustRoots = .file(file)
        case .anybody: configuration.certificateVerification = .none
        }
        return configuration
    }
}

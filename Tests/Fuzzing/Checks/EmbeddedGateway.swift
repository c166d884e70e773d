// A gateway without a listener, TLS and Redis: one event loop that runs only when told to, and its connections. The
// handlers are the real ones, assembled by the real `Connections`. Without Redis, every query fails immediately with
// `unavailable`.

import Access
import EnrouteWire
import Foundation
import JWTKit
import LiveState
import Logging
import NIOCore
import NIOEmbedded
import Redis
import SecureSocket

@testable import ETA
@testable import Gateway
@testable import Realtime
@testable import TrafficControl

/// Confined to the thread that created it.
final class EmbeddedGateway {
    let eventLoop = EmbeddedEventLoop()
    let state: LoopState
    let settings: GatewaySettings
    private let connections: Connections

    /// Small limits, so that short inputs reach them.
    static let messageBytes = 300
    static let messageFragments = 4

    init() {
        var settings = Self.settings
        let rates = 1 << 40
        settings.limits.messageBytes = Self.messageBytes
        settings.limits.messageFragments = Self.messageFragments
        // Anything that depends on the time of day or on earlier inputs would make findings irreproducible.
        (settings.limits.messagesPerSecond, settings.limits.messagesBurst) = (rates, rates)
        (settings.limits.messagesPerPersonPerSecond, settings.limits.messagesPerPersonBurst) = (rates, rates)
        (settings.limits.messagesPerAddressPerSecond, settings.limits.messagesPerAddressBurst) = (rates, rates)
        settings.limits.availabilityPerMinute = rates
        (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (rates, rates)
        (settings.limits.refusedTokensPerAddressPerSecond, settings.limits.refusedTokensPerAddressBurst) = (
            rates, rates
        )
        self.settings = settings
        self.state = LoopState(
            eventLoop: self.eventLoop, index: 0, loops: 1, settings: settings.realtime,
            quotas: Quotas(limits: settings.limits),
            load: SharedLoad(loops: 1), revocations: Revocations(), routing: .alone,
            faultMonitors: RedisFaultMonitors(keyspace: settings.liveState.keyspace, logger: Self.logger),
            logger: Self.logger)
        self.connections = Connections(
            responder: { _, _ in }, settings: settings,
            loops: LoopMap([NIOLoopBound(self.state, eventLoop: self.eventLoop)], loops: [self.eventLoop]),
            mismatches: ProxyMismatchLog(logger: Self.logger))
    }

    static let logger = Logger(label: "fuzz", factory: { _ in SwiftLogNoOpLogHandler() })

    private static let settings: GatewaySettings = {
        let nowhere = RedisAddress(endpoint: .unix(path: "/nowhere"))
        var settings = GatewaySettings(
            host: "127.0.0.1", port: 0, credentials: nil, live: nowhere, ledger: nowhere,
            tokens: TokenVerifier(keys: [.init(kid: nil, algorithm: ForgeableAlgorithm())], issuer: "i", audience: "a"))
        settings.hasEchoEndpoint = true
        // These networks are valid.
        settings.trustedProxies = (try? TrustedProxies(["10.0.0.0/8"])) ?? .none
        return settings
    }()

    /// A signature that can be forged, so that the fuzzer creates valid tokens.
    private struct ForgeableAlgorithm: JWTAlgorithm {
        static let signature = Array("signed".utf8)
        let name = "HS256"
        func sign(_ plaintext: some DataProtocol) -> [UInt8] { Self.signature }
        func verify(_ signature: some DataProtocol, signs plaintext: some DataProtocol) -> Bool {
            signature.elementsEqual(Self.signature)
        }
    }

    /// A connected channel without handlers.
    private func channel() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(loop: self.eventLoop)
        channel.remoteAddress = try SocketAddress(ipAddress: "10.0.0.1", port: 1)
        return channel
    }

    /// A connection as accepted by the listener.
    ///
    /// - Parameter onFirstRequest: called with the connection when it sends an ordinary HTTP request.
    func accept(onFirstRequest: @escaping @Sendable (HTTPConnection) -> Void) throws -> EmbeddedChannel {
        let channel = try self.channel()
        let set = self.connections.setup(channel: channel, logger: Self.logger, onFirstRequest: onFirstRequest)
        try channel.connect(to: SocketAddress(ipAddress: "10.0.0.1", port: 1)).wait()
        try set.wait()
        return channel
    }

    /// A connection that is already a session.
    ///
    /// - Parameter role: the role that signed in with the upgrade; `nil` for none.
    func session(_ role: Role?) throws -> EmbeddedChannel {
        let channel = try self.channel()
        try channel.connect(to: SocketAddress(ipAddress: "10.0.0.1", port: 1)).wait()
        let sync = channel.pipeline.syncOperations
        let socket = SecureSocketHandler(loop: self.state.sockets, tls: nil)
        try sync.addHandler(socket)
        // Added too late to see the channel become active.
        sync.fireChannelActive()
        let admitted = role.map { AuthenticatedClient(Grant(person: PersonID("p")!, role: $0)) }
        try sync.addHandler(
            Session(
                loop: self.state, socket: socket, address: ClientAddress("10.0.0.2"), admitted: admitted,
                logger: Self.logger))
        self.eventLoop.run()
        return channel
    }
}

extension EmbeddedChannel {
    /// The bytes sent since the last call.
    func sent() -> [UInt8] {
        var bytes: [UInt8] = []
        while let buffer = try? self.readOutbound(as: ByteBuffer.self) { bytes += Array(buffer.readableBytesView) }
        return bytes
    }

    /// Receives bytes and then runs the loop until it is idle.
    func receive(_ piece: ArraySlice<UInt8>) {
        // An unhandled error is not a finding by itself; what the connection does next is checked.
        _ = try? self.writeInbound(ByteBuffer(bytes: piece))
        self.embeddedEventLoop.run()
    }
}

// The transport on Linux and servers: SwiftNIO sockets, with TLS by NIOSSL. The trait `NIO` of the package enables it.

#if NIO
    public import Enroute
    public import Foundation
    internal import NIOCore
    internal import NIOHTTP1
    internal import NIOPosix
    internal import NIOSSL
    internal import NIOWebSocket

    /// WebSockets and HTTP with SwiftNIO.
    public struct NIOTransport: Transport {
        /// How the gateway's certificate is verified.
        public enum Trust: Sendable {
            /// By the system's certificate authorities.
            case system
            /// By the certificate authorities in this PEM file.
            case authorities(file: String)
        }

        /// The time limit for opening a connection.
        static let connectWithin = TimeAmount.seconds(10)
        /// The maximum size of a received frame in bytes. Gateways send whole messages.
        static let mostFrameBytes = 8 << 20
        /// The maximum size of a response in bytes.
        static let mostAnswerBytes = 8 << 20

        private let trust: Trust

        public init(trust: Trust = .system) { self.trust = trust }

        public func connect(to url: URL, subprotocol: String) async throws -> any TransportSocket {
            let address = try Address(url)
            let (events, continuation) = NIOSocket.stream()
            let answer = AnswerStatus()
            let open = try await self.open(address) { channel in
                let upgrader = NIOTypedWebSocketClientUpgrader<(any Channel)?>(
                    maxFrameSize: Self.mostFrameBytes,
                    upgradePipelineHandler: { channel, _ in
                        channel.eventLoop.makeCompletedFuture {
                            let sync = channel.pipeline.syncOperations
                            sync.removeHandler(context: try sync.context(handlerType: StatusHandler.self), promise: nil)
                            try sync.addHandler(SocketHandler(continuation))
                            return channel
                        }
                    })
                var configuration = NIOUpgradableHTTPClientPipelineConfiguration(
                    upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
                        upgradeRequestHead: HTTPRequestHead(
                            version: .http1_1, method: .GET, uri: address.path,
                            headers: [
                                "host": address.authority, "content-length": "0",
                                "sec-websocket-protocol": subprotocol,
                            ]), upgraders: [upgrader],
                        notUpgradingCompletionHandler: { channel in channel.close().map { nil } }))
                // The gateway may send frames in the same packet as its response to the upgrade request.
                configuration.leftOverBytesStrategy = .forwardBytes
                let sync = channel.pipeline.syncOperations
                let upgraded = try sync.configureUpgradableHTTPClientPipeline(configuration: configuration)
                typealias Upgrade = NIOTypedHTTPClientUpgradeHandler<(any Channel)?>
                try sync.addHandler(
                    StatusHandler(answer), position: .before(sync.handler(type: Upgrade.self)))
                return upgraded
            }
            guard let open else {
                throw TransportError("The gateway answered the upgrade with HTTP status \(answer.value).")
            }
            return NIOSocket(channel: open, events: events)
        }

        public func send(_ request: TransportRequest) async throws -> TransportResponse {
            let address = try Address(request.url)
            return try await self.open(address) { channel in
                let promise = channel.eventLoop.makePromise(of: TransportResponse.self)
                try channel.pipeline.syncOperations.addHTTPClientHandlers()
                try channel.pipeline.syncOperations.addHandler(AnswerHandler(request, address, promise))
                return promise.futureResult
            }
        }

        /// Connects and waits for a value. Closes the connection when the task is cancelled, so that a gateway that
        /// never responds does not keep a socket open.
        private func open<Value: Sendable>(
            _ address: Address, _ configure: @escaping @Sendable (any Channel) throws -> EventLoopFuture<Value>
        ) async throws -> Value {
            let tls = address.isSecure ? try NIOSSLContext(configuration: self.configuration) : nil
            let (channel, value) = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connectTimeout(Self.connectWithin)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connect(host: address.host, port: address.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if let tls {
                            // In TLS, SNI contains only names and no addresses (RFC 6066 section 3).
                            let name = address.isName ? address.host : nil
                            try channel.pipeline.syncOperations.addHandler(
                                NIOSSLClientHandler(context: tls, serverHostname: name))
                        }
                        return (channel, try configure(channel))
                    }
                }
            return try await withTaskCancellationHandler {
                try await value.get()
            } onCancel: {
                channel.close(promise: nil)
            }
        }

        private var configuration: TLSConfiguration {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.applicationProtocols = ["http/1.1"]
            if case .authorities(let file) = self.trust { configuration.trustRoots = .file(file) }
            return configuration
        }
    }

    /// The host, port and path of a URL.
    struct Address: Sendable {
        let host: String
        let port: Int
        let path: String
        let isSecure: Bool

        init(_ url: URL) throws {
            guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let host = parts.host,
                let scheme = parts.scheme, ["ws", "wss", "http", "https"].contains(scheme)
            else { throw TransportError("\(url.absoluteString) is not the address of a gateway.") }
            self.isSecure = scheme == "wss" || scheme == "https"
            self.host = host.trimmingCharacters(in: ["[", "]"])
            self.port = parts.port ?? (self.isSecure ? 443 : 80)
            let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
            self.path = parts.percentEncodedQuery.map { "\(path)?\($0)" } ?? path
        }

        var authority: String { self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)" }

        var isName: Bool { !self.host.contains(":") && !self.host.allSatisfy { $0.isNumber || $0 == "." } }
    }
#endif

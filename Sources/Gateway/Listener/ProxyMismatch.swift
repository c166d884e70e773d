// Detects that a balancer and its gateway are configured differently: only one of the two uses the PROXY protocol.
// Clients see only a closed connection, so the log says what to change.

internal import Logging
internal import NIOCore
internal import Synchronization
internal import Telemetry
internal import TrafficControl

/// How the start of a connection differs from what `GatewaySettings.proxyProtocol` says.
enum ProxyMismatch: Hashable, CaseIterable {
    /// A header is required, and the connection starts with something else.
    case missing
    /// A header is required, and the received one is not valid.
    case malformed
    /// A header is required, and it did not arrive in time.
    case timedOut
    /// The peer is not one of the balancers that may send a header.
    case untrusted
    /// No header is expected, and the connection starts with one.
    case unexpected

    var message: Logger.Message {
        switch self {
        case .missing: "connection closed; it has no PROXY protocol header"
        case .malformed: "connection closed; its PROXY protocol header is malformed"
        case .timedOut: "connection closed; its PROXY protocol header did not arrive in time"
        case .untrusted: "connection closed; its address may not send a PROXY protocol header"
        case .unexpected: "connection starts with a PROXY protocol header, which is not expected"
        }
    }

    /// What an operator should do.
    var remedy: String {
        switch self {
        case .missing, .malformed:
            "Let the balancer send it (HAProxy: send-proxy-v2, nginx: proxy_protocol on), or set the gateway's PROXY "
                + "protocol to off."
        case .timedOut:
            "Let the balancer start each connection with the PROXY protocol, and check the health on the management port."
        case .untrusted: "If the address is a balancer's, add it to those that may send the PROXY protocol."
        case .unexpected:
            "Set the gateway's PROXY protocol to required, or remove send-proxy-v2 or proxy_protocol from the balancer."
        }
    }
}

/// Logs mismatches, each kind at most once a minute. Thread-safe.
final class ProxyMismatchLog: Sendable {
    private let logger: Logger
    private let throttles = Mutex<[ProxyMismatch: LogThrottle]>([:])

    init(logger: Logger) { self.logger = logger }

    /// Inspects the first bytes of a connection that should start without a PROXY protocol header. TLS or HTTP then rejects a
    /// header.
    func inspect(_ firstBytes: ByteBuffer, from peer: SocketAddress?) {
        if firstBytes.withUnsafeReadableBytes(ProxyHeader.isAnnounced(by:)) { self.record(.unexpected, from: peer) }
    }

    func record(_ mismatch: ProxyMismatch, from peer: SocketAddress?) {
        let unlogged = self.throttles.withLock {
            $0[mismatch, default: LogThrottle()].record(at: NIODeadline.now().uptimeNanoseconds)
        }
        guard let unlogged else { return }
        self.logger.warning(
            mismatch.message,
            metadata: [
                LogKey.peer: "\(peer?.ipAddress ?? "unknown")", LogKey.count: "\(unlogged + 1)",
                LogKey.reason: "\(mismatch.remedy)",
            ])
    }
}

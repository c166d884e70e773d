// The errors of the client library, for connections that fail or end.

/// Why a connection failed or ended.
public enum ClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The URL is not `wss://host[:port][/prefix]` (or `ws://` without TLS).
    case malformedURL(String)
    /// The connection failed, or TLS failed.
    case unreachable(url: String, reason: String)
    /// The gateway answered the upgrade request with an HTTP status other than 101.
    case upgradeRefused(status: UInt)
    /// The gateway closed the connection with this code and reason (RFC 6455). `CloseCode.reconnects(after:)`
    /// says whether to reconnect.
    case closed(code: UInt16, reason: String)
    /// The connection ended without a close frame.
    case connectionLost

    public var description: String {
        switch self {
        case .malformedURL(let url):
            "Invalid gateway URL \(url). Use wss://host[:port], or ws://host[:port] without TLS, with a port from 1 to 65535. "
                + "A path prefix may follow, but not /v1."
        case .unreachable(let url, let reason):
            "Cannot connect to \(url): \(reason). Check that a gateway is running there."
        case .upgradeRefused(let status) where status >= 500: "The gateway is unavailable (HTTP \(status))."
        case .upgradeRefused(429): "The gateway accepts no more connections from here at the moment (HTTP 429)."
        case .upgradeRefused(let status):
            "The gateway refused the connection with HTTP status \(status). Check the token and the URL."
        case .closed(let code, let reason): "The gateway closed the connection: \(code) \(reason)."
        case .connectionLost: "The connection was lost."
        }
    }
}

/// How the client verifies the gateway's certificate.
public enum ServerTrust: Sendable {
    /// Trusts the system's certificate authorities.
    case system
    /// Trusts the certificate authorities in this PEM file.
    case authorities(file: String)
    /// Trusts every certificate. For development only.
    case anybody
}

// Why a client has no connection.

/// What went wrong, and what to do about it.
public enum ClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The URL is not `wss://host[:port]` (or `ws://` where there is no TLS).
    case malformedURL(String)
    /// Nobody listens there, or TLS failed.
    case unreachable(url: String, reason: String)
    /// The gateway answered the upgrade with another status than 101.
    case upgradeRefused(status: UInt)
    /// The gateway closed the connection: RFC 6455 code and reason. `CloseCode.reconnects` says whether to come back.
    case closed(code: UInt16, reason: String)
    /// The connection ended without a close frame.
    case connectionLost

    public var description: String {
        switch self {
        case .malformedURL(let url): "\(url) is not a gateway's URL. It should be wss://host[:port]."
        case .unreachable(let url, let reason): "\(url) can not be reached: \(reason). Is the gateway running there?"
        case .upgradeRefused(let status):
            "The gateway refused the connection with HTTP status \(status). Check the token."
        case .closed(let code, let reason): "The gateway closed the connection: \(code) \(reason)."
        case .connectionLost: "The connection ended."
        }
    }
}

/// How a gateway proves who it is.
public enum ServerTrust: Sendable {
    /// A certificate of the system's authorities.
    case system
    /// A certificate signed by one of those in this PEM file.
    case authorities(file: String)
    /// Anybody: for development only.
    case anybody
}

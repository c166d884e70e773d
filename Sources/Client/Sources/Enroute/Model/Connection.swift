// The credential, and the state of the connection that an app sees.

public import Foundation

/// How the client signs in.
public enum Credential: Hashable, Sendable {
    /// A JWT that your own service issued.
    case token(String)
    /// The secret of a tracking link: the part of its address after `#`.
    case trackingLink(String)
}

/// The state of the connection to the gateway.
public enum ConnectionState: Hashable, Sendable {
    case stopped
    case connecting
    /// Signed in. `isDegraded`: the gateway cannot reach Redis, so the views may be outdated. `isSilent`: a message of
    /// the gateway is overdue, and it has not answered a ping within 4 s.
    case open(isDegraded: Bool, isSilent: Bool)
    /// Disconnected. The client reconnects at `until`, or when the device is online again.
    case waiting(until: Date?, lastClose: CloseReason?)
    /// Reconnecting would not help: sign in again, or fix the request. `start()` tries again.
    case refused(CloseReason)
    /// The app is in the background: the socket is closed and locations are reported over REST.
    case background

    /// Whether messages can be exchanged.
    public var isOpen: Bool { if case .open = self { true } else { false } }
}

/// Why the last connection closed.
public struct CloseReason: Hashable, Sendable {
    /// A close code of the protocol; 1006 if the connection ended without one.
    public let code: UInt16
    public let reason: String

    public init(code: UInt16, reason: String) { (self.code, self.reason) = (code, reason) }
}

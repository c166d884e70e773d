// What a secure socket tells the rest of its pipeline, besides bytes.

/// The end of a connection that broke the rules of TLS. Expected: the internet sends all sorts of things to an open port.
/// Fired once through `errorCaught`; the socket is closed right after it. Not safe to go on; the peer may connect again.
package enum TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No connection came about: no TLS at all, no version or cipher in common, or the peer does not accept our certificate.
    case handshakeFailed(String)
    /// The connection was established, and what came afterwards can not be.
    case protocolViolation(String)

    package var description: String {
        switch self {
        case .handshakeFailed(let reason): "TLS handshake failed: \(reason)"
        case .protocolViolation(let reason): "TLS connection failed: \(reason)"
        }
    }
}

/// Fired as a user inbound event.
package enum SecureSocketEvent: Hashable, Sendable {
    /// The TLS handshake is over; fired before the first byte of the peer. Never fired by a plain socket.
    case handshakeCompleted
}

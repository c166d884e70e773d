// The errors and events that a secure socket fires in its pipeline, in addition to bytes.

/// The end of a connection that violated TLS. Expected: the internet sends all kinds of bytes to an open port. Fired once
/// through `errorCaught`; the socket is closed right afterwards. The connection cannot be used; the peer may connect again.
package enum TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The connection was not established: not TLS, no common version or cipher, or the peer rejects our certificate.
    case handshakeFailed(String)
    /// The connection was established and then violated the protocol.
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
    /// The TLS handshake completed; fired before the first byte of the peer. Never fired by a plain socket.
    case handshakeCompleted
    /// Bytes that were sent while a read was handled are waiting for the kernel (`SecureSocketHandler.gathersAnswers`).
    case unsent
}

// Readable reasons for failed connections. NIO's own description of such an error dumps its fields.

internal import NIOCore
internal import NIOPosix

private import Glibc

package enum ConnectFailure {
    /// Why TCP or TLS failed, without an address.
    ///
    /// - Returns: `nil` for other errors.
    package static func known(_ error: any Error) -> String? {
        switch error {
        case is NIOConnectionError, is IOError, ChannelError.connectTimeout: self.reason(error)
        default: TLSCodes.reason(error)
        }
    }

    /// Whether the error means that TCP could not connect. Does not contain the errors of an open connection, on which a
    /// request may have been sent.
    package static func isUnconnected(_ error: any Error) -> Bool {
        guard let error = error as? IOError else { return false }
        return Self.unconnectedCodes.contains(error.errnoCode)
    }

    /// See connect(2) and socket(2): nothing listens, no route, no answer, no such address or protocol, or a firewall.
    private static let unconnectedCodes: Set<CInt> = [
        ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, ETIMEDOUT, EADDRNOTAVAIL, EAFNOSUPPORT, EACCES,
        EPERM,
    ]

    /// The distinct reasons: a name with two addresses usually fails twice for the same reason.
    package static func reason(_ error: any Error) -> String {
        guard let error = error as? NIOConnectionError else { return Self.text(error) }
        var reasons: [String] = []
        for failure in error.connectionErrors {
            let text = Self.text(failure.error)
            if !reasons.contains(text) { reasons.append(text) }
        }
        guard reasons.isEmpty else { return reasons.joined(separator: "; ") }
        return "the name of the host cannot be resolved"
    }

    private static func text(_ error: any Error) -> String {
        switch error {
        case let error as IOError: Self.text(errno: error.errnoCode)
        case ChannelError.connectTimeout(let time): "no connection within \(time.nanoseconds / 1_000_000) ms"
        default: "\(error)"
        }
    }

    /// Returns the C library's text, such as `Connection refused`.
    private static func text(errno code: CInt) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

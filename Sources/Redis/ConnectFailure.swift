// A readable reason why a connection failed. NIO's own description of the error dumps its fields.

internal import NIOCore
internal import NIOPosix

private import Glibc

enum ConnectFailure {
    /// The distinct reasons: a name with two addresses usually fails twice for the same reason.
    static func reason(_ error: any Error) -> String {
        guard let error = error as? NIOConnectionError else { return Self.text(error) }
        var reasons: [String] = []
        for failure in error.connectionErrors {
            let text = Self.text(failure.error)
            if !reasons.contains(text) { reasons.append(text) }
        }
        guard reasons.isEmpty else { return reasons.joined(separator: "; ") }
        return "the name \(error.host) cannot be looked up"
    }

    private static func text(_ error: any Error) -> String {
        switch error {
        case let error as IOError: Self.text(errno: error.errnoCode)
        case ChannelError.connectTimeout(let time): "no connection within \(time.nanoseconds / 1_000_000) ms"
        default: "\(error)"
        }
    }

    /// `Connection refused`, as the C library words it.
    private static func text(errno code: CInt) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

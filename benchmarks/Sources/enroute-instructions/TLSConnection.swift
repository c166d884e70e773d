// A blocking TLS 1.3 connection to the gateway over libssl, which can resume a session. It is used for REST, where one request
// is answered before the next, and for counting handshakes.

import COpenSSL
import Foundation

/// The settings of connections.
final class TLSContext {
    fileprivate let pointer: OpaquePointer

    /// - Parameter file: PEM file of the trusted certificates.
    init(authorities file: String) throws {
        guard let pointer = SSL_CTX_new(TLS_client_method()) else { throw BenchFailure("libssl: no context") }
        self.pointer = pointer
        guard enroute_SSL_CTX_set_min_proto_version(pointer, TLS1_3_VERSION) == 1,
            SSL_CTX_load_verify_file(pointer, file) == 1
        else { throw BenchFailure("libssl does not accept \(file).") }
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
    }

    deinit { SSL_CTX_free(self.pointer) }
}

/// A session ticket.
final class TLSSession {
    fileprivate let pointer: OpaquePointer
    fileprivate init(_ pointer: OpaquePointer) { self.pointer = pointer }
    deinit { SSL_SESSION_free(self.pointer) }
}

final class TLSConnection {
    private let descriptor: Int32
    private let ssl: OpaquePointer
    private var isOpen = true
    private var buffer = [UInt8](repeating: 0, count: 1 << 15)

    /// Time limit for the gateway's next bytes.
    private static let longestWait = timeval(tv_sec: 20, tv_usec: 0)

    /// Connects and completes the handshake.
    init(port: Int, _ context: TLSContext, resuming session: TLSSession? = nil) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard let ssl = SSL_new(context.pointer) else { throw BenchFailure("libssl: no connection") }
        self.ssl = ssl
        var (address, wait, one) = (sockaddr_in(loopbackPort: port), Self.longestWait, Int32(1))
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(self.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw BenchFailure("Nothing listens on port \(port).") }
        SSL_set_fd(ssl, self.descriptor)
        if let session { SSL_set_session(ssl, session.pointer) }
        guard SSL_connect(ssl) == 1 else { throw BenchFailure("The TLS handshake failed: \(Self.lastError)") }
    }

    deinit {
        self.close()
        SSL_free(self.ssl)
    }

    /// Sends close_notify and closes the socket.
    func close() {
        guard self.isOpen else { return }
        self.isOpen = false
        SSL_shutdown(self.ssl)
        Glibc.close(self.descriptor)
    }

    var wasResumed: Bool { SSL_session_reused(self.ssl) == 1 }

    /// The newest ticket, which the gateway sends after the handshake: read something first.
    func session() throws -> TLSSession {
        guard let session = SSL_get1_session(self.ssl), SSL_SESSION_is_resumable(session) == 1 else {
            throw BenchFailure("The gateway sent no session ticket.")
        }
        return TLSSession(session)
    }

    func write(_ bytes: [UInt8]) throws {
        guard SSL_write(self.ssl, bytes, Int32(bytes.count)) == Int32(bytes.count) else {
            throw BenchFailure("The gateway closed a connection: \(Self.lastError)")
        }
    }

    /// At least one byte.
    func read() throws -> ArraySlice<UInt8> {
        let count = SSL_read(self.ssl, &self.buffer, Int32(self.buffer.count))
        guard count > 0 else { throw BenchFailure("The gateway sent nothing: \(Self.lastError)") }
        return self.buffer[..<Int(count)]
    }

    private static var lastError: String {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0, let text = ERR_reason_error_string(code) else { return String(cString: strerror(errno)) }
        return String(cString: text)
    }
}

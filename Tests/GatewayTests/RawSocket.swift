// A plain blocking socket, for what no well-behaved client would send.

import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// Runs what blocks on a thread of its own: the pool that runs tests also runs the gateway's routes.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
    }
}

/// A TCP connection to a gateway without TLS. Reads give up after a bound.
final class RawSocket {
    private let descriptor: Int32
    static let readTimeoutSeconds = 10

    struct Failed: Error {
        let what: String
        let code = errno
    }

    /// - Parameter kernelBytes: what the kernel may hold for us in each direction, about. With a few, what was sent has
    ///   been read by the gateway, and what was not read waits there.
    init(port: Int, kernelBytes: Int32? = nil) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var timeout = timeval(tv_sec: Self.readTimeoutSeconds, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        if var bytes = kernelBytes {
            setsockopt(self.descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
            setsockopt(self.descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let outcome = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard outcome == 0 else { throw Failed(what: "connect") }
    }

    deinit { close(self.descriptor) }

    func send(_ bytes: [UInt8]) throws {
        guard Glibc.send(self.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw Failed(what: "send")
        }
    }

    func send(_ text: String) throws { try self.send(Array(text.utf8)) }

    /// Nothing more is sent; answers still come.
    func finish() { shutdown(self.descriptor, Int32(SHUT_WR)) }

    /// At least one byte, or none at the end.
    func read() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(self.descriptor, &buffer, buffer.count, 0)
        guard count >= 0 else { throw Failed(what: "recv") }
        return Array(buffer.prefix(count))
    }

    func readToEnd() throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let bytes = try self.read()
            if bytes.isEmpty { return all }
            all += bytes
        }
    }

    /// Everything up to and with `end`.
    func readUntil(_ end: [UInt8]) throws -> [UInt8] {
        var all: [UInt8] = []
        while !all.suffix(end.count).elementsEqual(end) {
            let bytes = try self.read()
            if bytes.isEmpty { throw Failed(what: "the connection ended before \(end)") }
            all += bytes
        }
        return all
    }

    // MARK: WebSocket

    static func upgrade(_ path: String, _ headers: String) -> String {
        "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\(headers)\r\n"
    }

    /// A client's frame, masked with zeros unless told otherwise.
    static func frame(_ head: UInt8, _ payload: [UInt8], masked: Bool = true) -> [UInt8] {
        let mask: UInt8 = masked ? 0x80 : 0
        let length: [UInt8] =
            payload.count < 126
            ? [mask | UInt8(payload.count)]
            : [mask | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        return [head] + length + (masked ? [0, 0, 0, 0] : []) + payload
    }

    /// Upgrades and signs in; returns once `welcome` is here.
    static func session(port: Int, token: String, kernelBytes: Int32? = nil) throws -> RawSocket {
        let socket = try RawSocket(port: port, kernelBytes: kernelBytes)
        try socket.send(
            self.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\r\nAuthorization: Bearer \(token)\r\n"))
        var heard: [UInt8] = []
        while !String(decoding: heard, as: UTF8.self).contains(#""type":"welcome""#) {
            let bytes = try socket.read()
            guard !bytes.isEmpty else { throw Failed(what: String(decoding: heard, as: UTF8.self)) }
            heard += bytes
        }
        return socket
    }
}

// A plain blocking socket, for input that no well-behaved client sends.

internal import Foundation
internal import Glibc

/// Runs blocking code on a separate thread, because the thread pool of the tests also runs the gateway's routes.
package func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
    }
}

/// A TCP connection to a gateway without TLS. Reads have a time limit.
package final class RawSocket {
    private let descriptor: Int32
    package static let readTimeoutSeconds = 30

    package struct Failed: Error {
        package let what: String
        package let code = errno
    }

    /// - Parameters:
    ///   - kernelBytes: approximate size of the kernel's buffers. If it is small, everything sent has been read by the
    ///     gateway, and everything unread waits in the gateway.
    ///   - host: the last byte of the loopback address to connect from.
    package init(port: Int, kernelBytes: Int32? = nil, from host: UInt8? = nil) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var timeout = timeval(tv_sec: Self.readTimeoutSeconds, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        if var bytes = kernelBytes {
            setsockopt(self.descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
            setsockopt(self.descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        if let host {
            address.sin_addr.s_addr = in_addr_t(0x7F00_0000 | UInt32(host)).bigEndian
            let bound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard bound == 0 else { throw Failed(what: "bind") }
        }
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

    package func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failed(what: "send") }
            sent += count
        }
    }

    package func send(_ text: String) throws { try self.send(Array(text.utf8)) }

    /// Ends the output; responses still arrive.
    package func finish() { shutdown(self.descriptor, Int32(SHUT_WR)) }

    /// Makes closing this object reset the connection (socket(7), SO_LINGER), as when a phone loses its network.
    package func resetWhenClosed() {
        var atOnce = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
    }

    /// Returns at least one byte, or none at the end.
    package func read(atMost most: Int = 65_536) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: most)
        let count = recv(self.descriptor, &buffer, buffer.count, 0)
        guard count >= 0 else { throw Failed(what: "recv") }
        return Array(buffer.prefix(count))
    }

    /// The number of bytes that the kernel has received so far, read or not (tcp(7), TCP_INFO).
    package var bytesReceived: UInt64 { self.fact(at: 128) ?? 0 }  // tcpi_bytes_received

    /// The number of segments with data that the kernel has received so far.
    package var segmentsReceived: UInt32 { self.fact(at: 152) ?? 0 }  // tcpi_data_segs_in

    /// A field of `tcp_info` in linux/tcp.h; glibc's own header is older.
    private func fact<Field: FixedWidthInteger>(at offset: Int) -> Field? {
        var facts = [UInt8](repeating: 0, count: 256)
        var size = socklen_t(facts.count)
        guard getsockopt(self.descriptor, Int32(IPPROTO_TCP), TCP_INFO, &facts, &size) == 0 else { return nil }
        return facts.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Field.self) }
    }

    /// Returns everything until the connection ends in any way.
    ///
    /// - Throws: if the connection is still open when the time limit is exceeded.
    package func readToEndOrReset() throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            do {
                let bytes = try self.read()
                if bytes.isEmpty { return all }
                all += bytes
            } catch let failed as Failed where failed.code != EAGAIN {
                return all
            }
        }
    }

    package func readToEnd() throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let bytes = try self.read()
            if bytes.isEmpty { return all }
            all += bytes
        }
    }

    /// Returns everything through `end`, and reads no further.
    package func readUntil(_ end: [UInt8]) throws -> [UInt8] {
        var all: [UInt8] = []
        while !all.suffix(end.count).elementsEqual(end) {
            let bytes = try self.read(atMost: 1)
            if bytes.isEmpty { throw Failed(what: "the connection ended before \(end)") }
            all += bytes
        }
        return all
    }

    // MARK: WebSocket

    package static func upgrade(_ path: String, _ headers: String) -> String {
        "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\(headers)\r\n"
    }

    /// A client's frame, masked with zeros by default.
    package static func frame(_ head: UInt8, _ payload: [UInt8], masked: Bool = true) -> [UInt8] {
        let mask: UInt8 = masked ? 0x80 : 0
        let length: [UInt8] =
            payload.count < 126
            ? [mask | UInt8(payload.count)]
            : [mask | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        return [head] + length + (masked ? [0, 0, 0, 0] : []) + payload
    }

    /// The same for a payload of any length.
    package static func longFrame(_ head: UInt8, _ payload: [UInt8]) -> [UInt8] {
        guard payload.count > 0xFFFF else { return self.frame(head, payload) }
        let length = (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        return [head, 0x80 | 127] + length + [0, 0, 0, 0] + payload
    }

    /// Ends the session, and waits until the gateway has ended it too.
    package func sayGoodbye() throws {
        try self.send(Self.frame(0x88, [0x03, 0xE8]))
        _ = try self.readToEnd()
    }

    /// Requests the upgrade with a token, without reading the response.
    package static func upgraded(
        port: Int, token: String, _ headers: String = "", path: String = "/v1", kernelBytes: Int32? = nil
    ) throws -> RawSocket {
        let socket = try RawSocket(port: port, kernelBytes: kernelBytes)
        try socket.send(
            self.upgrade(
                path, "Sec-WebSocket-Protocol: enroute.v1\r\nAuthorization: Bearer \(token)\r\n\(headers)"))
        return socket
    }

    /// Upgrades and signs in; returns after `welcome`.
    package static func session(
        port: Int, token: String, _ headers: String = "", kernelBytes: Int32? = nil
    ) throws -> RawSocket {
        let socket = try self.upgraded(port: port, token: token, headers, kernelBytes: kernelBytes)
        var heard: [UInt8] = []
        while !String(decoding: heard, as: UTF8.self).contains(#""type":"welcome""#) {
            let bytes = try socket.read()
            guard !bytes.isEmpty else { throw Failed(what: String(decoding: heard, as: UTF8.self)) }
            heard += bytes
        }
        return socket
    }
}

// The address of a peer, and the source address of connections. One source address has 28,000 ports to one destination, so
// connections are spread over as many addresses 127.0.0.x as needed.

internal import CLibssl
internal import Glibc

/// `host:port` or `unix:/path`.
public struct Endpoint: Sendable, CustomStringConvertible {
    public let host: String
    public let port: UInt16
    private let path: String?
    /// IPv4, network byte order.
    private let address: UInt32

    public init(_ text: String) throws {
        if text.hasPrefix("unix:") {
            (self.host, self.port, self.path, self.address) = ("localhost", 0, String(text.dropFirst(5)), 0)
            return
        }
        let parts = text.split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1]) else {
            throw LoadError("\(text) is not host:port or unix:/path")
        }
        (self.host, self.port, self.path) = (String(parts[0]), port, nil)
        self.address = try Self.resolve(self.host)
    }

    public var description: String { self.path.map { "unix:\($0)" } ?? "\(self.host):\(self.port)" }
    var isLoopback: Bool { self.path == nil && self.address & 0xff == 127 }

    private static func resolve(_ host: String) throws -> UInt32 {
        var hints = addrinfo()
        hints.ai_family = AF_INET
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, nil, &hints, &found)
        guard result == 0, let found else { throw LoadError("\(host): \(String(cString: gai_strerror(result)))") }
        defer { freeaddrinfo(found) }
        return found.pointee.ai_addr.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
            $0.pointee.sin_addr.s_addr
        }
    }

    /// IP_BIND_ADDRESS_NO_PORT, which Glibc's module lacks.
    private static let bindWithoutPort: Int32 = 24

    /// A non-blocking socket that is connecting.
    ///
    /// - Parameters:
    ///   - source: which of 127.0.0.1 to 127.0.0.250 to connect from, if the peer is on loopback.
    ///   - receiveBuffer: SO_RCVBUF in bytes; `nil` for the kernel's default.
    func connect(source: Int, receiveBuffer: Int32? = nil) throws -> Int32 {
        let family = self.path == nil ? AF_INET : AF_UNIX
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else { throw LoadError("socket: \(LoadError.reason(errno))") }
        var one: Int32 = 1
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4)
        }
        if self.path == nil {
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        }
        if self.isLoopback {
            // The port is chosen at connect, when the destination is known, so that every source can use all of its ports.
            setsockopt(descriptor, Int32(IPPROTO_IP), Self.bindWithoutPort, &one, 4)
            let last = UInt32(1 + source % 250)
            var from = Self.inet(0x0000_007f | last << 24, 0)
            _ = withUnsafePointer(to: &from) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, 16) }
            }
        }
        guard self.connect(descriptor) == 0 || errno == EINPROGRESS else {
            let code = errno
            close(descriptor)
            throw LoadError("connect to \(self): \(LoadError.reason(code))")
        }
        return descriptor
    }

    private func connect(_ descriptor: Int32) -> Int32 {
        guard let path else {
            var to = Self.inet(self.address, self.port)
            return withUnsafePointer(to: &to) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, 16) }
            }
        }
        var to = sockaddr_un()
        to.sun_family = UInt16(AF_UNIX)
        withUnsafeMutableBytes(of: &to.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix(107)) + [0]) }
        return withUnsafePointer(to: &to) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private static func inet(_ address: UInt32, _ port: UInt16) -> sockaddr_in {
        var result = sockaddr_in()
        result.sin_family = UInt16(AF_INET)
        result.sin_port = port.bigEndian
        result.sin_addr.s_addr = address
        return result
    }
}

// Parses the URL of a gateway.

internal import NIOCore

/// The host and port of a gateway, whether it uses TLS, and the path prefix if a proxy serves it below one.
package struct GatewayAddress: Hashable, Sendable {
    /// A name or an address; an IPv6 address without brackets.
    let host: String
    let port: Int
    let isSecure: Bool
    /// `/enroute`; empty without one.
    let prefix: String

    /// The TCP ports to which a client can connect.
    private static let ports = 1...65_535

    /// - Parameter url: `wss://host[:port][/prefix]` or `ws://host[:port][/prefix]`, with or without a slash at the end. An
    ///   IPv6 address is in brackets (RFC 3986 section 3.2.2). `/v1` is not part of it.
    package init(_ url: String) throws(ClientError) {
        let parts = url.split(separator: "://", maxSplits: 1)
        guard parts.count == 2, parts[0] == "wss" || parts[0] == "ws" else { throw .malformedURL(url) }
        self.isSecure = parts[0] == "wss"
        let authority = parts[1].prefix { $0 != "/" }
        guard !authority.contains(where: { "?#@ ".contains($0) }),
            let prefix = Self.prefix(parts[1][authority.endIndex...])
        else { throw .malformedURL(url) }
        self.prefix = prefix
        let end = authority.hasPrefix("[") ? authority.firstIndex(of: "]").map(authority.index(after:)) : nil
        let host = authority[..<(end ?? authority.firstIndex(of: ":") ?? authority.endIndex)]
        if host.hasPrefix("[") {
            self.host = String(host.dropFirst().dropLast())
            guard host.hasSuffix("]"), Self.isIPv6(self.host) else { throw .malformedURL(url) }
        } else {
            self.host = String(host)
            guard !host.isEmpty else { throw .malformedURL(url) }
        }
        let rest = authority[host.endIndex...]
        guard !rest.isEmpty else {
            self.port = self.isSecure ? 443 : 80
            return
        }
        guard rest.hasPrefix(":"), let port = Self.port(rest.dropFirst()) else { throw .malformedURL(url) }
        self.port = port
    }

    /// Whether the host is a name. In TLS, SNI contains only names, no addresses (RFC 6066 section 3).
    var isName: Bool { !self.isIPv6 && !self.host.allSatisfy { $0.isNumber || $0 == "." } }

    /// The value of the header field `host`.
    var authority: String { "\(self.isIPv6 ? "[\(self.host)]" : self.host):\(self.port)" }

    /// The path of the WebSocket.
    var socketPath: String { "\(self.prefix)/v1" }

    /// Neither a name nor an IPv4 address contains a colon.
    private var isIPv6: Bool { self.host.contains(":") }

    private static func isIPv6(_ text: String) -> Bool {
        guard case .v6? = try? SocketAddress(ipAddress: text, port: 0) else { return false }
        return true
    }

    /// Accepts the unreserved characters of RFC 3986 section 2.3, but no empty segment, because proxies may remove it. Rejects
    /// a path that ends with `/v1`: it is the address of a WebSocket, to which `/v1` would be added again.
    private static func prefix(_ path: Substring) -> String? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        let named = segments.last == "" ? segments.dropLast() : segments
        let areValid = named.allSatisfy { segment in
            !segment.isEmpty && ![".", ".."].contains(segment) && segment.utf8.allSatisfy(Self.isUnreserved)
        }
        return areValid && named.last != "v1" ? named.map { "/\($0)" }.joined() : nil
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        case UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }

    /// Accepts digits only: `UInt16` would also accept a sign.
    private static func port(_ text: Substring) -> Int? {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let port = Int(text), Self.ports.contains(port) else {
            return nil
        }
        return port
    }
}

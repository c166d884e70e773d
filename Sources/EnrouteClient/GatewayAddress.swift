// Parses the URL of a gateway.

internal import NIOCore

/// The host and port of a gateway, and whether it uses TLS.
package struct GatewayAddress: Hashable, Sendable {
    /// A name or an address; an IPv6 address without brackets.
    let host: String
    let port: Int
    let isSecure: Bool

    /// The ports of TCP to which a client can connect.
    private static let ports = 1...65_535

    /// - Parameter url: `wss://host[:port]` or `ws://host[:port]`, with or without a slash at the end. An IPv6 address is in
    ///   brackets (RFC 3986 section 3.2.2).
    package init(_ url: String) throws(ClientError) {
        let parts = url.split(separator: "://", maxSplits: 1)
        guard parts.count == 2, parts[0] == "wss" || parts[0] == "ws" else { throw .malformedURL(url) }
        self.isSecure = parts[0] == "wss"
        let authority = parts[1].hasSuffix("/") ? parts[1].dropLast() : parts[1]
        guard !authority.contains(where: { "/?#@ ".contains($0) }) else { throw .malformedURL(url) }
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

    /// Whether the host is a name. The TLS handshake contains only names, no addresses (RFC 6066 section 3).
    var isName: Bool { !self.isIPv6 && !self.host.allSatisfy { $0.isNumber || $0 == "." } }

    /// The value of the header field `host`.
    var authority: String { "\(self.isIPv6 ? "[\(self.host)]" : self.host):\(self.port)" }

    /// Neither a name nor an IPv4 address contains a colon.
    private var isIPv6: Bool { self.host.contains(":") }

    private static func isIPv6(_ text: String) -> Bool {
        guard case .v6? = try? SocketAddress(ipAddress: text, port: 0) else { return false }
        return true
    }

    /// Accepts digits only: `UInt16` would also accept a sign.
    private static func port(_ text: Substring) -> Int? {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let port = Int(text), Self.ports.contains(port) else {
            return nil
        }
        return port
    }
}

// The client address that limits apply to. Behind a load balancer the peer of the socket is the load balancer, and the
// client's address is in X-Forwarded-For, if the load balancer is trusted.

package import NIOCore

/// A client address for limits: a whole IPv4 address, or the /64 prefix of an IPv6 address, because one household or phone
/// usually has a whole /64.
package struct ClientAddress: Hashable, Sendable {
    private let network: UInt64

    /// - Returns: `nil` for addresses other than IP, such as Unix domain sockets.
    package init?(_ address: SocketAddress?) {
        guard let bytes = address?.networkBytes else { return nil }
        self.network = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Parses an IP address, for example from `X-Forwarded-For`.
    package init?(_ text: String) { self.init(try? SocketAddress(ipAddress: text, port: 0)) }
}

/// The proxies whose `X-Forwarded-For` header is trusted, as addresses or networks in CIDR notation (RFC 4632).
package struct TrustedProxies: Sendable {
    private struct Network {
        var bytes: [UInt8]
        var bits: Int
    }

    private var networks: [Network] = []

    /// A configured text that is neither an address nor a network.
    package struct Malformed: Error, CustomStringConvertible {
        package let text: String
        package var description: String { "\(self.text) is not an address or a network such as 10.0.0.0/8." }
    }

    package static let none = TrustedProxies()

    private init() {}

    package init(_ texts: [String]) throws(Malformed) {
        for text in texts {
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard let bytes = parts.first.flatMap({ try? SocketAddress(ipAddress: String($0), port: 0) })?.networkBytes,
                let bits = parts.count == 1 ? bytes.count * 8 : Int(parts[1]), (0...bytes.count * 8).contains(bits)
            else { throw Malformed(text: text) }
            self.networks.append(Network(bytes: bytes, bits: bits))
        }
    }

    package func trusts(_ address: SocketAddress?) -> Bool {
        guard !self.networks.isEmpty, let bytes = address?.networkBytes else { return false }
        return self.networks.contains { network in
            guard network.bytes.count == bytes.count else { return false }
            let (whole, rest) = network.bits.quotientAndRemainder(dividingBy: 8)
            guard network.bytes[..<whole] == bytes[..<whole] else { return false }
            let mask: UInt8 = ~(0xFF >> rest)
            return rest == 0 || (network.bytes[whole] ^ bytes[whole]) & mask == 0
        }
    }

    /// Returns the address whose limits apply to a request: the last address in `X-Forwarded-For` that is not a trusted
    /// proxy, or the peer if the peer is not trusted. An element that is not an address counts for the peer, because it
    /// could stand for any client behind it.
    ///
    /// - Returns: `nil` if a trusted proxy sent the request on its own behalf. No limit applies then.
    package func client(of peer: SocketAddress?, forwardedFor headers: [String]) -> ClientAddress? {
        guard self.trusts(peer) else { return ClientAddress(peer) }
        let hops = headers.joined(separator: ",").split(separator: ",").map { hop in
            hop.filter { $0 != " " && $0 != "\t" }
        }
        for hop in hops.reversed() where !hop.isEmpty {
            guard let address = SocketAddress(hop: hop) else { return ClientAddress(peer) }
            if !self.trusts(address) { return ClientAddress(address) }
        }
        return nil
    }
}

extension SocketAddress {
    /// Parses one element of `X-Forwarded-For`. The header has no standard; proxies write an address or an IPv6 address in
    /// brackets, either with the client's port (like a node of RFC 7239 section 6).
    fileprivate init?(hop: String) {
        var (host, port) = (Substring(hop), Substring?.none)
        if hop.hasPrefix("[") {
            guard let end = hop.firstIndex(of: "]") else { return nil }
            host = hop[hop.index(after: hop.startIndex)..<end]
            let rest = hop[hop.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            if !rest.isEmpty { port = rest.dropFirst() }
            guard host.contains(":") else { return nil }
        } else if let colon = hop.firstIndex(of: ":"), colon == hop.lastIndex(of: ":") {
            (host, port) = (hop[..<colon], hop[hop.index(after: colon)...])
        }
        if let port { guard port.utf8.allSatisfy({ (48...57).contains($0) }), UInt16(port) != nil else { return nil } }
        guard let address = try? SocketAddress(ipAddress: String(host), port: 0) else { return nil }
        self = address
    }

    /// The 4 or 16 bytes of the address. An IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2) yields the IPv4 address.
    fileprivate var networkBytes: [UInt8]? {
        // The address follows family and port in a `sockaddr_in`, and also the flow label in a `sockaddr_in6`.
        switch self {
        case .v4:
            return self.withSockAddr { address, _ in Array(UnsafeRawBufferPointer(start: address, count: 8)[4...]) }
        case .v6:
            let bytes = self.withSockAddr { address, _ in
                Array(UnsafeRawBufferPointer(start: address, count: 24)[8...])
            }
            let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            return isMapped ? Array(bytes[12...]) : bytes
        default: return nil
        }
    }
}

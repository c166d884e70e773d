// Where somebody comes from, as far as limits care, and through whom: behind a balancer the socket's other end is the
// balancer, and the client is who it says it forwards for.

package import NIOCore

/// An address as limits see it: IPv4 whole, IPv6 by its /64, which is what one household or phone has.
package struct ClientAddress: Hashable, Sendable {
    private let network: UInt64

    /// `nil` for what is no IP address (a unix socket).
    package init?(_ address: SocketAddress?) {
        guard let bytes = address?.networkBytes else { return nil }
        self.network = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// As text, for example of `X-Forwarded-For`.
    package init?(_ text: String) { self.init(try? SocketAddress(ipAddress: text, port: 0)) }
}

/// Balancers whose word for a client's address is taken, as addresses or networks in CIDR form (RFC 4632).
package struct TrustedProxies: Sendable {
    private struct Network {
        package var bytes: [UInt8]
        var bits: Int
    }

    private var networks: [Network] = []

    /// What is no address and no network.
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
            return (0..<network.bits).allSatisfy { bit in
                (network.bytes[bit / 8] ^ bytes[bit / 8]) & (0x80 >> UInt8(bit % 8)) == 0
            }
        }
    }

    /// Who is limited for a request: the peer, or the last address before trusted ones that `X-Forwarded-For` names. What is
    /// no address there counts for the peer: it may be anybody behind it. `nil`: nobody, a trusted proxy asks for itself.
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
    /// One element of `X-Forwarded-For`, which has no standard: an address, an IPv6 address in brackets, and either with the
    /// port that the client came from (as node of RFC 7239 section 6).
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

    /// 4 bytes, or 16; an IPv4 address in IPv6's clothes (RFC 4291 section 2.5.5.2) is that IPv4 address.
    fileprivate var networkBytes: [UInt8]? {
        // Where the address lies in a `sockaddr_in` and a `sockaddr_in6`: after family and port, and there the flow too.
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

// Resolves the host of an endpoint. All its addresses are checked, and connections then use only these: resolving the name a
// second time could return another address (DNS rebinding).

internal import Glibc
internal import Resilience

/// Resolves names with getaddrinfo(3).
package struct HostResolver: Sendable {
    /// Why there is no address to connect to.
    package enum Failure: Error, Hashable, CustomStringConvertible {
        case unresolvable
        /// The resolver did not respond in time.
        case late
        case refused(IPAddress)

        /// Contains no address: otherwise anybody who can add an endpoint could resolve the names of an internal
        /// network.
        package var description: String {
            switch self {
            case .unresolvable: "the host name cannot be resolved"
            case .late: "the host name cannot be resolved in time"
            case .refused: "an address of the host is not public"
            }
        }
    }

    private let rule: AddressRule
    private let lookUp: @Sendable (String) async throws -> [IPAddress]

    /// - Parameter lookUp: returns all addresses of a host.
    package init(
        rule: AddressRule,
        lookUp: @escaping @Sendable (String) async throws -> [IPAddress] = {
            try await HostLookups.system.addresses(of: $0)
        }
    ) {
        (self.rule, self.lookUp) = (rule, lookUp)
    }

    /// The addresses to connect to, at least one, in the order in which to try them. If one of the host's addresses is
    /// refused, the whole host is refused.
    ///
    /// - Parameter limit: how long it may take.
    package func addresses(
        of host: String, within limit: Duration = WebhookSettings.longestAttempt
    ) async throws(Failure) -> [IPAddress] {
        let answer: [IPAddress]?
        do {
            answer = try await withTimeout(limit) { try await self.lookUp(host) }
        } catch {
            throw .unresolvable
        }
        guard let addresses = answer else { throw .late }
        guard !addresses.isEmpty else { throw .unresolvable }
        for address in addresses where !self.rule.allows(address) { throw .refused(address) }
        return Self.alternating(addresses)
    }

    /// Alternates between IPv6 and IPv4, because often all addresses of one of them are unreachable (RFC 8305, section 4).
    private static func alternating(_ addresses: [IPAddress]) -> [IPAddress] {
        let preferred = addresses.filter { $0.isIPv6 == addresses.first?.isIPv6 }
        let others = addresses.filter { $0.isIPv6 != addresses.first?.isIPv6 }
        return (0..<addresses.count).flatMap { preferred.dropFirst($0).prefix(1) + others.dropFirst($0).prefix(1) }
    }

    /// The addresses of a host according to this machine. Forms of an address that only some programs know, such as 127.1, are
    /// resolved too. Blocks the thread.
    static func systemAddresses(of host: String) throws -> [IPAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { throw Failure.unresolvable }
        defer { freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var next = list
        while let entry = next {
            if let address = IPAddress(entry.pointee) { addresses.append(address) }
            next = entry.pointee.ai_next
        }
        return addresses
    }
}

extension IPAddress {
    fileprivate init?(_ entry: addrinfo) {
        guard let socket = entry.ai_addr else { return nil }
        switch entry.ai_family {
        case AF_INET:
            self.init(
                bytes: socket.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                    withUnsafeBytes(of: address.pointee.sin_addr) { Array($0) }
                })
        case AF_INET6:
            self.init(
                bytes: socket.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                    withUnsafeBytes(of: address.pointee.sin6_addr) { Array($0) }
                })
        default: return nil
        }
    }
}

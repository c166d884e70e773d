// Decides which hosts are this machine. For other hosts, several settings do not accept `http://` or an unencrypted
// Redis, because anyone on the network path could read or alter the traffic. As a security rule, this is defined in one
// place only.

/// 127.0.0.0/8, ::1 and localhost, as written in a URL or a setting.
package enum LoopbackHost {
    /// - Parameter host: a name or an address without a port; an IPv6 address with brackets or without.
    package static func contains(_ host: some StringProtocol) -> Bool {
        let host = host.lowercased()
        return ["localhost", "::1", "[::1]"].contains(host) || self.isLoopbackIPv4(host)
    }

    /// - Parameter authority: `host`, `host:port`, `[IPv6]` or `[IPv6]:port`.
    package static func isHost(of authority: some StringProtocol) -> Bool {
        let end = authority.hasPrefix("[") ? authority.firstIndex(of: "]") : authority.firstIndex(of: ":")
        guard let end else { return !authority.hasPrefix("[") && self.contains(authority) }
        let host = authority.hasPrefix("[") ? authority[...end] : authority[..<end]
        let rest = authority[host.endIndex...]
        return self.contains(host) && (rest.isEmpty || rest.hasPrefix(":") && UInt16(rest.dropFirst()) != nil)
    }

    /// Requires four decimal numbers: anyone can own the name `127.evil.example`, and resolvers disagree about `127.1`.
    private static func isLoopbackIPv4(_ host: String) -> Bool {
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127"
            && numbers.allSatisfy { $0.utf8.allSatisfy { (48...57).contains($0) } && UInt8($0) != nil }
    }
}

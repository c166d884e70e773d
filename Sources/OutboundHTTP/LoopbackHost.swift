// Which hosts are this machine. Several settings take `http://` or an unencrypted Redis for this machine alone, because
// whoever stands between could read or change what is said. So this is a rule of security, and there is one of it.

/// 127.0.0.0/8, ::1 and localhost, as they stand in a URL or a setting.
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

    /// Four decimal numbers. `127.evil.example` is a name that anybody may own, and `127.1` is for a resolver to read.
    private static func isLoopbackIPv4(_ host: String) -> Bool {
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127"
            && numbers.allSatisfy { $0.utf8.allSatisfy { (48...57).contains($0) } && UInt8($0) != nil }
    }
}

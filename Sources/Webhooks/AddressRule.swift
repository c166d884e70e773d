// The addresses to which events may be sent. Otherwise, anybody who can register an endpoint could make gateways send
// requests to services that only gateways can reach: other machines of the network, or the metadata service of a cloud
// (server-side request forgery).

internal import Glibc

/// An IPv4 or IPv6 address.
package struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    /// 4 or 16 bytes.
    package let bytes: [UInt8]
    var isIPv6: Bool { self.bytes.count == 16 }

    /// - Returns: `nil` if it is not the usual text of an address.
    package init?(_ text: String) {
        var (four, six) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, text, &four) == 1 {
            self.bytes = withUnsafeBytes(of: &four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            self.bytes = withUnsafeBytes(of: &six) { Array($0) }
        } else {
            return nil
        }
    }

    init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = self.bytes.withUnsafeBytes {
            inet_ntop(self.bytes.count == 4 ? AF_INET : AF_INET6, $0.baseAddress, &text, socklen_t(INET6_ADDRSTRLEN))
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// A range of addresses, such as 10.0.0.0/8.
package struct AddressRange: Sendable, Hashable {
    private let bytes: [UInt8]
    private let length: Int

    /// - Parameter text: an address, or an address and the length of the prefix after a slash.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(String(first)), parts.count <= 2 else { return nil }
        let most = address.bytes.count * 8
        guard let length = parts.count == 1 ? most : Int(parts[1]), (0...most).contains(length) else { return nil }
        (self.bytes, self.length) = (address.bytes, length)
    }

    package func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == self.bytes.count else { return false }
        let whole = self.length / 8
        guard address.bytes.prefix(whole) == self.bytes.prefix(whole) else { return false }
        guard self.length % 8 > 0 else { return true }
        let mask = UInt8.max << UInt8(8 - self.length % 8)
        return address.bytes[whole] & mask == self.bytes[whole] & mask
    }
}

/// Public addresses, and those that the operator allows.
package struct AddressRule: Sendable, Hashable {
    private let allowed: [AddressRange]

    /// The special-purpose ranges of the IANA registries (RFC 6890), and multicast.
    private static let special4 = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
    ].compactMap { AddressRange($0) }
    /// All public IPv6 addresses are in this range, except for those that embed an IPv4 address.
    private static let global6 = AddressRange("2000::/3")
    private static let special6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]
        .compactMap { AddressRange($0) }
    /// IPv4 addresses in IPv6: mapped ones, and those of a NAT64.
    private static let embedding6 = ["::ffff:0:0/96", "64:ff9b::/96"].compactMap { AddressRange($0) }

    /// - Parameter allowed: ranges that are allowed although they are not public.
    package init(allowed: [AddressRange] = []) { self.allowed = allowed }

    package func allows(_ address: IPAddress) -> Bool {
        if self.allowed.contains(where: { $0.contains(address) }) { return true }
        if address.bytes.count == 4 { return !Self.special4.contains { $0.contains(address) } }
        if Self.embedding6.contains(where: { $0.contains(address) }) {
            return IPAddress(bytes: Array(address.bytes.suffix(4))).map { self.allows($0) } ?? false
        }
        return Self.global6?.contains(address) == true && !Self.special6.contains { $0.contains(address) }
    }
}

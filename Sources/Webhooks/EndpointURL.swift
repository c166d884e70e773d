// The URL of an endpoint, as an operator enters it. Requests must go to the host that was checked, so only URLs that
// every program interprets in the same way are accepted.

internal import FoundationEssentials
internal import OutboundHTTP

/// An https URL without user, fragment or unusual characters. A value.
package struct EndpointURL: Sendable, Hashable, CustomStringConvertible {
    /// Why a text cannot be the URL of an endpoint: the rest of a sentence that starts with "The URL".
    package struct Invalid: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    package let description: String
    /// A name in lower case, or an address; an IPv6 address without brackets.
    package let host: String
    package let port: Int
    /// Whether it is http, which only gateways for development allow.
    let isPlain: Bool

    /// Maximum length in bytes.
    package static let longest = 1_024

    /// - Parameter allowsPlainLoopback: whether the URL may be http if its host is this machine.
    package init(_ text: String, allowsPlainLoopback: Bool = false) throws(Invalid) {
        guard (1...Self.longest).contains(text.utf8.count), text.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw Invalid(description: "must be 1 to \(Self.longest) ASCII characters without spaces.")
        }
        let isPlain = allowsPlainLoopback && text.hasPrefix("http://")
        guard isPlain || text.hasPrefix("https://") else { throw Self.notHTTPS(allowsPlainLoopback) }
        let rest = text.dropFirst(isPlain ? "http://".count : "https://".count)
        let authority = rest.prefix { !"/?#".contains($0) }
        guard !text.contains("#"), !text.contains("\\"), !text.contains("\""), !authority.contains("@") else {
            throw Invalid(description: "must not contain a user, a fragment, a backslash or a quotation mark.")
        }
        let (host, port) = try Self.parts(of: authority)
        guard !isPlain || LoopbackHost.contains(host) else { throw Self.notHTTPS(allowsPlainLoopback) }
        guard URL(string: text)?.host() == host || host.contains(":") else {
            throw Invalid(description: "has a host that cannot be read.")
        }
        (self.description, self.host, self.isPlain) = (text, host, isPlain)
        self.port = port ?? (isPlain ? 80 : 443)
    }

    private static func notHTTPS(_ allowsPlainLoopback: Bool) -> Invalid {
        Invalid(
            description: allowsPlainLoopback
                ? "must start with https://, or with http:// if its host is localhost, 127.0.0.1 or [::1]."
                : "must start with https://.")
    }

    /// The host, and the port if there is one.
    private static func parts(of authority: Substring) throws(Invalid) -> (String, Int?) {
        var (host, rest) = (String(authority), Substring())
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw Invalid(description: "has no valid host.") }
            host = String(authority[authority.index(after: authority.startIndex)..<end])
            rest = authority[authority.index(after: end)...]
            guard host.contains(":"), host.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else {
                throw Invalid(description: "has no valid host.")
            }
        } else {
            if let colon = authority.firstIndex(of: ":") {
                host = String(authority[..<colon])
                rest = authority[colon...]
            }
            let isName = host.utf8.allSatisfy {
                (97...122).contains($0) || (48...57).contains($0) || $0 == 45 || $0 == 46
            }
            guard isName, (1...253).contains(host.utf8.count) else {
                throw Invalid(description: "must have a host of lower-case letters, digits, hyphens and dots.")
            }
        }
        guard !rest.isEmpty else { return (host, nil) }
        guard rest.hasPrefix(":"), let port = UInt16(rest.dropFirst()), port > 0 else {
            throw Invalid(description: "has no valid port.")
        }
        return (host, Int(port))
    }
}

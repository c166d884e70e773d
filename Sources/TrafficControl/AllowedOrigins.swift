// Which web pages may open a WebSocket (RFC 6455 section 10.2). A browser names the page's origin in every upgrade, and no
// page can change that; native apps name none. Without this any page could connect from a customer's browser.

/// Origins that are let in; without any named, that of the gateway itself.
package struct AllowedOrigins: Sendable, Hashable {
    private let named: Set<String>

    /// Characters of an origin in a log line: it comes from whoever asks.
    package static let mostLogged = 200

    /// Pages of the gateway's own alone.
    package static let own = AllowedOrigins(unchecked: [])

    private init(unchecked named: Set<String>) { self.named = named }

    /// - Parameter origins: each `https://host[:port]`, as browsers write it: lower case, without a path or the default port.
    package init(_ origins: [String]) throws(Malformed) {
        for origin in origins {
            let parts = origin.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 3, ["https:", "http:"].contains(parts[0]), parts[1].isEmpty, !parts[2].isEmpty,
                origin == origin.lowercased(), !origin.contains(where: { $0 == "*" || $0 == "@" || $0.isWhitespace })
            else { throw Malformed(origin: origin) }
        }
        self.named = Set(origins)
    }

    /// - Parameters:
    ///   - origins: the request's `Origin` headers; none comes from an app that is no browser.
    ///   - host: the request's `Host`.
    package func allows(_ origins: [String], host: String?) -> Bool {
        guard let origin = origins.first else { return true }
        guard origins.count == 1 else { return false }
        guard self.named.isEmpty else { return self.named.contains(origin) }
        // A balancer may have taken TLS away, so that the scheme is not known here.
        guard let host else { return false }
        return origin == "https://\(host)" || origin == "http://\(host)"
    }

    /// An origin that no browser would ever name.
    package struct Malformed: Error, CustomStringConvertible {
        package let origin: String
        package var description: String {
            "ENROUTE_LISTEN_ALLOWED_ORIGINS contains \(self.origin), which is not an origin. Write https://host or https://host:port, in "
                + "lower case, without a path or a wildcard."
        }
    }
}

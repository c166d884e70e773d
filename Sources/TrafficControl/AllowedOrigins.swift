// The web pages that may open a WebSocket (RFC 6455 section 10.2) and read responses of the REST interface (CORS, Fetch
// section 3.2). A browser sends the page's origin, and a page cannot change it. Without this check, any web page could
// connect from a customer's browser. Native apps send no origin.

internal import OutboundHTTP

/// The origins that may connect. If none are configured, only the gateway's own origin may.
package struct AllowedOrigins: Sendable, Hashable {
    private let named: Set<String>
    /// Whether every page of this machine may connect, on any port.
    private let allowsLoopback: Bool

    /// The maximum length of an origin in a log message. The client chooses the origin, so it could be of any length.
    package static let maxLoggedCharacters = 200

    /// Allows only the gateway's own pages.
    package static let own = AllowedOrigins(unchecked: [])

    /// Allows the gateway's own pages, and every page that this machine serves. For development only: on a machine with
    /// several users, each could serve such a page.
    package static let ownAndLoopback = AllowedOrigins(unchecked: [], allowsLoopback: true)

    private init(unchecked named: Set<String>, allowsLoopback: Bool = false) {
        (self.named, self.allowsLoopback) = (named, allowsLoopback)
    }

    /// The schemes of web pages, and those of the app shells Capacitor, Ionic and Tauri.
    private static let schemes: Set<Substring> = ["https:", "http:", "capacitor:", "ionic:", "tauri:"]

    /// - Parameter origins: origins as browsers send them: `https://host[:port]`, in lower case and without a path. Browsers
    ///   send no default port, so it is removed here.
    package init(_ origins: [String]) throws(Malformed) {
        var named: Set<String> = []
        for origin in origins {
            let parts = origin.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 3, Self.schemes.contains(parts[0]), parts[1].isEmpty, !parts[2].isEmpty,
                origin == origin.lowercased(),
                !origin.contains(where: { "*@,;'\"".contains($0) || $0.isWhitespace || !$0.isASCII })
            else { throw Malformed(origin: origin) }
            guard let port = Self.port(of: parts[2]) else {
                named.insert(origin)
                continue
            }
            guard let number = UInt16(port), number > 0, String(number) == port else { throw Malformed(origin: origin) }
            let isDefault = Self.defaultPorts[parts[0]] == number
            named.insert(isDefault ? String(origin.dropLast(port.count + 1)) : origin)
        }
        self.init(unchecked: named)
    }

    private static let defaultPorts: [Substring: UInt16] = ["https:": 443, "http:": 80]

    /// The text after the colon; the colons of an IPv6 address are in brackets.
    private static func port(of host: Substring) -> Substring? {
        guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return nil }
        return host[host.index(after: colon)...]
    }

    /// The configured origins in alphabetical order, separated by spaces, for the policy of a page. Empty if none are
    /// configured.
    package var list: String { self.named.sorted().joined(separator: " ") }

    /// - Parameters:
    ///   - origins: the request's `Origin` headers. A request without one does not come from a browser.
    ///   - host: the request's `Host` header.
    package func allows(_ origins: [String], host: String?) -> Bool {
        guard let origin = origins.first else { return true }
        guard origins.count == 1 else { return false }
        if self.allowsLoopback, Self.isLoopback(origin) { return true }
        guard self.named.isEmpty else { return self.named.contains(origin) }
        // A load balancer may terminate TLS, so the scheme that the browser used is unknown here.
        guard let host else { return false }
        return origin == "https://\(host)" || origin == "http://\(host)"
    }

    private static func isLoopback(_ origin: String) -> Bool {
        ["http://", "https://"].contains { origin.hasPrefix($0) && LoopbackHost.isHost(of: origin.dropFirst($0.count)) }
    }

    /// Whose page sent a REST request.
    package enum Sender: Hashable, Sendable {
        /// No page of another origin: an app, a service or one of the gateway's own pages.
        case own
        /// A page of this allowed origin, which may read the response.
        case allowed(String)
        /// A page of any other origin, which must not read the response.
        case foreign(String)
    }

    /// - Parameters:
    ///   - origins: the request's `Origin` headers.
    ///   - host: the request's `Host` header.
    ///   - fetchSite: the request's `Sec-Fetch-Site` header. It recognizes the gateway's own pages behind a proxy that changes
    ///     `Host`.
    package func sender(_ origins: [String], host: String?, fetchSite: String?) -> Sender {
        guard let origin = origins.first else { return .own }
        guard origins.count == 1 else { return .foreign(origin) }
        let isLoopback = self.allowsLoopback && Self.isLoopback(origin)
        if isLoopback || self.named.contains(origin) { return .allowed(origin) }
        if fetchSite == "same-origin" { return .own }
        guard let host, origin == "https://\(host)" || origin == "http://\(host)" else { return .foreign(origin) }
        return .own
    }

    /// A configured origin that no browser would send.
    package struct Malformed: Error, CustomStringConvertible {
        package let origin: String
        package var description: String {
            "\(self.origin) is not an origin. Write https://host or https://host:port, in lower case, without a path or a "
                + "wildcard. Origins of app shells, such as capacitor://localhost, are accepted too."
        }
    }
}

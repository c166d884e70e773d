// URLs of Redis. redis: one node; unix: its socket file; redis+sentinel: the master that Sentinels know of; redis+cluster:
// a cluster, by some of its nodes. An s after redis speaks TLS.

internal import FoundationEssentials

extension RedisAddress {
    /// Reads one of
    ///
    ///     redis://[user[:password]@]host[:port][/database]
    ///     unix:/path[?database=n]
    ///     redis+sentinel://[user[:password]@]host[:port],…/master[/database][?sentinel_user=…&sentinel_password=…]
    ///     redis+cluster://[user[:password]@]host[:port],…
    ///
    /// With rediss in the place of redis: `?ca=file` (PEM; without it the system's authorities), `cert=file&key=file`
    /// where the server wants a certificate, `name=…` where its certificate is for another name than the host's (one for
    /// the address itself will do as well).
    ///
    /// - Throws: `Malformed`, which says what is wrong and how it should be, never the password.
    package init(url: String) throws(Malformed) {
        guard let colon = url.firstIndex(of: ":") else { throw Malformed(reason: "it is not a URL") }
        let scheme = String(url[..<colon])
        if scheme == "unix" {
            try self.init(unix: url)
            return
        }
        let parts = scheme.split(separator: "+", maxSplits: 1).map(String.init)
        let kinds: [String?] = [nil, "sentinel", "cluster"]
        guard let first = parts.first, ["redis", "rediss"].contains(first), kinds.contains(parts.dropFirst().first)
        else {
            throw Malformed(reason: "its scheme is none of redis, rediss, redis+sentinel, redis+cluster and unix")
        }
        guard url[colon...].hasPrefix("://") else { throw Malformed(reason: "it names no host") }
        try self.init(URLParts(url[colon...].dropFirst(3)), kind: parts.dropFirst().first, isTLS: first == "rediss")
    }

    private init(_ parts: URLParts, kind: String?, isTLS: Bool) throws(Malformed) {
        let nodes = try parts.nodes(defaultPort: kind == "sentinel" ? 26_379 : 6379)
        guard let node = nodes.first else { throw Malformed(reason: "it names no host") }
        var path = parts.path
        let endpoint: Endpoint
        switch kind {
        case "sentinel":
            guard !path.isEmpty else { throw Malformed(reason: "it does not name the master the Sentinels watch") }
            endpoint = .sentinels(nodes, master: path.removeFirst())
        case "cluster": endpoint = .cluster(nodes)
        default:
            guard nodes.count == 1 else { throw Malformed(reason: "it names several hosts, and redis:// takes one") }
            endpoint = .tcp(host: node.host, port: node.port)
        }
        guard path.count <= 1, path.isEmpty || UInt16(path[0]) != nil else {
            throw Malformed(reason: "what follows the last slash is not a database number")
        }
        let database = path.first.flatMap { Int($0) } ?? 0
        guard kind != "cluster" || database == 0 else { throw Malformed(reason: "a cluster has no databases but 0") }
        self.init(endpoint: endpoint, user: parts.user, password: parts.password, database: database)
        self.sentinelUser = parts.query["sentinel_user"]
        self.sentinelPassword = parts.query["sentinel_password"]
        guard isTLS else { return }
        let (certificate, key) = (parts.query["cert"], parts.query["key"])
        guard (certificate == nil) == (key == nil) else { throw Malformed(reason: "cert and key go together") }
        self.tls = RedisTLS(
            authorities: parts.query["ca"], certificate: certificate, key: key, serverName: parts.query["name"])
    }

    private init(unix url: String) throws(Malformed) {
        guard let parts = URLComponents(string: url) else { throw Malformed(reason: "it is not a URL") }
        guard !parts.path.isEmpty, parts.host?.isEmpty ?? true else {
            throw Malformed(reason: "it names no socket file")
        }
        let database = parts.queryItems?.first { $0.name == "database" }?.value
        guard database == nil || database.flatMap(UInt16.init) != nil else {
            throw Malformed(reason: "database is not a number")
        }
        self.init(
            endpoint: .unix(path: parts.path), user: parts.user, password: parts.password,
            database: database.flatMap(Int.init) ?? 0)
    }

    /// A URL that could not be understood.
    package struct Malformed: Error, Equatable, CustomStringConvertible {
        package let reason: String
        package var description: String {
            "The Redis URL can not be used: \(self.reason). It should be redis://[user:password@]host[:port][/database], "
                + "unix:/path/to/socket, redis+sentinel://host:port,host:port/master or redis+cluster://host:port,host:port; "
                + "rediss for TLS."
        }
    }
}

/// What follows the two slashes. Foundation's parser takes one host only.
private struct URLParts {
    var user: String?
    var password: String?
    var hosts: Substring
    var path: [String]
    var query: [String: String] = [:]

    init(_ text: Substring) {
        let (beforeQuery, query) = Self.cut(text, at: "?")
        for item in query?.split(separator: "&") ?? [] {
            let (name, value) = Self.cut(item, at: "=")
            self.query[String(name)] = Self.decoded(value ?? "")
        }
        let (authority, path) = Self.cut(beforeQuery, at: "/")
        self.path = (path ?? "").split(separator: "/").compactMap { Self.decoded($0) }
        guard let at = authority.lastIndex(of: "@") else {
            self.hosts = authority
            return
        }
        let (user, password) = Self.cut(authority[..<at], at: ":")
        self.user = user.isEmpty ? nil : Self.decoded(user)
        self.password = password.flatMap { Self.decoded($0) }
        self.hosts = authority[authority.index(after: at)...]
    }

    func nodes(defaultPort: Int) throws(RedisAddress.Malformed) -> [RedisAddress.Node] {
        var nodes: [RedisAddress.Node] = []
        for host in self.hosts.split(separator: ",", omittingEmptySubsequences: false) {
            // [::1]:6379, or a name and a port.
            let isBracketed = host.first == "["
            let end = isBracketed ? host.firstIndex(of: "]").map { host.index(after: $0) } : host.lastIndex(of: ":")
            let name =
                isBracketed ? host[..<(end ?? host.endIndex)].dropFirst().dropLast() : host[..<(end ?? host.endIndex)]
            let port = end.map { host[$0...].drop { $0 == ":" } } ?? ""
            guard !name.isEmpty, !isBracketed || end != nil else {
                throw RedisAddress.Malformed(reason: "it names no host")
            }
            guard let number = port.isEmpty ? defaultPort : Int(port), (1...65_535).contains(number) else {
                throw RedisAddress.Malformed(reason: "its port is not 1 to 65535")
            }
            nodes.append(RedisAddress.Node(host: String(name), port: number))
        }
        return nodes
    }

    private static func cut(_ text: Substring, at separator: Character) -> (Substring, Substring?) {
        guard let place = text.firstIndex(of: separator) else { return (text, nil) }
        return (text[..<place], text[text.index(after: place)...])
    }

    /// %40 becomes @ (RFC 3986, 2.1); `nil` for what is no such escape or no UTF-8.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let escaped = UInt8(String(Substring(rest.prefix(2))), radix: 16) else { return nil }
            bytes.append(escaped)
            rest.removeFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

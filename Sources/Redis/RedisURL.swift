// Redis URLs. redis: one node; unix: its socket file; redis+sentinel: the master that Sentinels report; redis+cluster:
// a cluster, by some of its nodes. rediss, with an additional s, uses TLS.

extension RedisAddress {
    /// Parses one of
    ///
    ///     redis://[user[:password]@]host[:port][/database]
    ///     unix:/path[?database=n]
    ///     redis+sentinel://[user[:password]@]host[:port],…/master[/database][?sentinel_user=…&sentinel_password=…]
    ///     redis+cluster://[user[:password]@]host[:port],…
    ///
    /// With rediss instead of redis, three options are available: `?ca=file` for the trusted CAs in PEM (default: the
    /// system's), `cert=file&key=file` for a client certificate, and `name=…` if the server's certificate is for another
    /// name than the host's. A certificate for the address itself is accepted as well.
    ///
    /// - Throws: `Malformed`, which says what is wrong and what is expected, but never the password.
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
            throw Malformed(reason: "its scheme is not redis, rediss, redis+sentinel, redis+cluster or unix")
        }
        guard url[colon...].hasPrefix("://") else { throw Malformed(reason: "it has no host") }
        let text = try URLParts(url[colon...].dropFirst(3))
        try self.init(text, kind: parts.dropFirst().first, isTLS: first == "rediss")
    }

    /// The accepted query parameters. Any other parameter is a mistake, or part of a password that contains a question
    /// mark.
    private static let parameters = parametersOfTLS.union(parametersOfSentinels)
    private static let parametersOfTLS: Set = ["ca", "cert", "key", "name"]
    private static let parametersOfSentinels: Set = ["sentinel_user", "sentinel_password"]

    private init(_ parts: URLParts, kind: String?, isTLS: Bool) throws(Malformed) {
        guard Self.parameters.isSuperset(of: parts.query.keys) else {
            throw Malformed(
                reason: "only \(Self.parameters.sorted().joined(separator: ", ")) may follow the question mark"
                    + "; write a question mark in a password as %3F")
        }
        try Self.refuseUnused(parts.query.keys, kind: kind, isTLS: isTLS)
        let nodes = try parts.nodes(defaultPort: kind == "sentinel" ? 26_379 : 6379)
        guard let node = nodes.first else { throw Malformed(reason: "it has no host") }
        var path = parts.path
        let endpoint: Endpoint
        switch kind {
        case "sentinel":
            guard !path.isEmpty else {
                throw Malformed(reason: "it does not name the master that the Sentinels monitor")
            }
            endpoint = .sentinels(nodes, master: path.removeFirst())
        case "cluster": endpoint = .cluster(nodes)
        default:
            guard nodes.count == 1 else {
                throw Malformed(reason: "it has several hosts, but redis:// accepts only one")
            }
            endpoint = .tcp(host: node.host, port: node.port)
        }
        guard path.count <= 1, path.isEmpty || UInt16(path[0]) != nil else {
            throw Malformed(reason: "the text after the last slash is not a database number")
        }
        let database = path.first.flatMap { Int($0) } ?? 0
        guard kind != "cluster" || database == 0 else { throw Malformed(reason: "a cluster has only database 0") }
        self.init(endpoint: endpoint, user: parts.user, password: parts.password, database: database)
        self.sentinelUser = parts.query["sentinel_user"]
        self.sentinelPassword = parts.query["sentinel_password"]
        guard isTLS else { return }
        let (certificate, key) = (parts.query["cert"], parts.query["key"])
        guard (certificate == nil) == (key == nil) else {
            throw Malformed(reason: "cert and key must be given together")
        }
        self.tls = RedisTLS(
            authorities: parts.query["ca"], certificate: certificate, key: key, serverName: parts.query["name"])
    }

    /// Refuses parameters that this kind of URL would ignore: a `redis:` URL with `ca=`, for example, would connect in
    /// plain text.
    private static func refuseUnused(
        _ parameters: some Sequence<String>, kind: String?, isTLS: Bool
    ) throws(Malformed) {
        func named(_ names: Set<String>) -> String { names.sorted().joined(separator: ", ") }
        let ofTLS = Self.parametersOfTLS.intersection(parameters)
        let ofSentinels = Self.parametersOfSentinels.intersection(parameters)
        guard isTLS || ofTLS.isEmpty else {
            let suffix = kind.map { "+\($0)" } ?? ""
            throw Malformed(
                reason:
                    "\(named(ofTLS)) would be ignored without TLS; write rediss\(suffix):// instead of redis\(suffix)://"
            )
        }
        guard kind == "sentinel" || ofSentinels.isEmpty else {
            throw Malformed(
                reason: "\(named(ofSentinels)) would be ignored without Sentinels; remove it, or use redis+sentinel")
        }
        guard ofSentinels != ["sentinel_user"] else {
            throw Malformed(reason: "sentinel_user would be ignored without sentinel_password")
        }
    }

    /// `unix:/path`, `unix:///path` or `unix://user:password@/path`.
    private init(unix url: String) throws(Malformed) {
        var text = url.dropFirst("unix:".count)
        let hasAuthority = text.hasPrefix("//")
        if hasAuthority { text = text.dropFirst(2) }
        let parts = try URLParts(hasAuthority ? text : Substring(text))
        guard text.contains("/"), parts.hosts.isEmpty, !parts.path.isEmpty else {
            throw Malformed(reason: "it has no socket file")
        }
        guard Set(["database"]).isSuperset(of: parts.query.keys) else {
            throw Malformed(reason: "a socket file accepts only ?database=n; write a question mark in the path as %3F")
        }
        let database = parts.query["database"]
        guard database == nil || database.flatMap(UInt16.init) != nil else {
            throw Malformed(reason: "database is not a number")
        }
        self.init(
            endpoint: .unix(path: "/" + parts.path.joined(separator: "/")), user: parts.user, password: parts.password,
            database: database.flatMap(Int.init) ?? 0)
    }

    /// A URL that cannot be parsed.
    package struct Malformed: Error, Equatable, CustomStringConvertible {
        package let reason: String
        package var description: String {
            "The Redis URL is invalid: \(self.reason). Use redis://[user:password@]host[:port][/database], "
                + "unix:/path/to/socket, redis+sentinel://host:port,host:port/master or "
                + "redis+cluster://host:port,host:port; rediss for TLS."
        }
    }
}

/// The part after the two slashes. Foundation's parser accepts only one host.
private struct URLParts {
    var user: String?
    var password: String?
    var hosts: Substring
    var path: [String]
    var query: [String: String] = [:]

    /// - Throws: `Malformed` if a reserved character splits a password in two. Otherwise the parts would be read as a
    ///   host and a port, and the error would be about them.
    init(_ text: Substring) throws(RedisAddress.Malformed) {
        let (beforeQuery, query) = Self.cut(text, at: "?")
        for item in query?.split(separator: "&") ?? [] {
            let (name, value) = Self.cut(item, at: "=")
            self.query[String(name)] = try Self.decoded(value ?? "")
        }
        let (authority, path) = Self.cut(beforeQuery, at: "/")
        var segments: [String] = []
        for segment in (path ?? "").split(separator: "/") { segments.append(try Self.decoded(segment)) }
        self.path = segments
        guard let at = authority.lastIndex(of: "@") else {
            guard path?.contains("@") != true || authority.isEmpty else {
                throw RedisAddress.Malformed(
                    reason: "there is a slash before its @; write a slash in a user or a password as %2F")
            }
            self.hosts = authority
            return
        }
        let (user, password) = Self.cut(authority[..<at], at: ":")
        self.user = user.isEmpty ? nil : try Self.decoded(user)
        if let password { self.password = try Self.decoded(password) }
        self.hosts = authority[authority.index(after: at)...]
    }

    func nodes(defaultPort: Int) throws(RedisAddress.Malformed) -> [RedisAddress.Node] {
        var nodes: [RedisAddress.Node] = []
        for host in self.hosts.split(separator: ",", omittingEmptySubsequences: false) {
            // `[::1]:6379`, or a name and a port.
            let isBracketed = host.first == "["
            let end = isBracketed ? host.firstIndex(of: "]").map { host.index(after: $0) } : host.lastIndex(of: ":")
            let name =
                isBracketed ? host[..<(end ?? host.endIndex)].dropFirst().dropLast() : host[..<(end ?? host.endIndex)]
            let port = end.map { host[$0...].drop { $0 == ":" } } ?? ""
            guard !name.isEmpty, !isBracketed || end != nil else {
                throw RedisAddress.Malformed(reason: "it has no host")
            }
            guard let number = port.isEmpty ? defaultPort : Int(port), (1...65_535).contains(number) else {
                throw RedisAddress.Malformed(reason: "its port is not between 1 and 65535")
            }
            nodes.append(RedisAddress.Node(host: String(name), port: number))
        }
        return nodes
    }

    private static func cut(_ text: Substring, at separator: Character) -> (Substring, Substring?) {
        guard let place = text.firstIndex(of: separator) else { return (text, nil) }
        return (text[..<place], text[text.index(after: place)...])
    }

    /// Decodes escapes: %40 becomes @ (RFC 3986, 2.1).
    private static func decoded(_ text: Substring) throws(RedisAddress.Malformed) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
                let escaped = UInt8(String(Substring(digits)), radix: 16)
            else {
                throw RedisAddress.Malformed(
                    reason: "it has a percent sign without two hexadecimal digits; write a percent sign as %25")
            }
            bytes.append(escaped)
            rest.removeFirst(2)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw RedisAddress.Malformed(reason: "its percent-encoded bytes are not UTF-8")
        }
        return text
    }
}

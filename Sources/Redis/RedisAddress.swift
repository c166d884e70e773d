// Where a Redis is, from a URL: redis://[user[:password]@]host[:port][/database] or unix:/path[?database=n].

internal import FoundationEssentials

/// Address, credentials and database of one Redis.
package struct RedisAddress: Hashable, Sendable {
    package enum Endpoint: Hashable, Sendable {
        case tcp(host: String, port: Int)
        case unix(path: String)
    }

    package var endpoint: Endpoint
    package var user: String?
    package var password: String?
    package var database = 0

    package init(endpoint: Endpoint, user: String? = nil, password: String? = nil, database: Int = 0) {
        self.endpoint = endpoint
        self.user = user
        self.password = password
        self.database = database
    }

    /// - Throws: `Malformed`, which says what is wrong and how it should be, never the password.
    package init(url: String) throws(Malformed) {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme else {
            throw Malformed(reason: "it is not a URL")
        }
        switch scheme {
        case "redis":
            guard let host = parts.host, !host.isEmpty else { throw Malformed(reason: "it names no host") }
            let port = parts.port ?? 6379
            guard (1...65_535).contains(port) else { throw Malformed(reason: "its port is not 1 to 65535") }
            let path = parts.path.drop { $0 == "/" }
            guard path.isEmpty || UInt16(path) != nil else {
                throw Malformed(reason: "what follows the last slash is not a database number")
            }
            self.init(
                endpoint: .tcp(host: host, port: port), user: parts.user.flatMap { $0.isEmpty ? nil : $0 },
                password: parts.password, database: Int(path) ?? 0)
        case "unix":
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
        default: throw Malformed(reason: "its scheme is neither redis nor unix")
        }
    }

    /// A URL that could not be understood.
    package struct Malformed: Error, Equatable, CustomStringConvertible {
        package let reason: String
        package var description: String {
            "The Redis URL can not be used: \(self.reason). "
                + "It should be redis://[user:password@]host[:port][/database] or unix:/path/to/socket."
        }
    }
}

extension RedisAddress: CustomStringConvertible, CustomReflectable {
    /// Without credentials.
    package var description: String {
        switch self.endpoint {
        case .tcp(let host, let port): "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

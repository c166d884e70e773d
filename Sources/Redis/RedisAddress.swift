// How to reach a Redis: one node, the master that Sentinels report, or a cluster, with credentials and TLS. Parsed from
// a URL (RedisURL.swift).

/// Address, credentials and database of one Redis.
package struct RedisAddress: Hashable, Sendable {
    package struct Node: Hashable, Sendable, CustomStringConvertible {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        /// As in a URL: an IPv6 address is in brackets.
        package var description: String {
            self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
        }
    }

    package enum Endpoint: Hashable, Sendable {
        case tcp(host: String, port: Int)
        case unix(path: String)
        /// Sentinels that know the master of this name.
        case sentinels([Node], master: String)
        /// Some nodes of a cluster; the others are discovered through them.
        case cluster([Node])
    }

    package var endpoint: Endpoint
    package var user: String?
    package var password: String?
    package var database = 0
    /// `nil` for no TLS.
    package var tls: RedisTLS?
    /// Credentials for the Sentinels, which have their own users.
    package var sentinelUser: String?
    package var sentinelPassword: String?

    package init(endpoint: Endpoint, user: String? = nil, password: String? = nil, database: Int = 0) {
        self.endpoint = endpoint
        self.user = user
        self.password = password
        self.database = database
    }

    /// Returns the same settings for one node.
    package func at(_ node: Node) -> RedisAddress {
        var address = self
        address.endpoint = .tcp(host: node.host, port: node.port)
        return address
    }

    /// Returns the settings for a Sentinel, which has neither databases nor the master's users.
    func atSentinel(_ node: Node) -> RedisAddress {
        var address = self.at(node)
        (address.user, address.password, address.database) = (self.sentinelUser, self.sentinelPassword, 0)
        return address
    }
}

extension RedisAddress: CustomStringConvertible, CustomReflectable {
    /// Without credentials.
    package var description: String {
        switch self.endpoint {
        case .tcp(let host, let port): "\(Node(host: host, port: port))"
        case .unix(let path): "unix:\(path)"
        case .sentinels(let nodes, let master):
            "\(master) of the Sentinels \(nodes.map(\.description).joined(separator: ","))"
        case .cluster(let nodes): "the cluster of \(nodes.map(\.description).joined(separator: ","))"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

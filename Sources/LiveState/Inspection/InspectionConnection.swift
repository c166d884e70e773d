// How a Redis is reached, as far as an inspection needs it: whether others can read the traffic on the way, and how
// staff call redis-cli. Contains no credentials.

internal import OutboundHTTP
package import Redis

/// The connection to one Redis.
package struct RedisConnectionInfo: Sendable, Hashable {
    package enum Transport: Sendable, Hashable {
        /// A Unix socket or loopback.
        case sameMachine
        case encrypted
        case plaintext
    }

    package var transport: Transport
    /// How to call redis-cli: `redis-cli -h 10.0.0.5 -p 6379`. With Sentinels and in a cluster, the host and port are
    /// those of the inspected master, or placeholders if it is unknown.
    package var commandLine: String
    /// A command that shows whether Redis can be reached: a PING, or, with Sentinels and in a cluster, a query for the masters.
    package var connectionTest: String
    /// Host and port, the socket's path, or the Sentinels or nodes that lead to the host.
    package var name: String

    /// - Parameter master: the inspected master of `address`; `nil` if it is unknown.
    package init(_ address: RedisAddress, at master: RedisAddress? = nil) {
        self.name = address.description
        let authorities = address.tls?.authorities.map { " --cacert \($0)" } ?? ""
        let options = address.tls == nil ? "" : " --tls" + authorities
        let known = master ?? address
        self.transport = address.tls != nil ? .encrypted : Self.isOnThisMachine(known) ? .sameMachine : .plaintext
        self.commandLine = "redis-cli \(Self.target(of: known))" + options
        self.connectionTest =
            switch address.endpoint {
            case .sentinels(let nodes, let name):
                "redis-cli \(Self.target(of: nodes.first))\(options) SENTINEL GET-MASTER-ADDR-BY-NAME \(name)"
            case .cluster(let nodes): "redis-cli \(Self.target(of: nodes.first))\(options) CLUSTER SLOTS"
            case .tcp, .unix: self.commandLine + " PING"
            }
    }

    private static func isOnThisMachine(_ address: RedisAddress) -> Bool {
        switch address.endpoint {
        case .unix: true
        case .tcp(let host, _): LoopbackHost.contains(host)
        // A Sentinel may run on this machine while the master does not.
        case .sentinels: false
        case .cluster(let nodes): nodes.allSatisfy { LoopbackHost.contains($0.host) }
        }
    }

    private static func target(of address: RedisAddress) -> String {
        switch address.endpoint {
        case .unix(let path): "-s \(path)"
        case .tcp(let host, let port): self.target(of: RedisAddress.Node(host: host, port: port))
        case .sentinels, .cluster: self.target(of: RedisAddress.Node?.none)
        }
    }

    private static func target(of node: RedisAddress.Node?) -> String {
        node.map { "-h \($0.host) -p \($0.port)" } ?? "-h HOST -p PORT"
    }
}

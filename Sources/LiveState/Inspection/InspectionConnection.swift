// How a Redis is reached, as far as an inspection needs it: whether the traffic can be read on the way, and how staff call
// redis-cli. Contains no credentials.

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
    /// How to call redis-cli: `redis-cli -h 10.0.0.5 -p 6379`. With Sentinels and in a cluster the host is a placeholder,
    /// because the affected node need not be one of the address.
    package var commandLine: String
    /// Host and port, the socket's path, or the Sentinels or nodes that lead to the host.
    package var name: String

    package init(_ address: RedisAddress) {
        self.name = address.description
        let isNear: Bool
        var target = "-h HOST -p PORT"
        switch address.endpoint {
        case .unix(let path): (isNear, target) = (true, "-s \(path)")
        case .tcp(let host, let port): (isNear, target) = (LoopbackHost.contains(host), "-h \(host) -p \(port)")
        // A Sentinel may run on this machine while the master does not.
        case .sentinels: isNear = false
        case .cluster(let nodes): isNear = nodes.allSatisfy { LoopbackHost.contains($0.host) }
        }
        self.transport = address.tls != nil ? .encrypted : isNear ? .sameMachine : .plaintext
        let authorities = address.tls?.authorities.map { " --cacert \($0)" } ?? ""
        self.commandLine = "redis-cli \(target)" + (address.tls == nil ? "" : " --tls" + authorities)
    }
}

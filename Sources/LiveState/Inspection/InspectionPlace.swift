// Where a Redis is, as far as an inspection is concerned: is what we send readable on the way, and how do people reach it
// with redis-cli. Without credentials.

internal import OutboundHTTP
package import Redis

/// The way to one Redis.
package struct RedisPlace: Sendable, Hashable {
    package enum Way: Sendable, Hashable {
        /// A socket file or loopback.
        case sameMachine
        case encrypted
        case readable
    }

    package var way: Way
    /// How redis-cli is called: `redis-cli -h 10.0.0.5 -p 6379`. Behind Sentinels and in a cluster the host is open: the
    /// node at fault need not be one of the address.
    package var commandLine: String
    /// Host and port, the socket file, or what leads to the host.
    package var name: String

    package init(_ address: RedisAddress) {
        self.name = address.description
        let isNear: Bool
        var target = "-h HOST -p PORT"
        switch address.endpoint {
        case .unix(let path): (isNear, target) = (true, "-s \(path)")
        case .tcp(let host, let port): (isNear, target) = (LoopbackHost.contains(host), "-h \(host) -p \(port)")
        // A Sentinel may well stand beside us while the master does not.
        case .sentinels: isNear = false
        case .cluster(let nodes): isNear = nodes.allSatisfy { LoopbackHost.contains($0.host) }
        }
        self.way = address.tls != nil ? .encrypted : isNear ? .sameMachine : .readable
        let authorities = address.tls?.authorities.map { " --cacert \($0)" } ?? ""
        self.commandLine = "redis-cli \(target)" + (address.tls == nil ? "" : " --tls" + authorities)
    }
}

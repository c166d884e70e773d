// Addresses on this host, and how to find a free one.

package import Redis

private import NIOConcurrencyHelpers
package import NIOCore
package import NIOPosix

/// A socket address on this host.
package enum LoopbackEndpoint: Hashable, Sendable {
    case tcp(port: Int)
    case unix(path: String)

    /// A free TCP port.
    package static func freeTCP() async throws -> LoopbackEndpoint { .tcp(port: try await freePort()) }

    package var url: String {
        switch self {
        case .tcp(let port): "redis://127.0.0.1:\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    package var address: RedisAddress {
        get throws { try RedisAddress(url: self.url) }
    }

    package var port: Int? { if case .tcp(let port) = self { port } else { nil } }

    package func connect(_ bootstrap: ClientBootstrap) -> EventLoopFuture<any Channel> {
        switch self {
        case .tcp(let port): bootstrap.connect(host: "127.0.0.1", port: port)
        case .unix(let path): bootstrap.connect(unixDomainSocketPath: path)
        }
    }

    package func bind(_ bootstrap: ServerBootstrap) -> EventLoopFuture<any Channel> {
        switch self {
        case .tcp(let port): bootstrap.bind(host: "127.0.0.1", port: port)
        case .unix(let path): bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true)
        }
    }
}

/// Returns a TCP port of this host that is currently free. No other test of this process gets it.
///
/// It is outside the range from which the kernel assigns client ports (from 32,768 on Linux). Otherwise, a server that is down
/// for a while could find its port used by a client, or by a client that is connected to itself. It is tested by connecting,
/// not by listening, because a process that is being started at the same time would inherit a listening socket for a moment.
package func freePort() async throws -> Int {
    for _ in 0..<UsedPorts.maxAttempts {
        let port = Int.random(in: UsedPorts.range)
        guard !UsedPorts.demos.contains(port) else { continue }
        guard UsedPorts.all.withLockedValue({ $0.insert(port).inserted }) else { continue }
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        guard let taken = try? await bootstrap.connect(host: "127.0.0.1", port: port).get() else { return port }
        try await taken.close()
    }
    throw NothingArrived(description: "no free port in \(UsedPorts.range) after \(UsedPorts.maxAttempts) attempts")
}

private enum UsedPorts {
    static let all = NIOLockedValueBox<Set<Int>>([])
    static let range = 10_240...32_000
    /// Tests of the demo choose its first port themselves, and it listens on the next ones.
    static let demos = 18_443...23_543
    static let maxAttempts = 1000
}

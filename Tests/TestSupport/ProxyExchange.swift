// The internals of LossyProxy: its switches, the selection of dropped pushes, and its connections.

internal import NIOCore

private import NIOPosix

/// Decides which pushes a proxy drops.
struct PushLosses {
    private var loss = Loss.none
    /// Pushes since `loss` was set.
    private var countSince = 0
    private(set) var pushCount = 0
    private(set) var lostCount = 0

    mutating func lose(_ loss: Loss) { (self.loss, self.countSince) = (loss, 0) }

    /// Counts a push and returns whether to drop it.
    mutating func takes(pushOf channel: String) -> Bool {
        self.pushCount += 1
        self.countSince += 1
        let isLost =
            switch self.loss {
            case .none: false
            case .push(let number): self.countSince == number
            case .channel(let name): channel == name
            case .all: true
            }
        if isLost { self.lostCount += 1 }
        return isLost
    }
}

/// All connections of one proxy, and its switches. Confined to its event loop.
final class ProxyExchange {
    let eventLoop: any EventLoop
    private let upstream: LoopbackEndpoint
    private var open: [ObjectIdentifier: ProxyConnection] = [:]
    private(set) var connectionCount = 0
    var losses = PushLosses()
    var delay = TimeAmount.zero
    var isRefusing = false
    var isHolding = false {
        didSet { if !self.isHolding { for connection in self.open.values { connection.pump() } } }
    }

    init(upstream: LoopbackEndpoint, eventLoop: any EventLoop) {
        (self.upstream, self.eventLoop) = (upstream, eventLoop)
    }

    var openCount: Int { self.open.count }

    func cut() { for connection in self.open.values { connection.close() } }

    /// A client has connected.
    func take(_ client: any Channel) throws {
        self.eventLoop.preconditionInEventLoop()
        guard !self.isRefusing else { return client.close(promise: nil) }
        let connection = ProxyConnection(exchange: self, client: client)
        self.connectionCount += 1
        self.open[ObjectIdentifier(connection)] = connection
        try client.pipeline.syncOperations.addHandler(ProxyInput { connection.toServer.put($0) })
        let bound = NIOLoopBound(connection, eventLoop: self.eventLoop)
        let bootstrap = ClientBootstrap(group: self.eventLoop).channelInitializer { server in
            server.eventLoop.makeCompletedFuture {
                try server.pipeline.syncOperations.addHandler(ProxyInput { bound.value.hear($0) })
            }
        }
        self.upstream.connect(bootstrap).whenComplete { outcome in
            switch outcome {
            case .success(let server): bound.value.stands(server)
            case .failure: bound.value.close()
            }
        }
    }

    func forget(_ connection: ProxyConnection) { self.open[ObjectIdentifier(connection)] = nil }
}

// Staying connected: connect, sign in, and when it ends connect again after a random wait that grows. What is kept on
// the connection (commands, subscriptions) is up to who owns the link.

internal import Logging
internal import NIOCore
internal import NIOPosix
internal import Telemetry

/// A connection to one Redis that comes back by itself. Confined to its event loop.
final class RedisLink {
    let address: RedisAddress
    let eventLoop: any EventLoop
    private let timing: RedisTiming
    private let logger: Logger
    private(set) var handler: RedisChannelHandler?
    private var attempts = 0
    private var isStopped = false

    /// The connection stands and is signed in.
    var onUp: ((RedisChannelHandler) -> Void)?
    /// It ended, or could not be made; another attempt follows.
    var onDown: ((RedisError) -> Void)?

    init(address: RedisAddress, eventLoop: any EventLoop, timing: RedisTiming, logger: Logger) {
        self.address = address
        self.eventLoop = eventLoop
        self.timing = timing
        self.logger = logger
    }

    /// The first attempt: fails with its reason, and nothing is tried again.
    func start() -> EventLoopFuture<Void> {
        self.eventLoop.preconditionInEventLoop()
        return self.connect()
    }

    func stop() {
        self.isStopped = true
        self.handler?.close(.disconnected)
    }

    private func connect() -> EventLoopFuture<Void> {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let (address, eventLoop) = (self.address, self.eventLoop)
        let handler = NIOLoopBound(
            RedisChannelHandler(eventLoop: eventLoop, timing: self.timing), eventLoop: eventLoop)
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(self.timing.connect)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(handler.value)
                }
            }
        let connected: EventLoopFuture<any Channel> =
            switch address.endpoint {
            case .tcp(let host, let port):
                bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1).connect(host: host, port: port)
            case .unix(let path): bootstrap.connect(unixDomainSocketPath: path)
            }
        return connected.flatMapErrorThrowing { error in
            throw RedisError.unreachable(address: address.description, reason: "\(error)")
        }.flatMap { channel in
            let signedIn = Self.signIn(handler.value, address, eventLoop)
            signedIn.whenFailure { _ in channel.close(promise: nil) }
            return signedIn.map { bound.value.stands(handler.value) }
        }
    }

    private static func signIn(
        _ handler: RedisChannelHandler, _ address: RedisAddress, _ eventLoop: any EventLoop
    ) -> EventLoopFuture<Void> {
        var steps: [EventLoopFuture<Void>] = []
        if let password = address.password {
            let words = ["AUTH"] + [address.user].compactMap { $0 } + [password]
            steps.append(
                handler.send(RedisCommand(words.map { .text($0) })).map { _ in }.flatMapErrorThrowing { error in
                    throw RedisError.authenticationRefused(address: address.description, reason: reason(error))
                })
        }
        let database = address.database
        if database != 0 {
            steps.append(
                handler.send(["SELECT", .integer(database)]).map { _ in }.flatMapErrorThrowing { error in
                    // Not about the database: PING, the last step, says it in its own words.
                    if case RedisError.refused("NOAUTH", _) = error { return }
                    throw RedisError.databaseRefused(
                        address: address.description, database: database, reason: reason(error))
                })
        }
        steps.append(
            handler.send(["PING"]).map { _ in }.flatMapErrorThrowing { error in
                guard case RedisError.refused(let code, _) = error, ["NOAUTH", "WRONGPASS"].contains(code) else {
                    throw error
                }
                throw RedisError.authenticationRefused(address: address.description, reason: reason(error))
            })
        return EventLoopFuture.andAllSucceed(steps, on: eventLoop)
    }

    private func stands(_ handler: RedisChannelHandler) {
        self.attempts = 0
        self.handler = handler
        handler.onClosed = { [weak self] reason in self?.ended(reason) }
        if self.isStopped { return handler.close(.disconnected) }
        self.onUp?(handler)
    }

    private func ended(_ reason: RedisError) {
        self.handler = nil
        guard !self.isStopped else { return }
        self.logger.warning(
            "Redis connection ended", metadata: [LogKey.redis: "\(self.address)", LogKey.reason: "\(reason)"])
        self.onDown?(reason)
        self.reconnect()
    }

    /// Full jitter: rand(0, min(longest, shortest * 2^n)).
    private func reconnect() {
        let ceiling = min(
            self.timing.longestBackoff.nanoseconds, self.timing.shortestBackoff.nanoseconds << min(self.attempts, 20))
        self.attempts += 1
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.eventLoop.scheduleTask(in: .nanoseconds(.random(in: 0...ceiling))) {
            let link = bound.value
            guard !link.isStopped else { return }
            link.connect().whenFailure { error in
                bound.value.logger.debug("Redis connection failed", metadata: [LogKey.reason: "\(error)"])
                bound.value.reconnect()
            }
        }
    }
}

private func reason(_ error: any Error) -> String {
    if case RedisError.refused(_, let message) = error { message } else { "\(error)" }
}

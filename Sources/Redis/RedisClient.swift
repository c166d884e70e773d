// Commands for one Redis, over one connection of one event loop, from anywhere.

package import Logging
package import NIOCore

/// A pipelined command connection that comes back by itself. Commands may be sent from any thread; without a connection
/// they fail at once with `RedisError.disconnected`.
package final class RedisClient: Sendable {
    package let eventLoop: any EventLoop
    private let link: NIOLoopBound<RedisLink>

    /// Must be called on `eventLoop`.
    package init(address: RedisAddress, eventLoop: any EventLoop, timing: RedisTiming = RedisTiming(), logger: Logger) {
        self.eventLoop = eventLoop
        self.link = NIOLoopBound(
            RedisLink(address: address, eventLoop: eventLoop, timing: timing, logger: logger), eventLoop: eventLoop)
    }

    /// Connects. Fails when the first attempt fails; afterwards the connection comes back by itself.
    package func start() -> EventLoopFuture<Void> {
        self.onLoop { $0.start() }
    }

    package func stop() {
        self.eventLoop.execute { self.link.value.stop() }
    }

    /// Sends a command. An error that Redis answers fails the future with `RedisError.refused`.
    package func send(_ command: RedisCommand) -> EventLoopFuture<RESPValue> {
        self.onLoop { link in
            link.handler?.send(command) ?? link.eventLoop.makeFailedFuture(RedisError.disconnected)
        }
    }

    /// Runs a script by its digest; a server that does not know it gets the source, once.
    package func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisCommand.Word]
    ) -> EventLoopFuture<RESPValue> {
        self.send(script.call(keys: keys, arguments: arguments)).flatMapError { error in
            guard case RedisError.refused("NOSCRIPT", _) = error else {
                return self.eventLoop.makeFailedFuture(error)
            }
            return self.send(script.introduction(keys: keys, arguments: arguments))
        }
    }

    private func onLoop<Value: Sendable>(
        _ body: @escaping @Sendable (RedisLink) -> EventLoopFuture<Value>
    ) -> EventLoopFuture<Value> {
        if self.eventLoop.inEventLoop { return body(self.link.value) }
        return self.eventLoop.flatSubmit { body(self.link.value) }
    }
}

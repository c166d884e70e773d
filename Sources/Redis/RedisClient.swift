// Sends commands to one Redis from one event loop, wherever its master is.

package import Logging
package import NIOCore
package import Telemetry

/// Pipelined commands over connections that reconnect automatically: to one node, to the master that Sentinels report,
/// or to the masters of a cluster. Commands may be sent from any thread. Without a connection they fail immediately
/// with `RedisError.disconnected`.
package final class RedisClient: Sendable {
    package let eventLoop: any EventLoop
    /// One node, the master that Sentinels report, or a cluster.
    package let endpoint: RedisAddress.Endpoint
    let route: NIOLoopBound<any RedisRoute>
    /// Receives every failed command.
    let witness: (any RedisObserver)?

    /// Must be called on `eventLoop`.
    ///
    /// - Parameter replyTimes: where the time until each reply is recorded; must belong to the same event loop.
    package init(
        address: RedisAddress, eventLoop: any EventLoop, timing: RedisTiming = RedisTiming(), logger: Logger,
        witness: (any RedisObserver)? = nil, replyTimes: DurationRecorder? = nil
    ) {
        self.eventLoop = eventLoop
        self.witness = witness
        self.endpoint = address.endpoint
        let route: any RedisRoute =
            if case .cluster(let nodes) = address.endpoint {
                ClusterRoute(
                    address: address, nodes: nodes, eventLoop: eventLoop, timing: timing, logger: logger,
                    witness: witness, replyTimes: replyTimes)
            } else {
                MasterRoute(
                    address: address, eventLoop: eventLoop, timing: timing, logger: logger, witness: witness,
                    replyTimes: replyTimes)
            }
        self.route = NIOLoopBound(route, eventLoop: eventLoop)
    }

    /// Connects. Fails when the first attempt fails, and may be called again then; afterwards the client reconnects
    /// automatically.
    package func start() -> EventLoopFuture<Void> {
        self.onLoop { $0.start() }
    }

    package func stop() {
        self.eventLoop.execute { self.route.value.stop() }
    }

    /// Since when it is unresponsive; `nil` while it responds. On `eventLoop` only.
    package var unresponsiveSince: NIODeadline? { self.route.value.unresponsiveSince }

    /// The replicas that receive writes; in a cluster, those of the master with the fewest. `nil` if their number is
    /// unknown. On `eventLoop` only.
    package var onlineReplicas: Int? { self.route.value.onlineReplicas }

    /// Calls `body` whenever the connection to a master is re-established. That may be another master, which may lack
    /// the latest writes. On `eventLoop` only.
    package func onReturned(_ body: @escaping () -> Void) { self.route.value.onReturned = body }

    /// Sends a command. An error reply fails the future with `RedisError.refused`. In a cluster the command goes to the node
    /// of its first key and follows redirections.
    package func send(_ command: RedisCommand) -> EventLoopFuture<RESPValue> {
        self.sendQuickly(command) {
            $0.send(command, isDurable: false).map(\.value)
        } succeeded: {
            self.succeeded(command)
        } failed: {
            self.report($0, of: command)
        }
    }

    /// Runs a script by its digest. If the server does not know it, the source is sent once.
    package func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisCommand.Word]
    ) -> EventLoopFuture<RESPValue> {
        let call = script.call(keys: keys, arguments: arguments)
        return self.sendQuickly(call) { route in
            route.send(call, isDurable: false).flatMapError { error in
                guard case RedisError.refused("NOSCRIPT", _) = error else {
                    return self.eventLoop.makeFailedFuture(error)
                }
                let introduction = script.introduction(keys: keys, arguments: arguments)
                return self.route.value.send(introduction, isDurable: false)
            }.map(\.value)
        } succeeded: {
        } failed: {
            self.report($0, of: call, by: script.name)
        }
    }

    /// Sends a command with one future, which is the usual case. Redirections, unknown scripts and missing connections
    /// use the general path, where each step is a future.
    private func sendQuickly(
        _ command: RedisCommand, generally: @escaping @Sendable (any RedisRoute) -> EventLoopFuture<RESPValue>,
        succeeded: @escaping @Sendable () -> Void, failed: @escaping @Sendable (any Error) -> Void
    ) -> EventLoopFuture<RESPValue> {
        let promise = self.eventLoop.makePromise(of: RESPValue.self)
        let complete: @Sendable (Result<RESPValue, any Error>) -> Void = { result in
            switch result {
            case .success: succeeded()
            case .failure(let error): failed(error)
            }
            promise.completeWith(result)
        }
        if self.eventLoop.inEventLoop {
            let route = self.route.value
            let isSent = route.handler(of: command)?.sendDirectly { reply in
                switch reply {
                case .reply(let tape): complete(.success(tape.value))
                case .failure(let error) where error.needsGeneralPath: generally(route).whenComplete(complete)
                case .failure(let error): complete(.failure(error))
                }
            } _: {
                command.write(into: &$0)
            }
            if isSent == true { return promise.futureResult }
        }
        self.onLoop(generally).whenComplete(complete)
        return promise.futureResult
    }

    /// Runs a script and, if there are replicas, waits until as many as `RedisTiming.quorum` requires have confirmed
    /// its writes (`WAIT`). This delays later commands of this client by at most `RedisTiming.replication`.
    package func evaluateDurably(
        _ script: RedisScript, keys: [String], arguments: [RedisCommand.Word]
    ) -> EventLoopFuture<Durable<RESPValue>> {
        self.evaluate(script, keys: keys, arguments: arguments, isDurable: true)
    }

    private func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisCommand.Word], isDurable: Bool
    ) -> EventLoopFuture<Durable<RESPValue>> {
        self.onLoop { $0.send(script.call(keys: keys, arguments: arguments), isDurable: isDurable) }
            .flatMapError { error in
                guard case RedisError.refused("NOSCRIPT", _) = error else {
                    self.report(error, of: script.call(keys: keys, arguments: []), by: script.name)
                    return self.eventLoop.makeFailedFuture(error)
                }
                return self.onLoop {
                    $0.send(script.introduction(keys: keys, arguments: arguments), isDurable: isDurable)
                }.flatMapErrorThrowing { error in
                    self.report(error, of: script.call(keys: keys, arguments: []), by: script.name)
                    throw error
                }
            }
    }

    /// Returns the address of the master that has this key.
    ///
    /// - Throws: (in the future) `RedisError`.
    package func master(ofKey key: String) -> EventLoopFuture<RedisAddress> {
        self.onLoop { route in
            guard let location = route.location(ofChannel: key) else {
                return self.eventLoop.makeFailedFuture(RedisError.disconnected)
            }
            return route.locate(location)
        }
    }

    private func onLoop<Value: Sendable>(
        _ body: @escaping @Sendable (any RedisRoute) -> EventLoopFuture<Value>
    ) -> EventLoopFuture<Value> {
        if self.eventLoop.inEventLoop { return body(self.route.value) }
        return self.eventLoop.flatSubmit { body(self.route.value) }
    }
}

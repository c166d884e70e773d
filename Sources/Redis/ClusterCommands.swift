// Sends commands to the masters of a cluster, and sends them again where a redirection leads.

internal import NIOCore

extension ClusterRoute {
    /// The maximum number of redirections of one command.
    private static let maxRedirections = 5
    /// The delay before a command is sent again after TRYAGAIN, while its slot is being moved.
    private static let tryAgainDelay = TimeAmount.milliseconds(50)

    func send(_ command: RedisCommand, isDurable: Bool) -> EventLoopFuture<Durable<RESPValue>> {
        guard let slot = command.slot else { return self.sendAnywhere(command) }
        guard let node = self.map.owner(of: slot), let master = self.masters[node] else {
            return self.eventLoop.makeFailedFuture(RedisError.disconnected)
        }
        return self.following(
            master.part.send(command, isDurable: isDurable), command, isDurable, asked: node,
            left: Self.maxRedirections)
    }

    func handler(ofKey key: String) -> RedisChannelHandler? {
        self.map.owner(of: HashSlot.of(key)).flatMap { self.masters[$0]?.link.handler }
    }

    func handler(of command: RedisCommand) -> RedisChannelHandler? {
        command.slot.flatMap { self.map.owner(of: $0) }.flatMap { self.masters[$0]?.link.handler }
    }

    /// Sends a command without a key to any master.
    private func sendAnywhere(_ command: RedisCommand) -> EventLoopFuture<Durable<RESPValue>> {
        guard let master = self.masters.values.first(where: { $0.link.handler != nil }) else {
            return self.eventLoop.makeFailedFuture(RedisError.disconnected)
        }
        return master.part.send(command, isDurable: false)
    }

    private func following(
        _ answer: EventLoopFuture<Durable<RESPValue>>, _ command: RedisCommand, _ isDurable: Bool,
        asked: RedisAddress.Node, left: Int
    ) -> EventLoopFuture<Durable<RESPValue>> {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        return answer.flatMapError { error in
            let route = bound.value
            route.note(error, of: asked)
            guard left > 0 else { return route.eventLoop.makeFailedFuture(error) }
            if let redirection = Redirection(error, asked: asked) {
                return route.redirected(redirection, command, isDurable, left: left - 1)
            }
            guard case RedisError.refused("TRYAGAIN", _) = error else {
                return route.eventLoop.makeFailedFuture(error)
            }
            return route.eventLoop.flatScheduleTask(in: Self.tryAgainDelay) {
                let route = bound.value
                guard let slot = command.slot, let node = route.map.owner(of: slot), let master = route.masters[node]
                else {
                    return route.eventLoop.makeFailedFuture(RedisError.disconnected)
                }
                return route.following(
                    master.part.send(command, isDurable: isDurable), command, isDurable, asked: node, left: left - 1)
            }.futureResult
        }
    }

    private func redirected(
        _ redirection: Redirection, _ command: RedisCommand, _ isDurable: Bool, left: Int
    ) -> EventLoopFuture<Durable<RESPValue>> {
        let node = redirection.node
        if self.masters[node] == nil { self.addMaster(node) }
        if redirection.isPermanent {
            self.map.apply(redirection)
            _ = self.refresh()
        }
        guard let master = self.masters[node] else {
            return self.eventLoop.makeFailedFuture(RedisError.disconnected)
        }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let part = NIOLoopBound(master.part, eventLoop: self.eventLoop)
        let link = NIOLoopBound(master.link, eventLoop: self.eventLoop)
        return master.link.whenConnected().flatMap {
            // ASKING applies to the next command on the same connection.
            if !redirection.isPermanent { _ = link.value.send(["ASKING"]) }
            return bound.value.following(
                part.value.send(command, isDurable: isDurable), command, isDurable, asked: node, left: left)
        }
    }
}

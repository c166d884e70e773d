// The masters of a cluster: a link to each of them, and the slot map, which says where a key belongs. The map is refreshed
// after every MOVED, after CLUSTERDOWN, and while a master that owns slots is not connected.

internal import Logging
internal import NIOCore
internal import Telemetry

/// Routes commands and channels to the masters of a cluster. Confined to its event loop.
final class ClusterRoute: RedisRoute {
    private let address: RedisAddress
    private let seeds: [RedisAddress.Node]
    let eventLoop: any EventLoop
    private let timing: RedisTiming
    private let logger: Logger
    private let witness: (any RedisObserver)?
    private let replyTimes: DurationRecorder?
    var map = ClusterMap()
    private(set) var masters: [RedisAddress.Node: Master] = [:]
    private var refreshing: EventLoopFuture<Void>?
    /// Nodes that have answered CLUSTERDOWN since the last refresh. Their slot maps may be outdated: a node that is cut off
    /// from the cluster keeps its slots in its own map although another node serves them.
    private var doubtful: Set<RedisAddress.Node> = []
    private var timer: RepeatedTask?
    private var brokenSince: NIODeadline?
    private var isStopped = false
    private var hasStarted = false
    var onMoved: ((RedisAddress.Node?) -> Void)?
    var onReturned: (() -> Void)?

    struct Master {
        let link: RedisLink
        let part: ReplicationMonitor
    }

    /// The minimum time between two refreshes of a map that may be wrong.
    private static let refreshDelay = TimeAmount.milliseconds(200)

    init(
        address: RedisAddress, nodes: [RedisAddress.Node], eventLoop: any EventLoop, timing: RedisTiming,
        logger: Logger, witness: (any RedisObserver)?, replyTimes: DurationRecorder?
    ) {
        self.address = address
        self.seeds = nodes
        self.eventLoop = eventLoop
        self.timing = timing
        self.logger = logger
        self.witness = witness
        self.replyTimes = replyTimes
    }

    func start() -> EventLoopFuture<Void> {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        return self.refresh().flatMap {
            let route = bound.value
            guard route.map.isWhole else { return route.eventLoop.makeFailedFuture(Self.incompleteMap) }
            if route.timer == nil {
                route.timer = route.eventLoop.scheduleRepeatedTask(
                    initialDelay: Self.refreshDelay, delay: Self.refreshDelay
                ) { _ in bound.value.tick() }
            }
            return EventLoopFuture.andAllSucceed(
                route.masters.values.map { $0.link.whenConnected() }, on: route.eventLoop)
        }.map { bound.value.hasStarted = true }
    }

    func stop() {
        self.isStopped = true
        self.timer?.cancel()
        self.masters.values.forEach { $0.link.stop() }
        self.masters = [:]
    }

    private func tick() {
        let isBroken = !self.map.isWhole || self.masters.values.contains { $0.link.unresponsiveSince != nil }
        if isBroken || !self.doubtful.isEmpty { _ = self.refresh() }
    }

    var unresponsiveSince: NIODeadline? {
        if !self.map.isWhole { self.brokenSince = self.brokenSince ?? .now() } else { self.brokenSince = nil }
        let owners = self.map.nodes
        return
            (self.masters.filter { owners.contains($0.key) }.map { $0.value.link.unresponsiveSince } + [
                self.brokenSince
            ])
            .compactMap { $0 }.min()
    }

    var onlineReplicas: Int? {
        let counts = self.map.nodes.map { node -> Int? in
            guard let master = self.masters[node], master.link.handler != nil else { return nil }
            return master.part.onlineReplicas
        }
        return counts.contains(nil) ? nil : counts.compactMap { $0 }.min()
    }

    // MARK: Slot map

    private static let incompleteMap = RedisError.refused(
        code: "CLUSTERDOWN", message: "CLUSTERDOWN not all slots have a master")

    /// Records an answer of a node. After CLUSTERDOWN, the map is refreshed with the next tick.
    func note(_ error: any Error, of node: RedisAddress.Node) {
        if case RedisError.refused("CLUSTERDOWN", _) = error { self.doubtful.insert(node) }
    }

    /// Queries the connected nodes, then those of the URL, and doubtful ones last, until one knows the owners of all slots.
    /// If none does, the most complete map is used.
    func refresh() -> EventLoopFuture<Void> {
        if let refreshing { return refreshing }
        guard !self.isStopped else { return self.eventLoop.makeFailedFuture(RedisError.disconnected) }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let connected = self.masters.filter { $0.value.link.unresponsiveSince == nil }.keys.shuffled()
        let nodes = connected + self.seeds.filter { !connected.contains($0) }
        let ordered = nodes.filter { !self.doubtful.contains($0) } + nodes.filter { self.doubtful.contains($0) }
        self.doubtful = []
        let query = self.query(ordered, best: nil, last: nil).map { bound.value.adopt($0) }
        self.refreshing = query
        query.whenComplete { _ in bound.value.refreshing = nil }
        return query
    }

    private func query(
        _ nodes: [RedisAddress.Node], best: ClusterMap?, last: RedisError?
    ) -> EventLoopFuture<ClusterMap> {
        guard let node = nodes.first else {
            if let best { return self.eventLoop.makeSucceededFuture(best) }
            return self.eventLoop.makeFailedFuture(
                last ?? RedisError.unreachable(address: self.address.description, reason: "no node answers"))
        }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let isUnknownNode = self.masters[node] == nil
        let link = NIOLoopBound(
            self.masters[node]?.link ?? self.createLink(node, peer: .node), eventLoop: self.eventLoop)
        let connected = isUnknownNode ? link.value.start() : link.value.whenConnected()
        let answer = connected.flatMap { link.value.send(["CLUSTER", "SLOTS"]) }.flatMapThrowing { answer in
            guard let map = ClusterMap(answer, from: node) else {
                throw RedisError.unexpectedAnswer(command: "CLUSTER SLOTS")
            }
            // A node that has never joined the cluster, or was reset.
            guard !map.nodes.isEmpty else { throw Self.incompleteMap }
            return map
        }
        answer.whenComplete { _ in if isUnknownNode { link.value.stop() } }
        let others = Array(nodes.dropFirst())
        return answer.map { Result<ClusterMap, any Error>.success($0) }.flatMapErrorThrowing { .failure($0) }.flatMap {
            switch $0 {
            case .success(let map) where map.isWhole: return bound.value.eventLoop.makeSucceededFuture(map)
            case .success(let map):
                let isBetter = map.ownedSlots > best?.ownedSlots ?? 0
                return bound.value.query(others, best: isBetter ? map : best, last: last)
            case .failure(let error): return bound.value.query(others, best: best, last: error as? RedisError)
            }
        }
    }

    private func adopt(_ map: ClusterMap) {
        guard map != self.map, !self.isStopped else { return }
        let before = self.map
        self.map = map
        for node in map.nodes where self.masters[node] == nil { self.addMaster(node) }
        for (node, master) in self.masters where !map.nodes.contains(node) {
            master.link.stop()
            self.masters[node] = nil
        }
        guard before != ClusterMap() else { return }
        let masters = map.nodes.sorted { $0.port < $1.port }.map(\.description).joined(separator: ",")
        RedisConnectionEvent.slotsMoved(to: masters).report(to: self.witness, self.logger)
        self.onMoved?(nil)
    }

    func addMaster(_ node: RedisAddress.Node) {
        let link = self.createLink(node, peer: .master)
        let part = ReplicationMonitor(link: link)
        let changed: () -> Void = { [weak self, weak link] in
            link?.leave(for: nil)
            _ = self?.refresh()
        }
        part.onChanged = changed
        link.onDemoted = changed
        let before = link.onUp
        link.onUp = { [weak self] handler in
            before?(handler)
            if self?.hasStarted == true { self?.onReturned?() }
        }
        self.masters[node] = Master(link: link, part: part)
        link.connectWithRetries()
    }

    private func createLink(_ node: RedisAddress.Node, peer: RedisSignIn.Peer) -> RedisLink {
        let address = self.address.at(node)
        return RedisLink(
            eventLoop: self.eventLoop, timing: self.timing, logger: self.logger, witness: self.witness, peer: peer,
            replyTimes: self.replyTimes,
            locate: { [eventLoop = self.eventLoop] in eventLoop.makeSucceededFuture(address) })
    }

    // MARK: Channels

    func location(ofChannel channel: String) -> ChannelLocation? {
        self.map.owner(of: HashSlot.of(channel)).map { .node($0) }
    }

    func noteRedirection(_ error: RedisError, at location: ChannelLocation) {
        guard case .node(let node) = location else { return }
        if let redirection = Redirection(error, asked: node), redirection.isPermanent {
            self.map.apply(redirection)
            if self.masters[redirection.node] == nil { self.addMaster(redirection.node) }
        }
        _ = self.refresh()
    }

    func note(_ error: RedisError, at location: ChannelLocation) {
        if case .node(let node) = location { self.note(error, of: node) }
    }

    var locations: [ChannelLocation] { self.map.nodes.map { .node($0) } }

    func locate(_ location: ChannelLocation) -> EventLoopFuture<RedisAddress> {
        guard case .node(let node) = location else { return self.eventLoop.makeFailedFuture(RedisError.disconnected) }
        return self.eventLoop.makeSucceededFuture(self.address.at(node))
    }
}

// A real cluster: three masters that share the slots, a replica for each, and operations on them. Assembled as an operator
// would, with CLUSTER MEET, ADDSLOTSRANGE and REPLICATE.

private import Redis

/// Six nodes, on this host.
package struct ClusterFleet: Sendable {
    package struct Node: Sendable {
        package let id: String
        package let redis: RestartableRedis
        package var endpoint: LoopbackEndpoint { self.redis.endpoint }
        package var port: Int { self.redis.port }
    }

    /// Initially 0 to 2 are the masters of a third of the slots each, and 3 to 5 their replicas, in the same order.
    package let nodes: [Node]

    package static let slotCount = 16_384
    /// How long a node may be silent before it counts as failed, ms.
    package static let nodeTimeoutMilliseconds = 1000
    private static let masterCount = 3

    /// Runs a healthy cluster while `body` runs.
    ///
    /// - Parameters:
    ///   - requiresFullCoverage: whether all nodes refuse to serve while some slots are not served.
    ///   - options: additional arguments of each redis-server.
    package static func running<Result: Sendable>(
        requiresFullCoverage: Bool = false, options: [String] = [], _ body: (ClusterFleet) async throws -> Result
    ) async throws -> Result {
        try await FleetSite.open { site in
            var redises: [RestartableRedis] = []
            for number in 0..<2 * self.masterCount {
                let own = [
                    "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-announce-ip",
                    "127.0.0.1",
                    "--cluster-port", "\(try await freePort())",
                    "--cluster-node-timeout", "\(self.nodeTimeoutMilliseconds)",
                    "--cluster-require-full-coverage", requiresFullCoverage ? "yes" : "no",
                    "--cluster-allow-replica-migration", "no",
                ]
                redises.append(try await site.redis("\(number)", options: own + options))
            }
            try await redises.startAll()
            var nodes: [Node] = []
            for redis in redises {
                nodes.append(Node(id: try await redis.run("CLUSTER", "MYID").text ?? "", redis: redis))
            }
            let fleet = ClusterFleet(nodes: nodes)
            try await fleet.putTogether()
            return try await body(fleet)
        }
    }

    /// All nodes, as a redis+cluster URL.
    package var url: String {
        "redis+cluster://" + self.nodes.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
    }

    // MARK: Assembly

    private func putTogether() async throws {
        let (masters, replicas) = (self.nodes.prefix(Self.masterCount), self.nodes.dropFirst(Self.masterCount))
        for (number, master) in masters.enumerated() {
            let first = Self.slotCount * number / Self.masterCount
            let last = Self.slotCount * (number + 1) / Self.masterCount - 1
            try await master.endpoint.carryOut("CLUSTER", "ADDSLOTSRANGE", "\(first)", "\(last)")
            try await master.endpoint.carryOut("CLUSTER", "SET-CONFIG-EPOCH", "\(number + 1)")
        }
        // Each node meets every other one, because gossip alone would take seconds.
        for (number, node) in self.nodes.enumerated() {
            for other in self.nodes.prefix(number) {
                let port = try await other.endpoint.carryOut("CONFIG", "GET", "cluster-port").array?.last?.text ?? ""
                try await node.endpoint.carryOut("CLUSTER", "MEET", "127.0.0.1", "\(other.port)", port)
            }
        }
        try await becomes("every node of the cluster knows all others") {
            try await self.views().allSatisfy { view in
                view.nodes.count == self.nodes.count && !view.nodes.contains { $0.flags.contains("handshake") }
            }
        }
        for (master, replica) in zip(masters, replicas) {
            try await replica.endpoint.carryOut("CLUSTER", "REPLICATE", master.id)
        }
        try await self.settled()
    }

    // MARK: State

    /// The views of all nodes that are not frozen.
    package func views() async throws -> [ClusterView] {
        var views: [ClusterView] = []
        for node in self.nodes where await node.redis.isAwake {
            views.append(ClusterView(try await node.redis.run("CLUSTER", "NODES").text ?? ""))
        }
        return views
    }

    /// Waits until all nodes that are not frozen agree on the owner of each slot, one of them serves it, and every replica is
    /// up to date.
    package func settled(within bound: Duration = longestSettling) async throws {
        try await becomes("the cluster is healthy", within: bound) {
            let views = try await self.views()
            let awake = Dictionary(uniqueKeysWithValues: views.compactMap { $0.own }.map { ($0.id, $0) })
            guard let owners = views.first?.owners, views.allSatisfy({ $0.owners == owners }) else { return false }
            guard owners.keys.allSatisfy({ awake[$0]?.isMaster == true }) else { return false }
            guard owners.values.joined().map(\.count).reduce(0, +) == Self.slotCount else { return false }
            guard awake.values.allSatisfy({ owners[$0.id] != nil || owners[$0.masterID ?? ""] != nil }) else {
                return false
            }
            for node in self.nodes where awake[node.id] != nil {
                let replicaCount = awake.values.count { $0.masterID == node.id }
                guard try await node.isInOrder(replicaCount: replicaCount) else { return false }
            }
            return true
        }
    }

    /// The node that claims to serve a slot; of several, the one with the greatest epoch.
    package func master(of slot: Int) async throws -> Node {
        let owners = try await self.views().compactMap { $0.own }.filter { $0.isMaster && $0.owns(slot) }
        guard let owner = owners.max(by: { $0.epoch < $1.epoch }) else {
            throw NothingArrived(description: "no running node serves slot \(slot)")
        }
        return self.node(owner.id)
    }

    package func replicas(of master: Node) async throws -> [Node] {
        try await self.views().compactMap { $0.own }.filter { $0.masterID == master.id }.map { self.node($0.id) }
    }

    private func node(_ id: String) -> Node {
        guard let node = self.nodes.first(where: { $0.id == id }) else {
            preconditionFailure("no node has the id \(id)")
        }
        return node
    }

    // MARK: Operations

    /// `CLUSTER FAILOVER`: a replica and its master swap roles, and all nodes know it. Repeated every few seconds, because
    /// masters vote at most once in two timeouts, and an attempt without their votes is abandoned.
    package func failOver(to replica: Node) async throws {
        var asked = ContinuousClock.now - Self.attempt
        try await becomes("\(replica.port) is a master") {
            let views = try await self.views()
            if views.allSatisfy({ $0.owners[replica.id] != nil }) { return true }
            let isMaster = views.contains { $0.own?.id == replica.id && $0.own?.isMaster == true }
            if !isMaster, ContinuousClock.now - asked > Self.attempt {
                asked = .now
                try await replica.endpoint.carryOut("CLUSTER", "FAILOVER")
            }
            return false
        }
        try await self.settled()
    }

    /// Time limit for one failover attempt.
    private static let attempt = Duration.seconds(6)

    /// Prepares moving a slot away from its owner; nothing has happened yet.
    package func migration(of slot: Int, to target: Node) async throws -> SlotMigration {
        let source = try await self.master(of: slot)
        var others: [Node] = []
        for node in self.nodes where node.id != source.id && node.id != target.id {
            if try await self.views().contains(where: { $0.own?.id == node.id && $0.own?.isMaster == true }) {
                others.append(node)
            }
        }
        return SlotMigration(slot: slot, source: source, target: target, others: others)
    }

    /// The slot of a key or a sharded channel: CRC16 (XMODEM) of it, or of its hash tag.
    package static func slot(of key: String) -> Int {
        var hashed = Array(key.utf8)
        if let open = hashed.firstIndex(of: UInt8(ascii: "{")),
            let close = hashed[open...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        {
            hashed = Array(hashed[(open + 1)..<close])
        }
        var crc: UInt16 = 0
        for byte in hashed {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
        }
        return Int(crc) % self.slotCount
    }
}

extension ClusterFleet.Node {
    /// Whether it is a master with this many connected replicas, or an up-to-date replica.
    fileprivate func isInOrder(replicaCount: Int) async throws -> Bool {
        let state = try await self.redis.run("CLUSTER", "INFO").text ?? ""
        guard state.contains("cluster_state:ok") else { return false }
        let replication = try await ReplicationState(of: self.endpoint)
        return replication.isMaster ? replication.replicaCount >= replicaCount : replication.isInStep
    }
}

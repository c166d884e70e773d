// A real master with two replicas and three Sentinels that watch it, and what happens to them.

private import Redis

/// Three servers and three Sentinels, on this host.
package struct SentinelFleet: Sendable {
    /// The first is the master at first.
    package let servers: [RestartableRedis]
    package let sentinels: [RestartableRedis]

    package static let masterName = "mymaster"
    /// Sentinels that must agree that a master is dead.
    package static let quorum = 2
    /// How long a server may be silent before a Sentinel takes it for dead, ms.
    package static let downAfterMilliseconds = 1000
    /// After which a failover that has come to nothing may be tried again is twice this, ms.
    package static let failoverTimeoutMilliseconds = 5000

    /// Runs one that is in order, for as long as `body` does.
    ///
    /// - Parameter options: further words of each server's command line, not of the Sentinels'.
    package static func running<Result: Sendable>(
        options: [String] = [], _ body: (SentinelFleet) async throws -> Result
    ) async throws -> Result {
        try await FleetSite.open { site in
            let master = try await site.redis("0", options: options)
            var servers = [master]
            for number in 1...2 {
                let own = ["--replicaof", "127.0.0.1 \(master.port)"]
                servers.append(try await site.redis("\(number)", options: own + options))
            }
            try await servers.startAll()
            try await becomes("the replicas have what their master has") {
                try await Self.rolesAreInOrder(of: servers)
            }
            var sentinels: [RestartableRedis] = []
            for number in 1...3 {
                sentinels.append(try await site.sentinel("sentinel-\(number)", Self.configuration(master.port)))
            }
            try await sentinels.startAll()
            let fleet = SentinelFleet(servers: servers, sentinels: sentinels)
            for sentinel in sentinels { try await sentinel.endpoint.carryOut(["SENTINEL", "DEBUG"] + Self.haste) }
            try await fleet.settled()
            return try await body(fleet)
        }
    }

    private static func configuration(_ masterPort: Int) -> [String] {
        [
            "sentinel monitor \(self.masterName) 127.0.0.1 \(masterPort) \(self.quorum)",
            "sentinel down-after-milliseconds \(self.masterName) \(self.downAfterMilliseconds)",
            "sentinel failover-timeout \(self.masterName) \(self.failoverTimeoutMilliseconds)",
            "sentinel parallel-syncs \(self.masterName) 1",
        ]
    }

    /// Sentinels look and talk more often than by themselves, and take no busy machine for a clock gone wrong, ms.
    private static let haste = ["info-period", "500", "publish-period", "200", "tilt-trigger", "20000"]

    /// All Sentinels, with a scheme of our own.
    package var url: String {
        "redis+sentinel://\(self.sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ","))/\(Self.masterName)"
    }

    // MARK: what it looks like

    /// The master that Sentinel `number` names.
    package func master(accordingTo number: Int = 0) async throws -> RestartableRedis {
        let answer = try await self.sentinels[number].endpoint
            .carryOut("SENTINEL", "GET-MASTER-ADDR-BY-NAME", Self.masterName)
        let port = answer.array?.last?.text.flatMap(Int.init)
        guard let master = self.servers.first(where: { $0.port == port }) else {
            throw NothingCame(description: "Sentinel \(number) names no master of ours: \(answer)")
        }
        return master
    }

    /// Waits until the Sentinels that are awake name the same master, which is one, the other servers that are awake
    /// are its replicas and have what it has, and the Sentinels know of all of them and of each other.
    package func settled(within bound: Duration = longestSettling) async throws {
        try await becomes("the Sentinels and their servers are in order", within: bound) {
            let servers = try await self.servers.awake()
            let sentinels = try await self.sentinels.awake()
            var masters: Set<Int> = []
            for sentinel in sentinels {
                let view = try await SentinelView(of: Self.masterName, from: sentinel.endpoint)
                guard view.isInOrder(replicas: servers.count - 1, sentinels: self.sentinels.count - 1) else {
                    return false
                }
                masters.insert(view.port)
            }
            guard masters.count == 1, let master = servers.first(where: { masters.contains($0.port) }) else {
                return false
            }
            return try await Self.rolesAreInOrder(of: [master] + servers.filter { $0.port != master.port })
        }
    }

    /// The first is the master, the others are its replicas, in step.
    private static func rolesAreInOrder(of servers: [RestartableRedis]) async throws -> Bool {
        for (number, server) in servers.enumerated() {
            let replication = try await ReplicationState(of: server.endpoint)
            let isInOrder =
                number == 0
                ? replication.isMaster && replication.replicaCount == servers.count - 1
                : replication.isInStep && replication.masterPort == servers[0].port
            guard isInOrder else { return false }
        }
        return true
    }

    // MARK: what happens to it

    /// `SENTINEL FAILOVER`: another server is made the master, and all know it.
    ///
    /// - Returns: the new master.
    @discardableResult
    package func failOver(within bound: Duration = longestSettling) async throws -> RestartableRedis {
        let old = try await self.master()
        try await self.sentinels[0].endpoint.carryOut("SENTINEL", "FAILOVER", Self.masterName)
        return try await self.successor(of: old, within: bound)
    }

    /// Waits until another server is the master, and then until all is in order.
    ///
    /// - Parameter bound: until another is named.
    /// - Returns: the new master.
    @discardableResult
    package func successor(
        of old: RestartableRedis, within bound: Duration = longestSettling
    ) async throws -> RestartableRedis {
        try await becomes("another than \(old.port) is the master", within: bound) {
            try await self.master().port != old.port
        }
        try await self.settled()
        return try await self.master()
    }
}

// A real master with two replicas, three Sentinels that monitor it, and operations on them.

private import Redis

/// Three servers and three Sentinels, on this host.
package struct SentinelFleet: Sendable {
    /// The first one is initially the master.
    package let servers: [RestartableRedis]
    package let sentinels: [RestartableRedis]

    package static let masterName = "mymaster"
    /// Number of Sentinels that must agree that a master has failed.
    package static let quorum = 2
    /// How long a server may be silent before a Sentinel considers it failed, ms.
    package static let downAfterMilliseconds = 1000
    /// A failed failover may be retried after twice this time, ms.
    package static let failoverTimeoutMilliseconds = 5000

    /// Runs a healthy fleet while `body` runs.
    ///
    /// - Parameter options: additional arguments of each server, but not of the Sentinels.
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

    /// The interval in ms at which Sentinels poll and communicate: shorter than by default, but long enough that a busy
    /// machine is not mistaken for a clock error.
    private static let haste = ["info-period", "500", "publish-period", "200", "tilt-trigger", "20000"]

    /// All Sentinels, as a redis+sentinel URL.
    package var url: String {
        "redis+sentinel://\(self.sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ","))/\(Self.masterName)"
    }

    // MARK: State

    /// The master according to Sentinel `number`.
    package func master(accordingTo number: Int = 0) async throws -> RestartableRedis {
        let answer = try await self.sentinels[number].endpoint
            .carryOut("SENTINEL", "GET-MASTER-ADDR-BY-NAME", Self.masterName)
        let port = answer.array?.last?.text.flatMap(Int.init)
        guard let master = self.servers.first(where: { $0.port == port }) else {
            throw NothingArrived(description: "Sentinel \(number) does not name one of the servers: \(answer)")
        }
        return master
    }

    /// Waits until all running Sentinels name the same running master, the other running servers are its up-to-date replicas,
    /// and the Sentinels know all of them and each other.
    package func settled(within bound: Duration = longestSettling) async throws {
        try await becomes("the Sentinels and their servers are healthy", within: bound) {
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

    /// Makes the first server the master and the others its replicas, in sync.
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

    // MARK: Operations

    /// `SENTINEL FAILOVER`: promotes another server, and waits until all know it.
    ///
    /// - Returns: the new master.
    @discardableResult
    package func failOver(within bound: Duration = longestSettling) async throws -> RestartableRedis {
        let old = try await self.master()
        try await self.sentinels[0].endpoint.carryOut("SENTINEL", "FAILOVER", Self.masterName)
        return try await self.successor(of: old, within: bound)
    }

    /// Waits until another server is the master, and then until everything is healthy.
    ///
    /// - Parameter bound: time limit until another one is named.
    /// - Returns: the new master.
    @discardableResult
    package func successor(
        of old: RestartableRedis, within bound: Duration = longestSettling
    ) async throws -> RestartableRedis {
        try await becomes("a server other than \(old.port) is the master", within: bound) {
            try await self.master().port != old.port
        }
        try await self.settled()
        return try await self.master()
    }
}

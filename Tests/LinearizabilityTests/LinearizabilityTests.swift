// Random histories of four clients against real Redis. ENROUTE_HISTORIES and ENROUTE_FIRST_SEED set their number and the first
// seed.

import Embedded
import EnrouteWire
import FoundationEssentials
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@Suite(.needsMachine(for: .volume)) struct LinearizabilityTests {
    /// Number of histories in this run, and the seed of the first.
    private static let count = Self.number("ENROUTE_HISTORIES") ?? 2_000
    private static let first = Self.number("ENROUTE_FIRST_SEED") ?? 1
    /// Concurrent histories on the same connections.
    private static let beside: UInt64 = 8
    /// Histories interrupted by a failover; one in this many.
    private static let interrupted: UInt64 = 40
    private static let share: UInt64 = 50

    /// Makes a replica copy the data set immediately.
    private static let soon = ["--repl-diskless-sync-delay", "0"]

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    private static func zone(_ seed: UInt64) -> ZoneID { ZoneID("z\(seed)")! }

    /// Connections of four clients, and one more for lost answers.
    private func clients(of address: RedisAddress) async throws -> [RedisClient] {
        var clients: [RedisClient] = []
        for _ in 0...Plan.clientCount { clients.append(try await RedisClient.started(at: address)) }
        return clients
    }

    /// Runs a body for each seed, with limited concurrency.
    private func forEach(
        _ seeds: Range<UInt64>, _ body: @escaping @Sendable (UInt64) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, seed) in seeds.enumerated() {
                if index >= Self.beside { try await group.next() }
                group.addTask { try await body(seed) }
            }
            try await group.waitForAll()
        }
    }

    /// The zone's log since a version: no entry is missing, and the rider was never offline with a task.
    private func audit(_ seed: UInt64, since version: Int64, _ client: RedisClient) async throws {
        let pool = ZonePool(ledger: client, live: client, settings: LiveStateSettings())
        let changes = try #require(try await pool.read(Self.zone(seed), since: version).get().changes, "\(seed)")
        var last = version
        for change in changes {
            #expect(change.previous == last && change.version > last, "seed \(seed): \(change)")
            #expect(change.status == .online || change.tasks == 0, "seed \(seed): \(change)")
            let isAvailable =
                change.status == .online && change.isReachable && change.isApproved && change.tasks < change.capacity
            #expect(change.isAvailable == isAvailable, "seed \(seed): \(change)")
            last = change.version
        }
    }

    @Test func `each of 2,000 histories is linearizable`() async throws {
        try await withServer { server in
            let clients = try await self.clients(of: server.address)
            defer { for client in clients { client.stop() } }
            let scripted = clients.map { ScriptClient($0) }
            var mutable = LinearizabilityClients(executors: scripted)
            mutable.mortal = {
                let client = try await RedisClient.started(at: server.address)
                return (ScriptClient(client), { client.stop() })
            }
            let runners = mutable
            try await self.forEach(Self.first..<Self.first + Self.count) { seed in
                let version = try await scripted[0].begin(in: Self.zone(seed))
                let history = try await runners.carryOut(Plan(seed: seed), in: Self.zone(seed))
                #expect(history.linearization() != nil, "seed \(seed)\n\(history.story)")
                try await self.audit(seed, since: version, clients[0])
            }
        }
    }

    @Test func `the same steps as separate commands are not linearizable`() async throws {
        try await withServer { server in
            let clients = try await self.clients(of: server.address)
            defer { for client in clients { client.stop() } }
            let runners = LinearizabilityClients(executors: clients.map { SeparateCommands(client: $0) })
            let rejected = LogicalClock()
            try await self.forEach(Self.first..<Self.first + 500) { seed in
                let history = try await runners.carryOut(Plan(seed: seed).answered, in: Self.zone(seed))
                if history.linearization() == nil { _ = rejected.next() }
            }
            #expect(rejected.count > 0)
        }
    }

    @Test func `a server that is killed and restarted with its file has lost nothing it acknowledged`()
        async throws
    {
        let rounds = max(1, Self.count / Self.share / Self.interrupted)
        try await RestartableRedis.running { server in
            let clients = try await self.clients(of: server.address)
            defer { for client in clients { client.stop() } }
            let scripted = clients.map { ScriptClient($0) }
            let runners = LinearizabilityClients(executors: scripted, successor: { scripted[0] })
            for round in 0..<rounds {
                let seeds = (Self.first + round * Self.interrupted)..<(Self.first + (round + 1) * Self.interrupted)
                var begun: [UInt64: Int64] = [:]
                for seed in seeds { begun[seed] = try await scripted[0].begin(in: Self.zone(seed)) }
                let histories = try await self.interrupt(seeds, runners) { try await server.restart() }
                for (seed, history) in histories {
                    #expect(history.linearization() != nil, "seed \(seed)\n\(history.story)")
                    try await self.audit(seed, since: begun[seed] ?? 0, clients[0])
                }
            }
        }
    }

    @Test func `a promoted replica has everything it had confirmed`() async throws {
        for round in 0..<max(1, Self.count / Self.share / Self.interrupted) {
            let port = try await freePort()
            try await RestartableRedis.running(port: port, options: Self.soon) { master in
                try await RestartableRedis.running(options: ["--replicaof", "127.0.0.1 \(port)"]) { replica in
                    try await self.failOver(from: master, to: replica, round)
                }
            }
        }
    }

    private func failOver(from master: RestartableRedis, to replica: RestartableRedis, _ round: UInt64) async throws {
        let clients = try await self.clients(of: master.address)
        defer { for client in clients { client.stop() } }
        let scripted = clients.map { ScriptClient($0) }
        let seeds = (Self.first + round * Self.interrupted)..<(Self.first + (round + 1) * Self.interrupted)
        // All clients have seen the replica, and it has the initial state of the histories.
        var attempts = 0
        for (index, executor) in scripted.enumerated() {
            let isKnown = try await eventually {
                attempts += 1
                let zone = ZoneID("known-\(index)-\(attempts)")!
                let answer = try await executor.riders.describe(
                    rider(of: zone), in: zone, isApproved: true, capacity: 1, by: .init(rider(of: zone))
                ).get()
                return answer.replicas == 1
            }
            try #require(isKnown)
        }
        for seed in seeds { _ = try await scripted[0].begin(in: Self.zone(seed)) }
        try #require(try await eventually { try await Self.offset(master) == Self.offset(replica) })
        let later = try await RedisClient.made(at: replica.address)
        defer { later.stop() }
        let runners = LinearizabilityClients(
            executors: scripted, successor: { ScriptClient(later) }, isForgetful: true)
        let histories = try await self.interrupt(seeds, runners) {
            await master.crash()
            _ = try await replica.run("REPLICAOF", "NO", "ONE")
            try await later.start().get()
        }
        var count = 0
        for (seed, history) in histories {
            #expect(history.beforeFailover.linearization() != nil, "seed \(seed)\n\(history.story)")
            #expect(history.afterFailover.linearization() != nil, "seed \(seed)\n\(history.story)")
            count += history.events.count { $0.isLater }
        }
        #expect(count > 0)
    }

    /// The replication offset of a server.
    private static func offset(_ redis: RestartableRedis) async throws -> Substring? {
        let info = try await redis.run("INFO", "replication").text ?? ""
        let line = info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("master_repl_offset:") }
        return line?.split(separator: ":").last
    }

    /// Executes the histories of all these seeds concurrently, and an action in the middle of them.
    private func interrupt(
        _ seeds: Range<UInt64>, _ runners: LinearizabilityClients,
        by interruption: @escaping @Sendable () async throws -> Void
    ) async throws -> [(UInt64, History)] {
        let asked = LogicalClock()
        let counting = LinearizabilityClients(
            executors: runners.executors.map { Counting(executor: $0) { _ = asked.next() } },
            successor: runners.successor, isForgetful: runners.isForgetful)
        let middle = 4 * seeds.count
        return try await withThrowingTaskGroup(of: (UInt64, History)?.self) { group in
            group.addTask {
                #expect(await eventually { asked.count > middle }, "the histories ended before their middle")
                try await interruption()
                return nil
            }
            for seed in seeds {
                group.addTask { (seed, try await counting.carryOut(Plan(seed: seed), in: Self.zone(seed))) }
            }
            return try await group.reduce(into: []) { if let history = $1 { $0.append(history) } }
        }
    }
}

/// Reports each call.
private struct Counting: CallExecutor {
    let executor: any CallExecutor
    let told: @Sendable () -> Void

    func answer(_ call: Call, in zone: ZoneID, request: String) async throws -> Reply {
        self.told()
        return try await self.executor.answer(call, in: zone, request: request)
    }
}

extension Plan {
    /// The same calls without failures.
    var answered: Plan {
        var plan = self
        plan.clients = plan.clients.map { steps in steps.map { Step(call: $0.call, fate: .answered) } }
        return plan
    }
}

import EnrouteWire
import NIOCore
import Redis
import TestSupport
import Testing

/// Failovers of Redis. In each test `OutageScenario` checks that no client is disconnected and that followers miss nothing.
/// Each fleet fails over `ENROUTE_FAILOVERS` times, by default once.
@Suite(.needsMachine(for: .faults)) struct FailoverTests {
    // MARK: Sentinel

    private static func withSentinels(
        _ failOver: @escaping @Sendable (OutageScenario, SentinelFleet) async throws -> Void
    ) async throws {
        try await SentinelFleet.running { fleet in
            let address = try RedisAddress(url: fleet.url)
            try await OutageScenario.run(live: address, ledger: address) { scenario in
                for _ in 0..<OutageScenario.rounds {
                    // A replica may report that it is in sync before it has received the latest writes.
                    try await fleet.master().endpoint.write("probe", "1", replicas: 2)
                    try await failOver(scenario, fleet)
                }
            }
        }
    }

    @Test func `followers catch up after Sentinel has replaced a killed master`() async throws {
        try await Self.withSentinels { scenario, fleet in
            let master = try await fleet.master()
            await master.crash()
            try await scenario.allAreTold(of: "master killed")
            _ = try await fleet.successor(of: master)
            try await scenario.allRecover(from: "Sentinels' failover")
            try await master.start()
            try await fleet.settled()
        }
    }

    @Test func `followers catch up after a hanging master was replaced and resumed`() async throws {
        try await Self.withSentinels { scenario, fleet in
            let master = try await fleet.master()
            try await master.freeze()
            _ = try await fleet.successor(of: master)
            try await scenario.all { $0.degraded == $0.restored }
            try await master.thaw()
            try await fleet.settled()
        }
    }

    @Test func `followers catch up after a planned failover by Sentinel`() async throws {
        try await Self.withSentinels { _, fleet in _ = try await fleet.failOver() }
    }

    // MARK: Cluster

    private static let orderSlot = HashSlot.of("job:{\(OutageScenario.order)}")

    private static func withCluster(
        _ failOver: @escaping @Sendable (OutageScenario, ClusterFleet) async throws -> Void
    ) async throws {
        try await ClusterFleet.running { fleet in
            let address = try RedisAddress(url: fleet.url)
            try await OutageScenario.run(live: address, ledger: address) { scenario in
                for _ in 0..<OutageScenario.rounds {
                    let probe = "probe:{\(OutageScenario.order)}"
                    try await fleet.master(of: Self.orderSlot).endpoint.write(probe, "1", replicas: 1)
                    try await failOver(scenario, fleet)
                }
            }
        }
    }

    @Test func `followers catch up after the master of a cluster was killed`() async throws {
        try await Self.withCluster { scenario, fleet in
            let master = try await fleet.master(of: Self.orderSlot)
            await master.redis.crash()
            try await fleet.settled()
            try await scenario.allRecover(from: "cluster's failover")
            try await master.redis.start()
            try await fleet.settled()
        }
    }

    @Test func `followers catch up after a planned failover in a cluster`() async throws {
        try await Self.withCluster { _, fleet in
            let master = try await fleet.master(of: Self.orderSlot)
            try await fleet.failOver(to: fleet.replicas(of: master)[0])
        }
    }

    @Test func `followers receive status changes while the slot of their job moves between nodes`() async throws {
        try await Self.withCluster { scenario, fleet in
            let source = try await fleet.master(of: Self.orderSlot)
            let masters = try await [0, 6000, 12_000].asyncMap { try await fleet.master(of: $0) }
            let target = try #require(masters.first { $0.id != source.id })
            for node in [target, source] {
                let migration = try await fleet.migration(of: Self.orderSlot, to: node)
                try await migration.begin()
                try await scenario.wait(.milliseconds(300))
                while try await migration.moveKeys(atMost: 1) > 0 { try await scenario.wait(.milliseconds(100)) }
                try await scenario.wait(.milliseconds(300))
                while try await migration.moveKeys() > 0 {}
                try await migration.finish()
                try await scenario.wait(.milliseconds(300))
            }
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}

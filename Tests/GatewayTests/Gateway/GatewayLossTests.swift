import Redis
import TestSupport
import Testing

/// Data and messages that are lost. In each test `OutageScenario` checks that no client is disconnected and that followers
/// miss nothing.
@Suite(.serialized, .needsMachine(for: .faults)) struct GatewayLossTests {
    @Test func `the next position reopens a feed after the live instance lost its data`() async throws {
        try await RestartableRedis.running { live in
            try await RestartableRedis.running { ledger in
                try await OutageScenario.run(live: live.address, ledger: ledger.address) { scenario in
                    await live.crash()
                    try await live.start(.empty)
                    _ = try await live.run("PING")
                }
            }
        }
    }

    /// Such followers are repaired, and `EnrouteFollowersBehind` would report a bug.
    @Test func `followers that are behind because of an outage are not counted as mismatches`() async throws {
        try await RestartableRedis.running { live in
            try await RestartableRedis.running { ledger in
                try await OutageScenario.run(live: live.address, ledger: ledger.address) { scenario in
                    await live.crash()
                    try await scenario.allAreTold(of: "live killed")
                    try await live.start(.empty)
                    try await scenario.allRecover(from: "live killed")
                    let metrics = try await scenario.gateway.manage("/metrics").text
                    #expect(metrics.contains(#"enroute_resync_mismatches_total{kind="job"} 0"#))
                }
            }
        }
    }

    @Test func `followers are reset after the ledger lost its data and the jobs were written again`()
        async throws
    {
        try await RestartableRedis.running { live in
            try await RestartableRedis.running { ledger in
                try await OutageScenario.run(live: live.address, ledger: ledger.address) { scenario in
                    await ledger.crash()
                    try await ledger.start(.empty)
                    try await becomes("the jobs are made anew") {
                        await !Result({ try await scenario.makeJobs() }).isFailure
                    }
                    _ = try await scenario.gateway.ledger.startTravel(
                        for: OutageScenario.visit, by: OutageScenario.rider
                    )
                    .get()
                } afterwards: { seen in
                    #expect(seen.allSatisfy { $0.resets >= 1 && $0.ended.isEmpty })
                }
            }
        }
    }

    @Test func `a message that Redis did not deliver is recovered by a periodic check`() async throws {
        try await RestartableRedis.running { redis in
            try await LossyProxy.running(to: redis.endpoint) { proxy in
                let address = try proxy.address
                try await OutageScenario.run(live: address, ledger: address) { scenario in
                    try await proxy.lose(.channel("job:{order-1}:events"))
                    try await becomes("a message is lost", every: .milliseconds(50)) { try await proxy.lostCount > 0 }
                    try await proxy.lose(.none)
                    let lost = try await proxy.lostCount
                    try await proxy.lose(.push(number: 3))
                    try await becomes("another is lost", every: .milliseconds(50)) { try await proxy.lostCount > lost }
                }
            }
        }
    }

    @Test func `clients catch up after the network dropped all packets for a while`() async throws {
        try await RestartableRedis.running { redis in
            try await LossyProxy.running(to: redis.endpoint) { proxy in
                let address = try proxy.address
                try await OutageScenario.run(live: address, ledger: address) { scenario in
                    try await proxy.hold()
                    try await scenario.all { $0.degraded == 1 }
                    try await proxy.cut()
                    try await proxy.goOn()
                    try await scenario.all { $0.restored == 1 }
                }
            }
        }
    }
}

extension Result {
    fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}

import EnrouteClient
import EnrouteWire
import Foundation
import NIOCore
import Redis
import TestSupport
import Testing

/// Outages of one or both Redis instances. In each test `OutageScenario` checks that no client is disconnected and that
/// followers miss nothing.
@Suite(.serialized, .needsMachine(for: .faults)) struct GatewayOutageTests {
    private static func withOne(
        options: [String] = [], _ fault: @escaping @Sendable (OutageScenario, RestartableRedis) async throws -> Void,
        afterwards: @escaping @Sendable ([FollowerProbe.Seen]) throws -> Void = { _ in }
    ) async throws {
        try await RestartableRedis.running(options: options) { redis in
            let address = try redis.address
            try await OutageScenario.run(
                live: address, ledger: address, fault: { try await fault($0, redis) }, afterwards: afterwards)
        }
    }

    @Test func `clients catch up after Redis was killed and restarted`() async throws {
        try await Self.withOne { scenario, redis in
            await redis.crash()
            try await scenario.allAreTold(of: "killed")
            try await redis.start()
            try await scenario.allRecover(from: "killed")
        } afterwards: { seen in
            #expect(seen.allSatisfy { $0.resets >= 2 })
        }
    }

    @Test func `clients catch up after Redis hung for a second`() async throws {
        try await Self.withOne { scenario, redis in
            try await redis.freeze()
            try await scenario.wait(.seconds(1))
            try await redis.thaw()
            try await scenario.allRecover(from: "frozen for 1 s")
        }
    }

    /// Longer than the timeout of commands, so every connection is closed. 30 s if ENROUTE_FAILOVERS is set.
    @Test(arguments: ProcessInfo.processInfo.environment["ENROUTE_FAILOVERS"] == nil ? [5] : [5, 30])
    func `clients are notified if Redis hangs for long, and catch up when it continues`(seconds: Int64) async throws {
        try await Self.withOne { scenario, redis in
            try await redis.freeze()
            let began = NIODeadline.now()
            try await scenario.allAreTold(of: "frozen")
            try await scenario.wait(began + .seconds(seconds) - .now())
            try await redis.thaw()
            try await scenario.allRecover(from: "frozen for \(seconds) s")
        }
    }

    @Test(arguments: ["pubsub", "normal"])
    func `clients catch up after all Redis connections of one kind were killed`(kind: String) async throws {
        try await Self.withOne { scenario, redis in
            for _ in 0..<3 {
                _ = try await redis.run("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
                try await scenario.wait(.milliseconds(300))
            }
        }
    }

    @Test func `clients catch up after Redis paused all its clients for three seconds`() async throws {
        try await Self.withOne { scenario, redis in
            _ = try await redis.run("CLIENT", "PAUSE", "3000", "ALL")
            try await scenario.allAreTold(of: "paused")
            try await scenario.all { $0.restored == 1 }
        }
    }

    @Test func `clients catch up after Redis was busy for three seconds`() async throws {
        try await Self.withOne(options: ["--enable-debug-command", "yes"]) { scenario, redis in
            _ = try await redis.run("DEBUG", "SLEEP", "3")
            try await scenario.all { $0.degraded == 1 && $0.restored == 1 }
        }
    }

    @Test(arguments: [["maxmemory", "1", "0"], ["min-replicas-to-write", "1", "0"]])
    func `writes are refused while Redis refuses them, and succeed afterwards`(setting: [String])
        async throws
    {
        try await Self.withOne { scenario, redis in
            let before = await scenario.traffic.refused
            _ = try await redis.run("CONFIG", "SET", setting[0], setting[1])
            try await becomes("three changes were refused") { await scenario.traffic.refused >= before + 3 }
            _ = try await redis.run("CONFIG", "SET", setting[0], setting[2])
        }
    }

    @Test func `a rider's newest position is buffered while Redis hangs, and acknowledged afterwards`() async throws {
        try await within {
            try await RestartableRedis.running { redis in
                let address = try redis.address
                try await RunningGateway.run(isSecure: false, at: (address, address)) {
                    $0.redisTiming.answer = .seconds(1)
                    $0.validation.allowJumps()
                } _: { gateway in
                    let job = try await gateway.travellingJob()
                    try await gateway.connect("rider-1", .rider) { connection, messages in
                        try await connection.send(.travel(job: job, active: true))
                        _ = try await messages.travelAnswer()
                        try await redis.freeze()
                        for step in 1...3 { try await connection.report(job, step: step) }
                        _ = try await gateway.eventually("/metrics") {
                            !$0.text.contains("enroute_positions_buffered_total 0")
                        }
                        try await redis.thaw()
                        let answered: Int64 = try await messages.first { message in
                            if case .ok("location", _, let sequence?, _, _) = message { sequence } else { nil }
                        }
                        #expect(answered == 3)
                    }
                    let kept = try await gateway.feed.read(job).get().position
                    let location = try kept.map { try $0.withUnsafeBytes { try ServerMessage($0) } }
                    guard case .location(let location)? = location else {
                        Issue.record("no position")
                        return
                    }
                    #expect(location.fix.place.latitude == 41.9 + 3.0 / 100_000)
                }
            }
        }
    }
}

import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// What a replica is known to have.
@Suite struct DurabilityTests {
    private static let settings = LiveStateSettings()

    private static func create(_ ledger: JobLedger) async throws -> Durable<JobLedger.Creation> {
        try await ledger.createDurably(
            NewJob(job: Stage.job, kind: .delivery, customer: Stage.customer, actor: Stage.rider), epoch: "e"
        ).get()
    }

    private static func accept(_ ledger: JobLedger, request: String) async throws -> Durable<JobLedger.Transition> {
        try await ledger.publishDurably(
            .accepted, of: Stage.job, by: Stage.rider, source: "rest", request: request
        ).get()
    }

    @Test func `without replicas nobody is asked`() async throws {
        try await withRedis { client, _ in
            let ledger = JobLedger(ledger: client, settings: Self.settings)
            let created = try await Self.create(ledger)
            #expect(created.replicas == nil)
            let accepted = try await Self.accept(ledger, request: "r")
            #expect(!accepted.isUnknown)
        }
    }

    @Test
    func `a replica that has the write is counted; one that hangs makes it unknown, and the same request is safe`()
        async throws
    {
        let port = try await freePort()
        try await RestartableRedis.running(port: port) { master in
            try await RestartableRedis.running(options: ["--replicaof", "127.0.0.1 \(port)"]) { replica in
                let isInStep = try await eventually(within: .seconds(30)) {
                    try await ReplicationState(of: master.endpoint).replicaCount == 1
                }
                try #require(isInStep)
                let client = try await RedisClient.started(at: master.address)
                defer { client.stop() }
                let ledger = JobLedger(ledger: client, settings: Self.settings)
                // The client sees the replica when it looks at the node, every second.
                let isKnown = try await eventually {
                    _ = try await client.run("DEL", Keyspace().job(Stage.job))
                    return try await Self.create(ledger).replicas == 1
                }
                #expect(isKnown)

                try await replica.freeze()
                let first = try await Self.accept(ledger, request: "r")
                #expect(first.isUnknown)
                try await replica.thaw()
                let again = try await Self.accept(ledger, request: "r")
                guard case .published(let event) = first.value else { return #expect(Bool(false), "\(first.value)") }
                #expect(again.value == .repeated(event))
            }
        }
    }
}

import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// How many replicas have confirmed a write.
@Suite(.needsMachine(for: .faults)) struct DurabilityTests {
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

    @Test func `without replicas no confirmation is requested`() async throws {
        try await withRedis { client, _ in
            let ledger = JobLedger(ledger: client, settings: Self.settings)
            let created = try await Self.create(ledger)
            #expect(created.replicas == nil)
            let accepted = try await Self.accept(ledger, request: "r")
            #expect(!accepted.isReplicationUnconfirmed)
        }
    }

    @Test
    func
        `a replica with the write is counted; with a hanging one the result is unconfirmed and the request can be repeated`()
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
                // The client discovers the replica when it checks the node, once a second.
                let isKnown = try await eventually {
                    _ = try await client.run("DEL", Keyspace().job(Stage.job))
                    return try await Self.create(ledger).replicas == 1
                }
                #expect(isKnown)

                try await replica.freeze()
                let first = try await Self.accept(ledger, request: "r")
                #expect(first.isReplicationUnconfirmed)
                try await replica.thaw()
                let again = try await Self.accept(ledger, request: "r")
                guard case .published(let event) = first.value else {
                    Issue.record("\(first.value)")
                    return
                }
                #expect(again.value == .repeated(event))
            }
        }
    }

    /// Starts a master with two replicas, and a client that knows both.
    private static func withTwoReplicas(
        quorum: ReplicaQuorum = .majority,
        _ body: (JobLedger, _ replicas: [RestartableRedis], _ master: RestartableRedis) async throws -> Void
    ) async throws {
        let port = try await freePort()
        let options = ["--replicaof", "127.0.0.1 \(port)", "--repl-diskless-load", "swapdb"]
        try await RestartableRedis.running(port: port, options: ["--repl-diskless-sync-delay", "0"]) { master in
            try await RestartableRedis.running(options: options) { first in
                try await RestartableRedis.running(options: options) { second in
                    try await becomes("both replicas are in step") {
                        try await ReplicationState(of: master.endpoint).replicaCount == 2
                    }
                    var timing = RedisTiming.patient
                    timing.quorum = quorum
                    timing.monitor = .milliseconds(50)
                    let client = try await RedisClient.started(at: master.address, timing: timing)
                    defer { client.stop() }
                    try await body(JobLedger(ledger: client, settings: Self.settings), [first, second], master)
                }
            }
        }
    }

    @Test func `B33: with two replicas both must confirm a write, even after one has disconnected`()
        async throws
    {
        try await Self.withTwoReplicas { ledger, replicas, master in
            // From the first call: the client determines the number of replicas before anything else.
            #expect(try await Self.create(ledger).replicas != nil)
            // A replica that has just connected may need some time to confirm.
            try await becomes("both have it") {
                _ = try await master.run("DEL", Keyspace().job(Stage.job))
                return try await Self.create(ledger).replicas == 2
            }
            try await replicas[0].freeze()
            #expect(try await Self.accept(ledger, request: "frozen").isReplicationUnconfirmed)
            try await replicas[0].thaw()
            try await becomes("both have it") {
                try await !Self.accept(ledger, request: "frozen").isReplicationUnconfirmed
            }
            // Promoted as in a planned failover: the master has one replica left, which has everything.
            _ = try await replicas[0].run("REPLICAOF", "NO", "ONE")
            try await becomes("the master has seen it leave") {
                try await ReplicationState(of: master.endpoint).replicaCount == 1
            }
            for _ in 0..<5 { #expect(try await Self.accept(ledger, request: "frozen").isReplicationUnconfirmed) }
        }
    }

    @Test func `a repetition on another connection is unconfirmed until both replicas have the first change`()
        async throws
    {
        try await Self.withTwoReplicas { ledger, replicas, master in
            _ = try await Self.create(ledger)
            var timing = RedisTiming.patient
            timing.monitor = .milliseconds(50)
            let client = try await RedisClient.started(at: master.address, timing: timing)
            defer { client.stop() }
            let other = JobLedger(ledger: client, settings: Self.settings)
            try await becomes("both have the job") {
                try await other.confirm(Stage.job, kind: .delivery).get().replicas == 2
            }
            try await replicas[0].freeze()
            func note(_ ledger: JobLedger) async throws -> Durable<JobLedger.NoteResult> {
                try await ledger.note(CustomerNote("Gate code 42"), on: Stage.job, of: nil).get()
            }
            let first = try await note(ledger)
            #expect(first.value == .changed && first.isReplicationUnconfirmed)
            let again = try await note(other)
            #expect(again.value == .unchanged && again.isReplicationUnconfirmed)
            #expect(try await other.confirm(Stage.job, kind: .delivery).get().isReplicationUnconfirmed)
            try await replicas[0].thaw()
            try await becomes("both have the note") { try await note(other).replicas == 2 }
        }
    }

    @Test func `B33: the number of replicas to wait for can be configured`() async throws {
        try await Self.withTwoReplicas(quorum: .count(1)) { ledger, replicas, master in
            try await replicas[0].freeze()
            // On a busy machine the other replica may be slow.
            try await becomes("one of them has it") {
                _ = try await master.run("DEL", Keyspace().job(Stage.job))
                return try await Self.create(ledger).replicas == 1
            }
            try await replicas[0].thaw()
        }
        try await withServer { server in
            var timing = RedisTiming.patient
            timing.quorum = .count(1)
            let client = try await RedisClient.started(at: server.address, timing: timing)
            defer { client.stop() }
            // A gateway that starts during a failover has seen no replica, and still requires one.
            #expect(try await Self.create(JobLedger(ledger: client, settings: Self.settings)).isReplicationUnconfirmed)
        }
    }
}

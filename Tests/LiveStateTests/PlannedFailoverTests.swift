import EnrouteWire
import LiveState
import NIOCore
import Redis
import Subprocess
import Synchronization
import TestSupport
import Testing

/// A ledger with two replicas and Sentinels, and planned failovers during writes.
@Suite(.needsMachine(for: .faults)) struct PlannedFailoverTests {
    private static let settings = LiveStateSettings()
    private static let failovers = 2
    /// Number of jobs that are written concurrently.
    private static let writers = 4

    /// The answers that a caller received.
    private struct Told: Sendable {
        /// Writes that were answered with 200: neither refused nor unconfirmed.
        var confirmed: [(job: JobID, status: StatusID)] = []
        var unknown = 0
    }

    /// Shared by all writers.
    private final class Run: Sendable {
        let told = Mutex(Told())
        let isOver = Atomic(false)
    }

    /// Writes statuses until the run is over, one after the other per writer.
    private static func write(to ledger: JobLedger, as writer: Int, in run: Run) async {
        var number = 0
        while !run.isOver.load(ordering: .relaxed), !Task.isCancelled {
            number += 1
            let job = JobID("job-\(writer)-\(number)")!
            do {
                let new = NewJob(
                    job: job, kind: .delivery, customer: Stage.customer, rider: Stage.rider, actor: Stage.rider)
                let created = try await ledger.createDurably(new, epoch: "e").get()
                let answer = try await ledger.publishDurably(.accepted, of: job, by: Stage.rider, source: "rest").get()
                guard case .published(let event) = answer.value else { continue }
                let isConfirmed = !created.isReplicationUnconfirmed && !answer.isReplicationUnconfirmed
                run.told.withLock {
                    if isConfirmed { $0.confirmed.append((job, event.id)) } else { $0.unknown += 1 }
                }
            } catch {
                // Refused or lost: the caller knows that the result is uncertain. The next write waits for a master.
                _ = await eventually(within: .seconds(20)) { await failure(of: ledger.head(job)) == nil }
            }
        }
    }

    /// - Returns: the confirmed jobs whose status the master does not have.
    private static func lost(_ told: Told, at ledger: JobLedger) async throws -> [JobID] {
        var lost: [JobID] = []
        for (job, status) in told.confirmed {
            let found = try await ledger.recover(job).get()
            if found?.record.head != status { lost.append(job) }
        }
        return lost
    }

    /// Writes while `failOver` runs `failovers` times; expects that no confirmed write is lost.
    private static func loseNothing(
        quorum: ReplicaQuorum, _ failOver: @escaping @Sendable (SentinelFleet) async throws -> Void
    ) async throws {
        try await SentinelFleet.running { fleet in
            var timing = RedisTiming.patient
            timing.quorum = quorum
            let client = try await RedisClient.started(at: RedisAddress(url: fleet.url), timing: timing)
            defer { client.stop() }
            let ledger = JobLedger(ledger: client, settings: Self.settings)
            for _ in 0..<Self.failovers {
                let run = Run()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<Self.writers {
                        group.addTask { await Self.write(to: ledger, as: writer, in: run) }
                    }
                    try await becomes("statuses are confirmed") { run.told.withLock { $0.confirmed.count > 50 } }
                    try await failOver(fleet)
                    run.isOver.store(true, ordering: .relaxed)
                    try await group.waitForAll()
                }
                let all = run.told.withLock { $0 }
                let lost = try await Self.lost(all, at: ledger)
                #expect(lost == [], "\(lost.count) of \(all.confirmed.count), \(all.unknown) unknown")
                _ = try await client.run("FLUSHALL")
            }
        }
    }

    @Test func `B33: a planned failover loses no status that was answered with 200`() async throws {
        try await Self.loseNothing(quorum: .majority) { _ = try await $0.failOver() }
    }

    /// The runbook loses nothing even if one replica is enough.
    @Test func `B33: a failover by the runbook of deploy loses nothing even if one replica is enough`()
        async throws
    {
        let runbook = try #require(
            try DeployedRedis.text("README.md").split(separator: "```").first {
                $0.hasPrefix("sh\n") && $0.contains("SENTINEL FAILOVER")
            })
        try await Self.loseNothing(quorum: .count(1)) { fleet in
            let old = try await fleet.master()
            let settings = """
                MASTER="redis-cli -e -p \(old.port)"
                SENTINEL="redis-cli -e -p \(fleet.sentinels[0].port)"
                """
            let text = runbook.dropFirst(3).replacing("enroute-ledger", with: SentinelFleet.masterName)
            let outcome = try await Subprocess.run(
                .name("sh"), arguments: ["-ec", settings + "\n" + text], output: .string(limit: 65_536),
                error: .combinedWithOutput)
            try #require(outcome.terminationStatus.isSuccess, "\(outcome.standardOutput)")
            _ = try await fleet.successor(of: old)
        }
    }
}

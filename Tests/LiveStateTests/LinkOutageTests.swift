import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// Viewer leases of tracking links while Redis is unavailable.
@Suite(.needsMachine(for: .faults)) struct LinkOutageTests {
    private static let (job, anna) = (JobID("job-7")!, PersonID("anna")!)

    /// Runs with a link for one viewer, whose lease a session holds.
    private static func run(
        _ body: (RestartableRedis, TrackingLinks, _ link: String) async throws -> Void
    ) async throws {
        try await RestartableRedis.running { redis in
            var timing = RedisTiming.patient
            timing.answer = .seconds(1)
            let client = try await RedisClient.started(at: redis.address, timing: timing)
            defer { client.stop() }
            let settings = LiveStateSettings()
            let new = NewJob(job: job, kind: .delivery, customer: anna, actor: anna)
            _ = try await JobLedger(ledger: client, settings: settings).create(new, epoch: "epoch-1").get()
            let links = TrackingLinks(ledger: client, settings: settings)
            let link = try await links.issueDurably(for: job, of: anna, viewers: 1, by: anna).get().value
            guard case .leased = try await links.join(link.id, as: "s-1").get() else {
                throw BadMessage("no lease")
            }
            try await body(redis, links, link.id)
        }
    }

    private static func becomesFree(_ links: TrackingLinks, _ link: String) async throws {
        try await becomes("another session gets the lease", within: TrackingLinks.leaseDuration / 3) {
            guard case .leased? = try? await links.join(link, as: "s-2").get() else { return false }
            return true
        }
    }

    @Test func `a lease that could not be released during an outage is released after it`() async throws {
        try await Self.run { redis, links, link in
            await redis.crash()
            let failed = await failure(of: links.leave(link, as: "s-1"))
            #expect(failed?.isOutage == true)
            try await redis.start()
            try await Self.becomesFree(links, link)
        }
    }

    @Test func `a lease that Redis acquires after the session gave up is released`() async throws {
        try await Self.run { redis, links, link in
            try await links.leave(link, as: "s-1").get()
            try await redis.freeze()
            let failed = await failure(of: links.join(link, as: "s-3"))
            #expect(failed == .timedOut)
            _ = await failure(of: links.leave(link, as: "s-3"))
            try await redis.thaw()
            try await Self.becomesFree(links, link)
        }
    }
}

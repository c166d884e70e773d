import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// Events on a real cluster: the scripts leave them in the outboxes of jobs' slots, and gateways move them to the shards.
@Suite(.needsMachine(for: .faults)) struct EventForwarderTests {
    private static let jobs = (0..<60).map { JobID("job-\($0)")! }
    private static let statuses: [JobStatus] = [.accepted, .preparing, .readyForPickup]

    private func events(_ streams: EventStreams) async throws -> [LedgerEvent] {
        var events: [LedgerEvent] = []
        for shard in 0..<Keyspace.eventShards {
            var last = "0-0"
            while true {
                let page = try await streams.read(shard: shard, after: last)
                events += page.compactMap(\.event)
                guard page.count == EventStreams.page, let newest = page.last?.id else { break }
                last = newest
            }
        }
        return events
    }

    private func write(_ ledger: JobLedger, _ jobs: [JobID] = Self.jobs) async throws {
        for job in jobs {
            let new = NewJob(
                job: job, kind: .delivery, customer: Stage.customer, rider: Stage.rider, zone: ZoneID("berlin"),
                destination: Coordinate(latitude: 52.5, longitude: 13.4), actor: PersonID("service-1")!)
            _ = try await ledger.create(new, epoch: "epoch-\(job)").get()
        }
        for status in Self.statuses {
            for job in jobs {
                _ = try await ledger.publish(status, of: job, by: Stage.rider, source: "rest").get()
            }
        }
    }

    @Test func `on a cluster every event reaches its shard in order, even if its writer dies`() async throws {
        try await ClusterFleet.running { fleet in
            let client = try await RedisClient.started(at: RedisAddress(url: fleet.url))
            defer { client.stop() }
            let settings = LiveStateSettings()
            try await self.write(JobLedger(ledger: client, settings: settings))
            let streams = EventStreams(ledger: client, settings: settings)
            #expect(try await self.events(streams).isEmpty)

            // The writer's own forwarder is not run: another gateway, which has written nothing, finds the events.
            let other = EventForwarder(
                EventStreams(ledger: client, settings: LiveStateSettings()), holder: "gateway-2")
            await other.moveWritten()
            #expect(try await self.events(streams).isEmpty)
            // An outbox of another type does not hide those of later slots.
            try await client.run("SET", settings.keyspace.outbox(ofSlot: 0), "malformed")
            try await other.sweep()
            await other.moveWritten()
            let events = try await self.events(streams)
            #expect(events.count == Self.jobs.count * (1 + Self.statuses.count))
            for job in Self.jobs {
                #expect(events.filter { $0.subject == job.text }.map(\.version) == [1, 2, 3, 4])
            }
            // Nothing is left to move.
            try await other.sweep()
            await other.moveWritten()
            #expect(try await self.events(streams).count == events.count)
        }
    }

    @Test func `the writer moves its own events immediately`() async throws {
        try await ClusterFleet.running { fleet in
            let client = try await RedisClient.started(at: RedisAddress(url: fleet.url))
            defer { client.stop() }
            let settings = LiveStateSettings()
            try await self.write(JobLedger(ledger: client, settings: settings))
            let streams = EventStreams(ledger: client, settings: settings)
            await EventForwarder(streams, holder: "gateway-1").moveWritten()
            #expect(try await self.events(streams).count == Self.jobs.count * (1 + Self.statuses.count))
        }
    }

    /// The events in the outbox of a job, as a gateway holds them in memory after it has read them.
    private func held(_ client: RedisClient, _ job: JobID) async throws -> [LedgerEvent] {
        let keyspace = Keyspace()
        let entries =
            try await client.run(
                "XRANGE", keyspace.outbox(ofSlot: HashSlot.of(keyspace.job(job))), "-", "+"
            ).array ?? []
        return entries.compactMap { entry in
            let words = entry.array?.last?.array?.compactMap(\.text) ?? []
            let pairs = stride(from: 0, to: words.count - 1, by: 2).map { (words[$0], words[$0 + 1]) }
            return LedgerEvent(fields: Dictionary(uniqueKeysWithValues: pairs))
        }.filter { $0.subject == job.text }
    }

    @Test func `I7: on a cluster no gateway brings back events of an erased job that it has read from an outbox`()
        async throws
    {
        try await ClusterFleet.running { fleet in
            let client = try await RedisClient.started(at: RedisAddress(url: fleet.url))
            defer { client.stop() }
            let settings = LiveStateSettings()
            let ledger = JobLedger(ledger: client, settings: settings)
            let streams = EventStreams(ledger: client, settings: settings)
            let forwarder = EventForwarder(streams, holder: "gateway-1")
            for (index, job) in Self.jobs.prefix(12).enumerated() {
                try await self.write(ledger, [job])
                let held = try await self.held(client, job)
                try #require(held.count == 1 + Self.statuses.count)
                // Of some jobs a frozen gateway has appended an event already, and of some the writer has moved all.
                if index.isMultiple(of: 2) { #expect(try await streams.forward(held[0])) }
                if index.isMultiple(of: 3) { await forwarder.moveWritten() }
                _ = try await ledger.eraseEvents(of: job).get()
                if index.isMultiple(of: 5) { #expect(try await streams.forward(held[1])) }
                let erasable = try await ledger.erasable(job).get()
                let erased = try await ledger.erase(job, as: erasable?.version).get().value
                #expect(erased == .erased(keys: 2))
                if index.isMultiple(of: 2) { await forwarder.moveWritten() }
                _ = try await ledger.eraseRemainingEvents(of: job).get()
                for event in held {
                    let isAppended = try await streams.forward(event)
                    #expect(!isAppended, "\(event)")
                }
                await forwarder.moveWritten()
                let left = try await self.events(streams).filter { $0.subject == job.text }.map(\.kind)
                #expect(left == [.erased], "\(job) \(left)")
            }
        }
    }
}

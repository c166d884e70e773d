import LiveState
import Redis
import TestSupport
import Testing
import Webhooks

/// A job is erased while its events wait for an endpoint, or are in the memory of the gateway that delivers them.
@Suite(.needsMachine(for: .faults)) struct EndpointErasureTests {
    /// An event that waits is not attempted again during a test.
    private static let retries = RetrySchedule(Array(repeating: .seconds(600), count: 3))
    private static let job = "job-1"

    private func event(_ number: Int, _ kind: LedgerEvent.Kind, epoch: String = "epoch-1") -> LedgerEvent {
        LedgerEvent(
            id: "e.\(number)", kind: kind, time: 1_763_856_000_000, subject: Self.job,
            epoch: kind.isAboutJob ? epoch : "", data: "{}")
    }

    /// The part of the gateway that erases the job.
    private func erase(_ stage: WorkerStage, _ number: Int) async throws {
        try await stage.client.run("XTRIM", stage.keyspace.events(of: Self.job), "MAXLEN", "0")
        _ = try await stage.store.forget([Self.job: .all], of: WorkerStage.id)
        try await stage.store.streams.append(self.event(number, .erased)).get()
    }

    private func waiting(_ stage: WorkerStage) async throws -> [String] {
        let key = stage.keyspace.waiting(of: Self.job, ofWebhook: WorkerStage.id)
        let events = try await stage.client.run("LRANGE", key, "0", "-1").array ?? []
        return events.compactMap { $0.text?.prefix { $0 != " " } }.map { String($0) }
    }

    @Test func `I7: an event in the memory of a gateway does not outlive the erasure of its job`() async throws {
        try await WorkerStage.set(patience: .seconds(60), retries: Self.retries) { stage in
            stage.endpoint.hold(Self.job)
            stage.endpoint.answer { $0.id == "e.0" ? .failed(reason: "status 500") : .delivered }
            try await stage.store.streams.append(self.event(0, .created)).get()
            try await stage.running {
                try await becomes("the first event is sent") { stage.endpoint.sent(Self.job) == ["e.0"] }
                try await self.erase(stage, 1)
                stage.endpoint.release()
                try await becomes("the erasure is delivered") { stage.endpoint.delivered(Self.job) == ["e.1"] }
                try await becomes("nothing waits") { try await stage.record().waiting == 0 }
            }
            #expect(try await self.waiting(stage).isEmpty)
            #expect(stage.endpoint.sent(Self.job) == ["e.0", "e.1"])
            #expect(try await stage.store.dead(WorkerStage.id).isEmpty)
        }
    }

    @Test func `an event whose request takes long is removed from the waiting list meanwhile, and is not given up`()
        async throws
    {
        try await WorkerStage.set(retries: RetrySchedule([])) { stage in
            stage.endpoint.hold(Self.job)
            stage.endpoint.answer { $0.id == "e.0" ? .failed(reason: "status 500") : .delivered }
            try await stage.store.streams.append(self.event(0, .created)).get()
            try await stage.running {
                try await becomes("it waits") { try await self.waiting(stage) == ["e.0"] }
                #expect(stage.endpoint.sent(Self.job) == ["e.0"])
                // Without the gateway that erases the job: it may have searched before the event waited.
                try await stage.store.streams.append(self.event(1, .erased)).get()
                try await becomes("only the erasure waits") { try await self.waiting(stage) == ["e.1"] }
                stage.endpoint.release()
                try await becomes("the erasure is delivered") { stage.endpoint.delivered(Self.job) == ["e.1"] }
                try await becomes("nothing waits") { try await stage.record().waiting == 0 }
            }
            #expect(stage.endpoint.sent(Self.job) == ["e.0", "e.1"])
            #expect(try await stage.store.dead(WorkerStage.id).isEmpty)
            #expect(stage.counts.values[.webhooksGivenUp] == 0)
        }
    }

    @Test func `the next gateway removes what a dead one has left of an erased job`() async throws {
        try await WorkerStage.set(retries: Self.retries) { stage in
            for number in 0..<3 {
                let waits = try await stage.store.park(
                    WaitingEvent(self.event(number, .closed)), for: WorkerStage.id, attempts: 1,
                    due: 9_000_000_000_000, by: "gateway-1")
                #expect(waits)
            }
            try await stage.store.streams.append(self.event(3, .erased)).get()
            try await stage.store.streams.append(self.event(4, .created, epoch: "epoch-2")).get()
            try await stage.running {
                try await becomes("the erasure and the new job are delivered") {
                    stage.endpoint.delivered(Self.job) == ["e.3", "e.4"]
                }
                try await becomes("nothing waits") { try await stage.record().waiting == 0 }
            }
            #expect(stage.endpoint.sent(Self.job) == ["e.3", "e.4"])
        }
    }

    @Test func `an erasure counts for a webhook that does not receive it, and not for the rider with the same id`()
        async throws
    {
        try await WorkerStage.set(retries: Self.retries) { stage in
            let types = "enroute.job.created,enroute.rider.availability.changed"
            try await stage.client.run("HSET", stage.keyspace.webhook(WorkerStage.id), "types", types)
            stage.endpoint.answer { $0.subject == Self.job ? .failed(reason: "status 500") : .delivered }
            try await stage.store.streams.append(self.event(0, .created)).get()
            try await stage.store.streams.append(self.event(1, .riderAvailabilityChanged)).get()
            try await stage.running {
                try await becomes("both wait") { try await self.waiting(stage) == ["e.0", "e.1"] }
                try await stage.store.streams.append(self.event(2, .erased)).get()
                try await becomes("the rider's event waits") { try await self.waiting(stage) == ["e.1"] }
            }
            #expect(!stage.endpoint.sent(Self.job).contains("e.2"))
            #expect(try await stage.record().waiting == 1)
        }
    }
}

// Erasure of a job's events, because they name its customer, its rider and the people who changed it. The event about
// the erasure stays, so that other systems learn of it; it names no person.
//
// Events about riders stay, although they contain the job's id: they are copies of the zone's log of changes, which is an audit
// trail, and the last of them is copied after the erasure.

package import EnrouteWire
package import NIOCore
internal import Redis

extension JobLedger {
    /// Deletes the events of a job: from the stream, and those that wait for a webhook or could not be delivered.
    ///
    /// Can be repeated. An event that a gateway is sending at this moment still arrives.
    ///
    /// - Returns: how many events were deleted.
    package func eraseEvents(of job: JobID) -> EventLoopFuture<Int> {
        let erasure = EventErasure(job: job, store: WebhookStore(ledger: self.writes, settings: self.settings))
        return self.eventLoop.makeFutureWithTask { try await erasure.run() }
    }
}

/// The erasure of one job's events.
struct EventErasure: Sendable {
    let job: JobID
    let store: WebhookStore
    private var streams: EventStreams { self.store.streams }
    private var ledger: RedisClient { self.streams.ledger }
    private var keyspace: Keyspace { self.streams.settings.keyspace }

    func run() async throws -> Int {
        var count = 0
        if case .cluster = self.ledger.endpoint {
            let slot = HashSlot.of(self.keyspace.job(self.job))
            count += try await self.erase(from: self.keyspace.outbox(ofSlot: slot))
        }
        count += try await self.erase(from: self.keyspace.events(of: self.job.text))
        for webhook in try await self.store.ids() {
            count += try await self.erase(from: self.keyspace.dead(ofWebhook: webhook))
            let answer = try await self.ledger.evaluate(
                Scripts.forgetEvents,
                keys: [
                    self.keyspace.webhook(webhook), self.keyspace.due(ofWebhook: webhook),
                    self.keyspace.attempts(ofWebhook: webhook),
                    self.keyspace.waiting(of: self.job.text, ofWebhook: webhook),
                ], arguments: [.text(self.job.text)]
            ).get()
            count += Int(clamping: answer.array?.last?.integer ?? 0)
        }
        return count
    }

    /// Deletes the job's entries from a stream, from the oldest to the one that is the newest now. A stream has a
    /// maximum length.
    private func erase(from stream: String) async throws -> Int {
        var (count, last) = (0, "0-0")
        while true {
            let entries = try await self.streams.entries(of: stream, after: last)
            let own = entries.filter {
                $0.fields["subject"] == self.job.text && $0.fields["type"] != LedgerEvent.Kind.erased.rawValue
            }
            if !own.isEmpty {
                let start: [RedisCommand.Word] = ["XDEL", .text(stream)]
                let answer = try await self.ledger.send(RedisCommand(start + own.map { .text($0.id) })).get()
                count += Int(clamping: answer.integer ?? 0)
            }
            guard entries.count == EventStreams.page, let newest = entries.last?.id else { return count }
            last = newest
        }
    }
}

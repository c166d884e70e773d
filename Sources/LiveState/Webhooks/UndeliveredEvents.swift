// The events that could not be delivered to a webhook. They are stored for some time, and can be delivered again.

internal import NIOCore
internal import Redis

extension WebhookStore {
    /// How long an undelivered event is stored.
    package static let deadLifetime: Duration = .seconds(30 * 86_400)
    /// Maximum number of undelivered events in one page.
    package static let page = 100
    /// Maximum number of pages that are searched to fill one page with well-formed events.
    private static let longestSearch = 200

    /// An event that could not be delivered.
    package struct Dead: Sendable, Hashable {
        /// Its position in the list. Starts with the time at which Enroute gave up, ms since the epoch.
        package var entry: String
        package var event: WaitingEvent
        package var attempts: Int
        package var reason: String
    }

    /// The oldest undelivered events after an entry. If there are fewer than `page`, there are no others. Malformed
    /// entries are reported and skipped.
    package func dead(_ id: String, after entry: String = "0-0") async throws -> [Dead] {
        guard id.isNonce, entry.isStreamID else { return [] }
        let key = self.keyspace.dead(ofWebhook: id)
        var (found, last): ([Dead], String) = ([], entry)
        for _ in 0..<Self.longestSearch {
            let entries = try await self.streams.entries(of: key, after: last)
            let wellFormed = entries.compactMap { Dead($0) }
            if wellFormed.count < entries.count { self.ledger.refuse(key, by: "XRANGE") }
            found += wellFormed.prefix(Self.page - found.count)
            guard found.count < Self.page, entries.count == EventStreams.page, let newest = entries.last else { break }
            last = newest.id
        }
        return found
    }

    /// Removes the undelivered events that are older than `deadLifetime`.
    package func removeOldDead() async throws {
        let oldest = try await self.streams.time() - Self.deadLifetime.milliseconds
        for id in try await self.ids() {
            try await skippingMalformedData {
                try await self.streams.trim(self.keyspace.dead(ofWebhook: id), before: oldest)
            }
        }
    }

    /// Queues an undelivered event for delivery again.
    ///
    /// - Returns: whether the event was still undelivered.
    package func replay(_ dead: Dead, of id: String, now: Int64) async throws -> Bool {
        let answer = try await self.ledger.evaluate(
            Scripts.replayEvent,
            keys: [
                self.keyspace.webhook(id), self.keyspace.due(ofWebhook: id),
                self.keyspace.waiting(of: dead.event.subject, ofWebhook: id), self.keyspace.dead(ofWebhook: id),
            ],
            arguments: [.text(dead.entry), .text(dead.event.subject), .integer(now)]
        ).get()
        return answer.array?.first?.integer == 1
    }
}

extension WebhookStore.Dead {
    fileprivate init?(_ entry: StreamEntry) {
        guard let subject = entry.fields["subject"], subject.isNonce, let stored = entry.fields["event"] else {
            return nil
        }
        self.init(
            entry: entry.id, event: WaitingEvent(subject: subject, stored: stored),
            attempts: entry.fields["attempts"]?.amount ?? 0, reason: entry.fields["reason"] ?? "")
    }
}

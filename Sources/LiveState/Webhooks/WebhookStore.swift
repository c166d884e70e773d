// The records of webhooks in the ledger. `WaitingEvents.swift` has the events that wait for them,
// `UndeliveredEvents.swift` those that could not be delivered.

internal import NIOCore
package import Redis

/// Reads and writes webhooks. Safe to use from any thread.
package struct WebhookStore: Sendable {
    package let streams: EventStreams
    var ledger: RedisClient { self.streams.ledger }
    var keyspace: Keyspace { self.streams.settings.keyspace }

    /// Maximum number of webhooks.
    package static let maxWebhooks = 50
    /// Maximum number of secrets of a webhook that sign at the same time. Beyond it, the oldest ones expire early.
    package static let maxSecrets = 8
    /// Maximum number of ids that are read from the set of webhooks. Others could have written to it.
    private static let longestSet = 1_000
    /// How many jobs and riders are processed in one step when a webhook is removed or its events become due.
    package static let batch = 500

    package init(ledger: RedisClient, settings: LiveStateSettings) {
        self.streams = EventStreams(ledger: ledger, settings: settings)
    }

    /// Stores a new webhook, which receives events from now on.
    ///
    /// - Returns: `false` when there are too many webhooks.
    package func add(_ new: Webhook) async throws -> Bool {
        var new = new
        for shard in 0..<Keyspace.eventShards { new.cursors[shard] = try await self.streams.newest(shard: shard) }
        let start: [RedisCommand.Word] = ["HSET", .text(self.keyspace.webhook(new.id))]
        _ = try await self.ledger.send(RedisCommand(start + new.fields)).get()
        let answer = try await self.ledger.evaluate(
            Scripts.enlistWebhook, keys: [self.keyspace.webhooks],
            arguments: [.text(new.id), .integer(Self.maxWebhooks)]
        ).get()
        if answer.array?.first?.integer == 1 { return true }
        _ = try await self.ledger.send(["DEL", .text(self.keyspace.webhook(new.id))]).get()
        return false
    }

    package func ids() async throws -> [String] {
        let answer = try await self.ledger.send(["SMEMBERS", .text(self.keyspace.webhooks)]).get()
        return (answer.array ?? []).prefix(Self.longestSet).compactMap(\.text).filter(\.isNonce).sorted()
    }

    /// All webhooks, oldest first.
    package func all() async throws -> [Webhook] {
        var all: [Webhook] = []
        for id in try await self.ids() {
            try await skippingMalformedData {
                if let webhook = try await self.read(id) { all.append(webhook) }
            }
        }
        return all.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    /// Reads a webhook.
    ///
    /// - Returns: `nil` when there is no such webhook, or its record is malformed.
    package func read(_ id: String) async throws -> Webhook? {
        guard id.isNonce else { return nil }
        let key = self.keyspace.webhook(id)
        let items = try await self.ledger.send(["HGETALL", .text(key)]).get().array ?? []
        guard !items.isEmpty else { return nil }
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: items.count - 1, by: 2) {
            guard let name = items[index].text, let value = items[index + 1].text else { continue }
            fields[name] = value
        }
        guard var webhook = Webhook(id: id, fields: fields) else {
            self.ledger.refuse(key, by: "HGETALL")
            return nil
        }
        let undelivered = self.ledger.send(["XLEN", .text(self.keyspace.dead(ofWebhook: id))])
            .skippingMalformedData(as: .null)
        webhook.undelivered = Int(clamping: try await undelivered.get().integer ?? 0)
        return webhook
    }

    /// Removes a webhook and its waiting events.
    ///
    /// - Returns: whether it existed.
    package func remove(_ id: String) async throws -> Bool {
        guard id.isNonce else { return false }
        let removed = try await self.ledger.send(["DEL", .text(self.keyspace.webhook(id))]).get()
        _ = try await self.ledger.send(["SREM", .text(self.keyspace.webhooks), .text(id)]).get()
        try await skippingMalformedData {
            while case let due = try await self.nextDue(id, before: "+inf", most: Self.batch), !due.isEmpty {
                for subject in due.compactMap(\.text).filter(\.isNonce) {
                    let waiting = self.keyspace.waiting(of: subject, ofWebhook: id)
                    _ = try await self.ledger.send(["DEL", .text(waiting)]).get()
                }
                try await self.removeDue(due, of: id)
            }
        }
        _ = try await self.ledger.send([
            "DEL", .text(self.keyspace.due(ofWebhook: id)), .text(self.keyspace.attempts(ofWebhook: id)),
            .text(self.keyspace.dead(ofWebhook: id)),
        ]).get()
        return (removed.integer ?? 0) > 0
    }

    /// Puts a new secret in front of the others. Those that have not expired stay.
    ///
    /// - Parameters:
    ///   - now: ms since the epoch.
    ///   - expires: when the current secret expires, ms since the epoch.
    /// - Returns: the webhook with its secrets after this change; `nil` when there is no such webhook.
    package func rotate(_ id: String, to secret: String, now: Int64, expires: Int64) async throws -> Webhook? {
        guard var webhook = try await self.read(id) else { return nil }
        let answer =
            try await self.ledger.evaluate(
                Scripts.rotateWebhook, keys: [self.keyspace.webhook(id)],
                arguments: [.text(secret), .integer(now), .integer(expires), .integer(Self.maxSecrets)]
            ).get().array ?? []
        guard answer.first?.integer == 1, let stored = answer.last?.text else { return nil }
        webhook.secrets = Webhook.secrets(stored: stored)
        return webhook
    }

    /// Switches a webhook on again after its endpoint accepted a test, and makes its waiting events due immediately.
    ///
    /// - Parameter at: time of the test, ms since the epoch.
    /// - Returns: `false` when the webhook no longer exists.
    package func switchOn(_ id: String, at: Int64) async throws -> Bool {
        try await skippingMalformedData { try await self.endDelays(of: id, at: at) }
        let answer = try await self.ledger.evaluate(
            Scripts.switchOnWebhook, keys: [self.keyspace.webhook(id)], arguments: [.integer(at)]
        ).get()
        return answer.array?.first?.integer == 1
    }

    /// Makes all events due that wait for a later attempt, in steps that do not block Redis for long. The worker limits
    /// how many are sent at the same time.
    private func endDelays(of id: String, at now: Int64) async throws {
        let due = self.keyspace.due(ofWebhook: id)
        // Bounded, so that an endpoint that fails again meanwhile does not prolong this.
        for _ in 0...(Self.maxWaiting / Self.batch) {
            let later =
                try await self.ledger.send([
                    "ZRANGEBYSCORE", .text(due), .text("(\(now)"), "+inf", "LIMIT", "0", .integer(Self.batch),
                ]).get().array ?? []
            guard !later.isEmpty else { return }
            let members = later.compactMap(\.bytes).flatMap { [RedisCommand.Word.integer(now), .bytes($0)] }
            // XX: an event that was delivered or erased in between is not added again.
            _ = try await self.ledger.send(RedisCommand(["ZADD", .text(due), "XX"] + members)).get()
        }
    }
}

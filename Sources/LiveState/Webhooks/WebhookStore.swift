// Webhooks at the ledger: their records, and the events that wait for them.

internal import NIOCore
package import Redis

/// Reads and writes webhooks. Safe to use from any thread.
package struct WebhookStore: Sendable {
    package let streams: EventStreams
    var ledger: RedisClient { self.streams.ledger }
    var keyspace: Keyspace { self.streams.settings.keyspace }

    /// Maximum number of webhooks.
    package static let maxWebhooks = 50
    /// Maximum number of secrets of a webhook that sign at the same time. The oldest ones beyond it end early.
    package static let maxSecrets = 8
    /// Maximum number of ids that are read from the set of webhooks, which others could have written to.
    private static let longestSet = 1_000
    /// Maximum number of events that wait for one webhook. While it is reached, further events stay in the stream.
    package static let maxWaiting = 100_000
    /// How many jobs' and riders' waiting events are removed with a webhook, or become due, in one step.
    package static let batch = 500
    /// Maximum size of a stored event in bytes, as in the scripts.
    private static let longestEvent = 16_384

    package init(ledger: RedisClient, settings: LiveStateSettings) {
        self.streams = EventStreams(ledger: ledger, settings: settings)
    }

    // MARK: records

    /// Stores a new webhook, which receives the events from now on.
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

    /// Removes a webhook with everything that waits for it.
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

    /// Switches a webhook on again after its endpoint accepted a test, and delivers the events that wait without
    /// another delay.
    ///
    /// - Parameter at: time of the test, ms since the epoch.
    /// - Returns: `false` when there is no such webhook any longer.
    package func switchOn(_ id: String, at: Int64) async throws -> Bool {
        try await skippingMalformedData { try await self.endDelays(of: id, at: at) }
        let answer = try await self.ledger.evaluate(
            Scripts.switchOnWebhook, keys: [self.keyspace.webhook(id)], arguments: [.integer(at)]
        ).get()
        return answer.array?.first?.integer == 1
    }

    /// Makes everything due that waits for a later attempt, in steps that do not occupy Redis for long. The worker
    /// limits how much of it is sent at the same time.
    private func endDelays(of id: String, at now: Int64) async throws {
        let due = self.keyspace.due(ofWebhook: id)
        // An endpoint that fails again meanwhile does not prolong this.
        for _ in 0...(Self.maxWaiting / Self.batch) {
            let later =
                try await self.ledger.send([
                    "ZRANGEBYSCORE", .text(due), .text("(\(now)"), "+inf", "LIMIT", "0", .integer(Self.batch),
                ]).get().array ?? []
            guard !later.isEmpty else { return }
            let members = later.compactMap(\.bytes).flatMap { [RedisCommand.Word.integer(now), .bytes($0)] }
            // XX: what was delivered or erased in between is not added again.
            _ = try await self.ledger.send(RedisCommand(["ZADD", .text(due), "XX"] + members)).get()
        }
    }

    // MARK: delivery, by the holder of the lease

    package func lease(of id: String, holder: String) -> Lease {
        Lease(ledger: self.ledger, key: self.keyspace.lease(ofWebhook: id), holder: holder)
    }

    /// A fact about a webhook, which the holder of its lease stores.
    package enum Note: Sendable {
        case cursor(shard: Int, String)
        case failing(since: Int64, at: Int64, error: String)
        case delivered(at: Int64)
        case off(reason: String)
        /// Something other than the endpoint delays deliveries.
        case delayed(reason: String)

        var fields: [(String, String)] {
            switch self {
            case .cursor(let shard, let id): [("cursor:\(shard)", id)]
            case .failing(let since, let at, let error):
                [("failing_since", "\(since)"), ("failed_at", "\(at)"), ("last_error", error)]
            case .delivered(let at): [("delivered_at", "\(at)"), ("failing_since", ""), ("last_error", "")]
            case .off(let reason): [("off_reason", reason), ("state", "off")]
            case .delayed(let reason): [("last_error", reason)]
            }
        }
    }

    /// Why a change was not made.
    package struct NotHeld: Error {
        package init() {}
    }

    /// A waiting event is not one that Enroute stores, or a key has another type.
    package struct Malformed: Error {}

    /// Stores a fact about a webhook.
    ///
    /// - Throws: `NotHeld` when the webhook is gone, or another gateway has its lease.
    package func note(_ note: Note, about id: String, by holder: String) async throws {
        for (field, value) in note.fields {
            let answer = try await self.ledger.evaluate(
                Scripts.noteWebhook, keys: [self.keyspace.lease(ofWebhook: id), self.keyspace.webhook(id)],
                arguments: [.text(holder), .text(field), .text(value.printable)]
            ).get()
            guard answer.array?.first?.integer == 1 else { throw NotHeld() }
        }
    }

    /// Appends an event to the waiting list of its job or rider.
    ///
    /// - Returns: `false` when too many events wait.
    /// - Throws: `NotHeld`.
    package func park(
        _ event: WaitingEvent, for id: String, attempts: Int, due: Int64, by holder: String
    ) async throws -> Bool {
        let answer = try await self.ledger.evaluate(
            Scripts.parkEvent, keys: self.deliveryKeys(id, event.subject),
            arguments: [
                .text(holder), .text(event.subject), .integer(attempts), .integer(due), .text(event.stored),
                .integer(Self.maxWaiting),
            ]
        ).get()
        switch answer.array?.first?.integer {
        case 1, 2: return true
        case -2: return false
        default: throw NotHeld()
        }
    }

    package enum Outcome: String, Sendable { case delivered, retry, dead }

    /// Records the outcome of an attempt to deliver a waiting event.
    ///
    /// - Returns: how many events of its job or rider still wait; `nil` when it was no longer the first of them.
    /// - Throws: `NotHeld`.
    package func settle(
        _ event: WaitingEvent, for id: String, _ outcome: Outcome, due: Int64, reason: String, by holder: String
    ) async throws -> Int? {
        let answer = try await self.ledger.evaluate(
            Scripts.settleEvent,
            keys: self.deliveryKeys(id, event.subject) + [self.keyspace.dead(ofWebhook: id)],
            arguments: [
                .text(holder), .text(event.subject), .text(event.stored), .text(outcome.rawValue), .integer(due),
                .text(reason.printable),
            ]
        ).get()
        let parts = answer.array ?? []
        switch parts.first?.integer {
        case 1: return Int(clamping: parts.last?.integer ?? 0)
        case 0: return nil
        default: throw NotHeld()
        }
    }

    /// Jobs and riders whose first waiting event is due, the longest due first.
    package func due(_ id: String, before now: Int64, most: Int) async throws -> [String] {
        let members = try await self.nextDue(id, before: .integer(now), most: most)
        let subjects = members.compactMap(\.text).filter(\.isNonce)
        guard subjects.count < members.count else { return subjects }
        // Otherwise they could fill every page.
        self.ledger.refuse(self.keyspace.due(ofWebhook: id), by: "ZRANGEBYSCORE")
        try await self.removeDue(members.filter { $0.text?.isNonce != true }, of: id)
        return subjects
    }

    /// Also malformed members.
    private func nextDue(_ id: String, before end: RedisCommand.Word, most: Int) async throws -> [RESPValue] {
        let key = self.keyspace.due(ofWebhook: id)
        let command: RedisCommand = ["ZRANGEBYSCORE", .text(key), "-inf", end, "LIMIT", "0", .integer(most)]
        return try await self.ledger.send(command).get().array ?? []
    }

    private func removeDue(_ members: [RESPValue], of id: String) async throws {
        let words = members.compactMap { member in member.bytes.map { RedisCommand.Word.bytes($0) } }
        _ = try await self.ledger.send(RedisCommand(["ZREM", .text(self.keyspace.due(ofWebhook: id))] + words)).get()
    }

    /// All jobs and riders with waiting events.
    package func waitingSubjects(_ id: String) async throws -> Set<String> {
        Set(try await self.due(id, before: 9_999_999_999_999, most: Self.maxWaiting))
    }

    /// The first waiting event of a job or rider, and its failed attempts; `nil` when none waits.
    ///
    /// - Throws: `Malformed`, or an error of Redis.
    package func first(_ subject: String, of id: String) async throws -> (event: WaitingEvent, attempts: Int)? {
        let key = self.keyspace.waiting(of: subject, ofWebhook: id)
        let stored = self.ledger.send(["LINDEX", .text(key), "0"])
        let attempts = self.ledger.send(["HMGET", .text(self.keyspace.attempts(ofWebhook: id)), .text(subject)])
        let answer: RESPValue
        do {
            answer = try await stored.get()
        } catch let error as RedisError where error.isMalformedData {
            throw Malformed()
        }
        guard let bytes = answer.bytes else { return nil }
        let event = WaitingEvent(subject: subject, stored: answer.text ?? "")
        guard bytes.count <= Self.longestEvent, !event.id.isEmpty, event.body.hasPrefix("{") else {
            self.ledger.refuse(key, by: "LINDEX")
            throw Malformed()
        }
        return (event, try await attempts.get().array?.first?.text?.amount ?? 0)
    }

    /// Removes what `first` or a script found malformed, and an entry of a job or rider without waiting events.
    ///
    /// - Parameter isFirst: whether the first waiting event is malformed, and removed too.
    /// - Returns: `false` when well-formed events wait: nothing is removed.
    /// - Throws: `NotHeld`.
    package func drop(_ subject: String, of id: String, isFirst: Bool = false, by holder: String) async throws -> Bool {
        let answer = try await self.ledger.evaluate(
            Scripts.dropWaiting, keys: self.deliveryKeys(id, subject),
            arguments: [.text(holder), .text(subject), isFirst ? "first" : "orphan"]
        ).get()
        switch answer.array?.first?.integer {
        case 1: return true
        case 0: return false
        default: throw NotHeld()
        }
    }

    private func deliveryKeys(_ id: String, _ subject: String) -> [String] {
        [
            self.keyspace.lease(ofWebhook: id), self.keyspace.webhook(id), self.keyspace.due(ofWebhook: id),
            self.keyspace.attempts(ofWebhook: id), self.keyspace.waiting(of: subject, ofWebhook: id),
        ]
    }
}

/// An event to be delivered to a webhook: its id, and the body that each attempt sends.
package struct WaitingEvent: Sendable, Hashable {
    package let subject: String
    /// `<id> <body>`
    let stored: String

    package init(_ event: LedgerEvent) {
        self.subject = event.subject
        self.stored = "\(event.id) \(event.body)"
    }

    init(subject: String, stored: String) { (self.subject, self.stored) = (subject, stored) }

    package var id: String { String(self.stored.prefix { $0 != " " }) }
    package var body: String { String(self.stored.drop { $0 != " " }.dropFirst()) }
}

extension String {
    /// At most 200 bytes of ASCII without control characters, as the scripts accept.
    fileprivate var printable: String {
        String(self.unicodeScalars.map { (32...126).contains($0.value) ? Character($0) : "?" }.prefix(200))
    }
}

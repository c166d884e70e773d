// The events that wait for a webhook. The gateway that holds the webhook's lease delivers them and stores the outcomes.

internal import FoundationEssentials
internal import NIOCore
internal import Redis

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

    /// The attributes by which an erasure selects events.
    struct Attributes: Decodable {
        var type: String?
        var epoch: String?
    }

    /// `nil` when the body is malformed.
    var attributes: Attributes? { try? JSONDecoder().decode(Attributes.self, from: Data(self.body.utf8)) }
}

extension WebhookStore {
    /// Maximum number of events that wait for one webhook. Once it is reached, newer events stay in the stream.
    package static let maxWaiting = 100_000
    /// Maximum size of a stored event in bytes, as in the scripts.
    private static let longestEvent = 16_384

    package func lease(of id: String, holder: String) -> Lease {
        Lease(ledger: self.ledger, key: self.keyspace.lease(ofWebhook: id), holder: holder)
    }

    /// A fact about a webhook that the holder of its lease stores.
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

    /// A waiting event was not written by Enroute, or a key has another type.
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
        // Otherwise such members could fill every page.
        self.ledger.refuse(self.keyspace.due(ofWebhook: id), by: "ZRANGEBYSCORE")
        try await self.removeDue(members.filter { $0.text?.isNonce != true }, of: id)
        return subjects
    }

    /// Includes malformed members.
    func nextDue(_ id: String, before end: RedisCommand.Word, most: Int) async throws -> [RESPValue] {
        let key = self.keyspace.due(ofWebhook: id)
        let command: RedisCommand = ["ZRANGEBYSCORE", .text(key), "-inf", end, "LIMIT", "0", .integer(most)]
        return try await self.ledger.send(command).get().array ?? []
    }

    func removeDue(_ members: [RESPValue], of id: String) async throws {
        let words = members.compactMap { member in member.bytes.map { RedisCommand.Word.bytes($0) } }
        _ = try await self.ledger.send(RedisCommand(["ZREM", .text(self.keyspace.due(ofWebhook: id))] + words)).get()
    }

    /// All jobs and riders with waiting events.
    package func waitingSubjects(_ id: String) async throws -> Set<String> {
        Set(try await self.due(id, before: 9_999_999_999_999, most: Self.maxWaiting))
    }

    /// The first waiting event of a job or rider, and its failed attempts; `nil` if none waits.
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

    /// Removes what `first` or a script found to be malformed, and the entry of a job or rider without waiting events.
    ///
    /// - Parameter isFirst: whether the first waiting event is malformed and removed too.
    /// - Returns: `false` when well-formed events wait. Then nothing is removed.
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

    func deliveryKeys(_ id: String, _ subject: String) -> [String] {
        [
            self.keyspace.lease(ofWebhook: id), self.keyspace.webhook(id), self.keyspace.due(ofWebhook: id),
            self.keyspace.attempts(ofWebhook: id), self.keyspace.waiting(of: subject, ofWebhook: id),
        ]
    }
}

extension String {
    /// At most 200 bytes of ASCII without control characters, as the scripts accept.
    fileprivate var printable: String {
        String(self.unicodeScalars.map { (32...126).contains($0.value) ? Character($0) : "?" }.prefix(200))
    }
}

// The stream of revocations. Each revocation is appended. Every event loop of every gateway reads the stream and
// remembers the last entry that it has read. A failover may lose entries, including that one, so each read starts with
// it again: if it is gone, the reader reads the whole stream. Applying an entry twice is harmless.

package import Access
package import EnrouteWire
package import NIOCore
package import Redis

/// The stream `control` in the ledger. Safe to use from any thread.
package struct RevocationLog: Sendable {
    private let ledger: RedisClient
    private let settings: LiveStateSettings

    /// Maximum number of entries in one read.
    package static let page = 2_000
    /// Maximum size of a reason in bytes.
    package static let longestReason = 200

    package init(ledger: RedisClient, settings: LiveStateSettings) {
        self.ledger = ledger
        self.settings = settings
    }

    package enum Outcome: Sendable, Hashable {
        case revoked
        /// The stream has its maximum length, and all entries are still within the retention.
        case full
    }

    /// Revokes a user, a token, a job or a link, and waits for replicas. Safe to repeat.
    ///
    /// - Parameter reason: shown to people, at most `longestReason` bytes without control characters.
    package func revoke(
        _ subject: RevocationSubject, by actor: PersonID, because reason: String
    ) -> EventLoopFuture<Durable<Outcome>> {
        let control = self.settings.keyspace.control
        return self.ledger.evaluateDurably(
            Scripts.revokeGrant, keys: [control, control],
            arguments: [
                .text(subject.kind.rawValue), .text(subject.id), .text(actor.text), .text(reason),
                .integer(self.settings.revocationRetention.milliseconds),
            ]
        ).flatMapThrowing { answer in
            guard let code = answer.value.array?.first?.integer else {
                throw RedisError.unexpectedAnswer(command: Scripts.revokeGrant.name)
            }
            return Durable(value: code == 1 ? .revoked : .full, replicas: code == 1 ? answer.replicas : nil)
        }
    }

    /// One entry of the stream.
    package struct Entry: Sendable, Hashable {
        package let id: String
        /// Names and values in turn.
        package let fields: [String]

        package init(id: String, fields: [String]) {
            self.id = id
            self.fields = fields
        }

        /// The kind is unknown to this version, for example because a later version wrote the entry.
        package var isOfLaterVersion: Bool {
            guard let index = self.fields.firstIndex(of: "kind"), index + 1 < self.fields.count else { return false }
            let kind = self.fields[index + 1]
            return RevocationSubject.Kind(rawValue: kind) == nil && kind.isNonce
        }

        /// `nil` when the entry is malformed.
        package var revocation: Revocation? {
            let pairs = stride(from: 0, to: self.fields.count - 1, by: 2).map {
                (self.fields[$0], self.fields[$0 + 1])
            }
            let values = Dictionary(pairs) { $1 }
            guard let kind = values["kind"].flatMap({ RevocationSubject.Kind(rawValue: $0) }), let id = values["id"],
                let subject = RevocationSubject(kind, id: id), let at = values["at"]?.timestamp
            else { return nil }
            return Revocation(subject, at: at)
        }
    }

    /// Reads a page of the stream.
    ///
    /// - Parameter start: id of the first entry to read, inclusive; `-` for the oldest.
    /// - Returns: at most `page` entries, the oldest first.
    package func read(from start: String) -> EventLoopFuture<[Entry]> {
        self.ledger.send([
            "XRANGE", .text(self.settings.keyspace.control), .text(start), "+", "COUNT", .integer(Self.page),
        ]).flatMapThrowing { answer in
            guard let entries = answer.array else { throw RedisError.unexpectedAnswer(command: "XRANGE") }
            return try entries.map { entry in
                guard let parts = entry.array, parts.count == 2, let id = parts[0].text, let fields = parts[1].array
                else { throw RedisError.unexpectedAnswer(command: "XRANGE") }
                return Entry(id: id, fields: fields.map { $0.text ?? "" })
            }
        }
    }

    /// Reports a malformed entry, whose revocation cannot be applied.
    package func refuseEntry() { self.ledger.refuse(self.settings.keyspace.control, by: "XRANGE") }
}

/// How far a reader has read the stream.
package struct RevocationCursor: Sendable {
    private var last: RevocationLog.Entry?
    private let page: Int

    package init(page: Int = RevocationLog.page) { self.page = page }

    /// Where the next read starts: at the last entry, to verify that it still exists.
    package var start: String { self.last?.id ?? "-" }

    /// Advances past a page that was read from `start`.
    ///
    /// - Returns: the entries that are new, and whether there are more to read immediately.
    package mutating func advance(_ entries: [RevocationLog.Entry]) -> (fresh: [RevocationLog.Entry], isMore: Bool) {
        guard let last = self.last else {
            self.last = entries.last
            return (entries, entries.count >= self.page)
        }
        guard entries.first == last else {
            // The last entry was lost or has expired, so the whole stream is read again.
            self.last = nil
            return (entries, true)
        }
        self.last = entries.last
        return (Array(entries.dropFirst()), entries.count >= self.page)
    }
}

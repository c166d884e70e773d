// The stream of what was revoked: written by whoever revokes, read by every loop of every gateway, which remembers where
// it stands. A failover may lose entries, also the one a reader stood at; the reader notices, because it asks for that
// one again each time, and then reads everything anew. What it knows already does no harm twice.

package import Access
package import EnrouteWire
package import NIOCore
package import Redis

/// The stream `control` at the ledger. May be used from any thread.
package struct RevocationLog: Sendable {
    private let ledger: RedisClient
    private let settings: LiveStateSettings

    /// Entries of one answer, at most.
    package static let page = 2_000
    /// Bytes of a reason, at most.
    package static let longestReason = 200

    package init(ledger: RedisClient, settings: LiveStateSettings) {
        self.ledger = ledger
        self.settings = settings
    }

    package enum Verdict: Sendable, Hashable {
        case revoked
        /// So many entries within the retention that no more are taken.
        case full
    }

    /// Revokes. Safe to repeat. A replica should have it too, where there are replicas.
    ///
    /// - Parameter reason: for people, at most `longestReason` bytes without control characters.
    package func revoke(
        _ subject: RevocationSubject, by actor: PersonID, because reason: String
    ) -> EventLoopFuture<Durable<Verdict>> {
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

    /// One entry, as it is in the stream.
    package struct Entry: Sendable, Hashable {
        package let id: String
        /// Names and values, one after the other.
        package let fields: [String]

        package init(id: String, fields: [String]) {
            self.id = id
            self.fields = fields
        }

        /// Of a kind that this version does not know, as a later one may write it.
        package var isOfLaterVersion: Bool {
            guard let index = self.fields.firstIndex(of: "kind"), index + 1 < self.fields.count else { return false }
            let kind = self.fields[index + 1]
            return RevocationSubject.Kind(rawValue: kind) == nil && kind.isNonce
        }

        /// `nil` when it is not understood.
        package var revocation: Revocation? {
            let pairs = stride(from: 0, to: self.fields.count - 1, by: 2).map {
                (self.fields[$0], self.fields[$0 + 1])
            }
            let values = Dictionary(pairs) { $1 }
            guard let kind = values["kind"].flatMap({ RevocationSubject.Kind(rawValue: $0) }), let id = values["id"],
                let subject = RevocationSubject(kind, id: id), let at = values["at"]?.moment
            else { return nil }
            return Revocation(subject, at: at)
        }
    }

    /// - Parameter start: id of the first entry to read, itself included; `-` for the oldest there is.
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

    /// An entry that is not ours was read: whoever it was to revoke is not.
    package func refuseEntry() { self.ledger.refuse(self.settings.keyspace.control, by: "XRANGE") }
}

/// Where a reader of the stream stands.
package struct RevocationCursor: Sendable {
    private var last: RevocationLog.Entry?
    private let page: Int

    package init(page: Int = RevocationLog.page) { self.page = page }

    /// What to read from: the last entry is read again, to see that it is still there.
    package var start: String { self.last?.id ?? "-" }

    /// - Returns: what was not read before, and whether more is to be read at once.
    package mutating func take(_ entries: [RevocationLog.Entry]) -> (fresh: [RevocationLog.Entry], isMore: Bool) {
        guard let last = self.last else {
            self.last = entries.last
            return (entries, entries.count >= self.page)
        }
        guard entries.first == last else {
            // Lost, or over: everything again.
            self.last = nil
            return (entries, true)
        }
        self.last = entries.last
        return (Array(entries.dropFirst()), entries.count >= self.page)
    }
}

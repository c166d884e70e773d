// The two audit streams in the ledger. Gateways append to them, people read them. XADD trims with an approximate
// MAXLEN, which drops whole nodes of about a hundred entries, oldest first.

package import NIOCore
package import Redis

/// Writes and reads the streams. Safe to use from any thread.
package struct AuditStreams: Sendable {
    let ledger: RedisClient
    let settings: LiveStateSettings

    /// Maximum number of entries in one page.
    package static let page = 1_000

    package init(ledger: RedisClient, settings: LiveStateSettings) {
        self.ledger = ledger
        self.settings = settings
    }

    package func append(_ entry: AuditEntry) -> EventLoopFuture<Void> {
        let most = entry.stream == .access ? self.settings.accessEntries : self.settings.auditEntries
        let fields = entry.fields.flatMap { [RedisCommand.Word.text($0.name), .text($0.value)] }
        var command: RedisCommand = [
            "XADD", .text(self.settings.keyspace.stream(entry.stream)), "MAXLEN", "~", .integer(most), "*",
        ]
        command.words += fields
        return self.send(command, to: self.settings.keyspace.stream(entry.stream)).map { _ in }
    }

    /// Fails with `NotAStream` if the key holds something else.
    private func send(_ command: RedisCommand, to key: String) -> EventLoopFuture<RESPValue> {
        self.ledger.send(command).flatMapErrorThrowing { error in
            throw (error as? RedisError)?.isMalformedData == true ? NotAStream(key: key) : error
        }
    }

    /// An entry as Redis stores it.
    package struct StoredEntry: Sendable, Hashable {
        /// Starts with the time at which Redis stored it, ms since the epoch.
        package var id: String
        package var fields: [AuditEntry.Field]

        package func value(_ name: String) -> String? { self.fields.first { $0.name == name }?.value }
    }

    /// Where a read starts.
    package enum Start: Sendable, Hashable {
        /// ms since the epoch, by the clock of Redis.
        case since(Int64)
        case after(id: String)
    }

    /// The entries of one read, oldest first.
    package struct Page: Sendable, Hashable {
        package var entries: [StoredEntry]
        /// Number of malformed entries, which were skipped.
        package var malformed: Int
        /// Where the next page starts; `nil` if this is the last one.
        package var next: Start?
    }

    /// The oldest entries from `start`: `page`, the malformed ones included.
    package func read(_ stream: AuditEntry.Stream, from start: Start) -> EventLoopFuture<Page> {
        let first =
            switch start {
            case .since(let time): String(time)
            case .after(let id): "(" + id
            }
        return self.page(
            ["XRANGE", .text(self.settings.keyspace.stream(stream)), .text(first), "+", "COUNT", .integer(Self.page)],
            of: self.settings.keyspace.stream(stream))
    }

    func entries(_ command: RedisCommand, of key: String) -> EventLoopFuture<[StoredEntry]> {
        self.page(command, of: key).map(\.entries)
    }

    /// Skips and reports malformed entries, so that one of them does not hide the rest.
    private func page(_ command: RedisCommand, of key: String) -> EventLoopFuture<Page> {
        self.send(command, to: key).map { answer in
            let stored = answer.array ?? []
            let valid = stored.compactMap { StoredEntry($0) }
            if valid.count < stored.count { self.ledger.refuse(key, by: command.verb) }
            let last = stored.count < Self.page ? nil : stored.last?.array?.first?.text
            return Page(
                entries: valid, malformed: stored.count - valid.count, next: last.map { .after(id: $0) })
        }
    }

    /// The key of an audit stream holds another type, so nothing can be read from it or written to it.
    package struct NotAStream: Error, Sendable, CustomStringConvertible {
        package let key: String

        package var description: String {
            "The key \(self.key) of the ledger is not a stream, so the audit trail can neither be written nor read. "
                + "Rename the key; gateways then create the stream again."
        }
    }
}

extension AuditStreams.StoredEntry {
    /// Maximum size of one value in bytes. Enroute writes only shorter values.
    private static let longestValue = 1_024

    /// - Parameter entry: of the stream: its id, then names and values in turn. It must have a `type` (what happened)
    ///   or a `change` (what changed).
    init?(_ entry: RESPValue) {
        guard let parts = entry.array, parts.count == 2, let id = parts[0].text,
            let items = parts[1].array?.map(\.text), items.count.isMultiple(of: 2)
        else { return nil }
        var fields: [AuditEntry.Field] = []
        for index in stride(from: 0, to: items.count, by: 2) {
            guard let name = items[index], let value = items[index + 1], name.isNonce,
                value.utf8.count <= Self.longestValue, !value.unicodeScalars.contains("\u{FFFD}")
            else { return nil }
            fields.append(AuditEntry.Field(name: name, value: value))
        }
        guard fields.contains(where: { ["type", "change"].contains($0.name) && $0.value.isNonce }) else { return nil }
        self.init(id: id, fields: fields)
    }
}

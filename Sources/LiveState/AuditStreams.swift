// The two streams at the ledger, appended to by gateways and read by people. Bounded: the oldest entries go (XADD with an
// approximate MAXLEN, which drops whole nodes of a hundred or so).

package import NIOCore
package import Redis

/// Writing and reading the streams. May be used from any thread.
package struct AuditStreams: Sendable {
    let ledger: RedisClient
    let settings: LiveStateSettings

    /// Entries that one page holds, at most.
    package static let page = 1_000

    package init(ledger: RedisClient, settings: LiveStateSettings) {
        self.ledger = ledger
        self.settings = settings
    }

    package func append(_ entry: AuditEntry) -> EventLoopFuture<Void> {
        let most = entry.stream == .access ? self.settings.accessEntries : self.settings.auditEntries
        let words = entry.fields.flatMap { [RedisCommand.Word.text($0.name), .text($0.value)] }
        var command: RedisCommand = [
            "XADD", .text(self.settings.keyspace.stream(entry.stream)), "MAXLEN", "~", .integer(most), "*",
        ]
        command.words += words
        return self.ledger.send(command).map { _ in }
    }

    /// An entry as Redis keeps it.
    package struct Kept: Sendable, Hashable {
        /// Begins with the time of Redis when it was written, ms since the epoch.
        package var id: String
        package var fields: [AuditEntry.Field]

        package func value(_ name: String) -> String? { self.fields.first { $0.name == name }?.value }
    }

    /// Where to read on.
    package enum Start: Sendable, Hashable {
        /// ms since the epoch, by the clock of Redis.
        case since(Int64)
        case after(id: String)
    }

    /// The oldest entries from `start` on, at most `page` of them.
    package func read(_ stream: AuditEntry.Stream, from start: Start) -> EventLoopFuture<[Kept]> {
        let first =
            switch start {
            case .since(let time): String(time)
            case .after(let id): "(" + id
            }
        return self.ledger.send([
            "XRANGE", .text(self.settings.keyspace.stream(stream)), .text(first), "+", "COUNT", .integer(Self.page),
        ]).flatMapThrowing { try Self.entries($0, command: "XRANGE") }
    }

    static func entries(_ answer: RESPValue, command: String) throws(RedisError) -> [Kept] {
        var entries: [Kept] = []
        for entry in answer.array ?? [] {
            guard let parts = entry.array, parts.count == 2, let id = parts[0].text,
                let words = parts[1].array?.compactMap(\.text), words.count.isMultiple(of: 2)
            else { throw RedisError.unexpectedAnswer(command: command) }
            let fields = stride(from: 0, to: words.count, by: 2).map {
                AuditEntry.Field(name: words[$0], value: words[$0 + 1])
            }
            entries.append(Kept(id: id, fields: fields))
        }
        return entries
    }
}

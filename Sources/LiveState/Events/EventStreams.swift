// The stream of all events: a fixed number of shards in the ledger, each with the events of some jobs and riders in
// order. lua/README.md describes it for other programs.

internal import EnrouteWire
package import NIOCore
package import Redis

/// Reads and writes the stream. Safe to use from any thread.
package struct EventStreams: Sendable {
    package let ledger: RedisClient
    package let settings: LiveStateSettings
    private var keyspace: Keyspace { self.settings.keyspace }

    /// Approximate length of a shard, as in the scripts.
    package static let longest = 50_000
    /// Maximum number of entries in one page.
    package static let page = 100
    /// How long a shard stores an event, except its newest one.
    package static let lifetime: Duration = .seconds(7 * 86_400)
    /// How long the epochs of erased records are remembered, so that their events are not appended. A gateway that was
    /// frozen for longer has probably lost its connections.
    static let erasedLifetime: Duration = .seconds(86_400)
    /// How old the entries may be that are read again when the entry at the cursor is missing: longer than a failover and
    /// the difference between two clocks together.
    static let overlap: Duration = .seconds(120)
    package static let shards = Keyspace.eventShards

    package init(ledger: RedisClient, settings: LiveStateSettings) { (self.ledger, self.settings) = (ledger, settings) }

    /// An entry as Redis stores it.
    package struct Entry: Sendable, Hashable {
        /// Its position in the shard.
        package var id: String
        /// `nil` when it is malformed.
        package var event: LedgerEvent?
    }

    /// Entries, and the cursor of a reader that has read them.
    package struct Page: Sendable, Hashable {
        package var entries: [Entry]
        package var cursor: String
    }

    /// Appends an event of a gateway. Repeating it stores the event again, with the same id.
    @discardableResult
    package func append(_ event: LedgerEvent) -> EventLoopFuture<Void> {
        let start: [RedisCommand.Word] = [
            "XADD", .text(self.keyspace.events(of: event.subject)), "MAXLEN", "~", .integer(Self.longest), "*",
        ]
        return self.ledger.send(RedisCommand(start + event.fields)).map { _ in }
    }

    /// Appends an event from an outbox.
    ///
    /// - Returns: `false` when the job's record was erased meanwhile. Then nothing is appended.
    @discardableResult
    package func forward(_ event: LedgerEvent) async throws -> Bool {
        let answer = try await self.ledger.evaluate(
            Scripts.forwardEvent,
            keys: [self.keyspace.events(of: event.subject), self.keyspace.erased(fromShardOf: event.subject)],
            arguments: [
                .text(event.id), .text(event.kind.rawValue), .integer(event.time), .text(event.subject),
                .text(event.epoch), .integer(event.version), .text(event.zone?.text ?? ""), .text(event.data),
            ]
        ).get()
        return answer.array?.first?.integer == 1
    }

    /// From now on, `forward` appends no event of these records of a job, except the one about the erasure.
    func markErased(_ epochs: [String], of job: JobID) async throws {
        guard !epochs.isEmpty else { return }
        let now = try await self.time()
        let members = epochs.flatMap { [RedisCommand.Word.integer(now), .text("\(job.text).\($0)")] }
        let key = self.keyspace.erased(fromShardOf: job.text)
        try await skippingMalformedData {
            _ = try await self.ledger.send(RedisCommand(["ZADD", .text(key)] + members)).get()
        }
    }

    /// The oldest entries after an id, at most `page`. A malformed entry is reported, and has no event.
    package func read(shard: Int, after id: String) async throws -> [Entry] {
        let key = self.keyspace.events(shard: shard)
        return self.events(try await self.entries(of: key, after: id), of: key)
    }

    /// Continues reading a shard at a cursor, as `entries(of:resumingAt:)`.
    package func read(shard: Int, resumingAt cursor: String) async throws -> Page {
        let key = self.keyspace.events(shard: shard)
        let (entries, next) = try await self.entries(of: key, resumingAt: cursor)
        return Page(entries: self.events(entries, of: key), cursor: next)
    }

    private func events(_ entries: [StreamEntry], of key: String) -> [Entry] {
        entries.map { entry in
            let event = LedgerEvent(fields: entry.fields)
            if event == nil { self.ledger.refuse(key, by: "XRANGE") }
            return Entry(id: entry.id, event: event)
        }
    }

    /// The ids of the newest entries of all shards; `0-0` for a shard that is empty, or has another type.
    package func newest() async throws -> [String] {
        let answers = (0..<Keyspace.eventShards).map { shard in
            self.ledger.send(["XREVRANGE", .text(self.keyspace.events(shard: shard)), "+", "-", "COUNT", "1"])
        }
        var ids: [String] = []
        for answer in answers {
            do {
                ids.append(StreamEntry.all(try await answer.get()).first?.id ?? "0-0")
            } catch let error as RedisError where error.isMalformedData {
                ids.append("0-0")
            }
        }
        return ids
    }

    /// The id of a shard's newest entry; `0-0` for an empty shard.
    package func newest(shard: Int) async throws -> String {
        try await self.newest(of: self.keyspace.events(shard: shard))
    }

    private func newest(of key: String) async throws -> String {
        let answer = try await self.ledger.send(["XREVRANGE", .text(key), "+", "-", "COUNT", "1"]).get()
        return StreamEntry.all(answer).first?.id ?? "0-0"
    }

    /// The id of a shard's oldest entry; `nil` for an empty shard.
    package func oldest(shard: Int) async throws -> String? {
        let answer = try await self.ledger.send([
            "XRANGE", .text(self.keyspace.events(shard: shard)), "-", "+", "COUNT", "1",
        ]).get()
        return StreamEntry.all(answer).first?.id
    }

    /// Whether events after a position may have been trimmed, because they are old or because the shard is full.
    /// Otherwise, missing events were erased with their job.
    package func mayHaveTrimmed(shard: Int, after place: String) async throws -> Bool {
        let placed = place.split(separator: "-").first.flatMap { $0.timestamp } ?? 0
        guard try await self.time() - placed < Self.lifetime.milliseconds else { return true }
        let length = try await self.ledger.send(["XLEN", .text(self.keyspace.events(shard: shard))]).get().integer
        // A trimmed shard may be shorter than its maximum, because events are erased from it afterwards.
        return length ?? 0 >= Self.longest * 9 / 10
    }

    /// Removes the events that are older than `lifetime`, and the epochs of erased records that are older than
    /// `erasedLifetime`. The newest event of each shard stays, because readers continue from it.
    package func removeOld() async throws {
        let now = try await self.time()
        let oldest = now - Self.lifetime.milliseconds
        for shard in 0..<Self.shards {
            try await skippingMalformedData {
                let newest = try await self.newest(shard: shard).split(separator: "-").first?.timestamp ?? 0
                try await self.trim(self.keyspace.events(shard: shard), before: min(oldest, newest))
                _ = try await self.ledger.send([
                    "ZREMRANGEBYSCORE", .text(self.keyspace.erased(fromShard: shard)), "-inf",
                    .integer(now - Self.erasedLifetime.milliseconds),
                ]).get()
            }
        }
    }

    /// - Parameter id: ms since the epoch.
    func trim(_ key: String, before id: Int64) async throws {
        guard id > 0 else { return }
        // Not `~`, which would leave the entries of a short stream.
        _ = try await self.ledger.send(["XTRIM", .text(key), "MINID", .integer(id)]).get()
    }

    /// The ledger's clock, ms since the epoch.
    func time() async throws -> Int64 {
        let time = (try await self.ledger.send(["TIME"]).get().array ?? []).compactMap { $0.text?.unixSeconds }
        return time.count == 2 ? time[0] * 1000 + time[1] / 1000 : 0
    }

    func entries(of key: String, after id: String) async throws -> [StreamEntry] {
        let answer = try await self.ledger.send([
            "XRANGE", .text(key), .text("(" + id), "+", "COUNT", .integer(Self.page),
        ]).get()
        return StreamEntry.all(answer)
    }

    /// The oldest entries after a cursor, at most `page`, and the next cursor.
    ///
    /// If the entry at the cursor is missing, a failover may have lost it. When the clock of the new master is behind, new
    /// entries have smaller ids than the cursor. So entries of the last minutes (`overlap`) are returned again. The entry may
    /// also have been trimmed or erased; then nothing was missed.
    func entries(of key: String, resumingAt cursor: String) async throws -> ([StreamEntry], next: String) {
        let answer = try await self.ledger.send([
            "XRANGE", .text(key), .text(cursor), "+", "COUNT", .integer(Self.page + 1),
        ]).get()
        var entries = StreamEntry.all(answer)
        let isThere = entries.first?.id == cursor
        if isThere || cursor == "0-0" {
            entries = Array(isThere ? entries.dropFirst() : entries.prefix(Self.page))
            return (entries, entries.last?.id ?? cursor)
        }
        // Before the entries: an entry that is appended meanwhile must not be skipped.
        let newest = try await self.newest(of: key)
        let read = cursor.split(separator: "-").first?.timestamp ?? 0
        let start = max(0, try await self.time() - Self.overlap.milliseconds)
        entries = try await self.entries(of: key, after: start < read ? "\(start)-0" : cursor)
        return (entries, entries.last?.id ?? newest)
    }
}

/// An entry of any stream.
struct StreamEntry: Sendable, Hashable {
    var id: String
    var fields: [String: String]

    static func all(_ answer: RESPValue) -> [StreamEntry] { (answer.array ?? []).compactMap { StreamEntry($0) } }

    private init?(_ entry: RESPValue) {
        guard let parts = entry.array, parts.count == 2, let id = parts[0].text, let items = parts[1].array else {
            return nil
        }
        self.id = id
        self.fields = [:]
        for index in stride(from: 0, to: items.count - 1, by: 2) {
            guard let name = items[index].text, let value = items[index + 1].text else { continue }
            self.fields[name] = value
        }
    }
}

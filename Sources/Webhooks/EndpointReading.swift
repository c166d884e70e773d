// Reads the stream for one webhook, a page of each shard at a time.

internal import LiveState
internal import Logging
internal import Redis
internal import Telemetry

extension EndpointWorker {
    func readStream() async throws {
        let webhook = try await self.record()
        let ends = try await self.tail.ends()
        let streams = self.store.streams
        let pages = try await withThrowingTaskGroup(of: (Int, EventStreams.Page).self) { group in
            for (shard, end) in ends.enumerated() {
                let cursor = self.cursors[shard] ?? "0-0"
                // After a failover the end may be before the cursor. An empty shard ends at 0-0.
                guard cursor != end, end != "0-0" else { continue }
                group.addTask { (shard, try await streams.read(shard: shard, resumingAt: cursor)) }
            }
            var pages: [Int: [EventStreams.Entry]] = [:]
            for try await (shard, page) in group {
                if page.entries.isEmpty { self.cursors[shard] = page.cursor } else { pages[shard] = page.entries }
            }
            return pages
        }
        guard !pages.isEmpty else {
            // From here on, a full page can only mean that the worker reads too slowly.
            self.isFirstRead = false
            return try await Task.sleep(for: Self.pause)
        }
        var new = NewEvents()
        for (shard, page) in pages {
            if self.isFirstRead || page.count == EventStreams.page {
                try await self.reportGap(shard, after: self.cursors[shard] ?? "0-0", addedAt: webhook.createdAt)
            }
            for event in self.unsent(page, of: shard) { new.add(event, isReceived: webhook.receives(event.kind)) }
        }
        let fullCount = self.fullCount
        // All events before these have been delivered or given up, or wait in Redis.
        let erased = new.erased
        try await self.persist(of: nil) { try await self.store.forgetErased(erased, of: self.id) }
        try await self.settle(new.waiting, undelayed: erased)
        for (shard, page) in pages {
            guard let last = page.last else { continue }
            try await self.persist(of: nil) {
                try await self.store.note(.cursor(shard: shard, last.id), about: self.id, by: self.holder)
            }
            self.cursors[shard] = last.id
            self.recent[shard] = (self.recent[shard, default: []] + page.compactMap(\.event?.id)).suffix(Self.maxRecent)
        }
        (self.isFirstRead, self.hasTrouble) = (false, false)
        if self.fullCount == fullCount, self.fullSince != nil {
            self.fullSince = nil
            self.logger.notice(
                "waiting list of the webhook has room again", metadata: [LogKey.webhook: "\(self.id)"])
        }
    }

    /// The events of a page. Those that are read again because the entry at the cursor is missing are not sent again, as far
    /// as they are known.
    private func unsent(_ page: [EventStreams.Entry], of shard: Int) -> [LedgerEvent] {
        let (cursor, recent) = (self.cursors[shard] ?? "0-0", self.recent[shard] ?? [])
        return page.compactMap { entry in
            guard let event = entry.event else { return nil }
            return Self.isBefore(cursor, entry.id) || !recent.contains(event.id) ? event : nil
        }
    }

    /// Reports that the stream no longer contains the entry at which reading should continue: events were trimmed
    /// unread.
    ///
    /// - Parameter addedAt: when the webhook was added, ms since the epoch. If the shard was empty then, the cursor is
    ///   `0-0` until the first event; no earlier event can be missing.
    private func reportGap(_ shard: Int, after cursor: String, addedAt: Int64) async throws {
        let place = cursor == "0-0" ? "\(addedAt)-0" : cursor
        guard self.reportedGaps[shard] != place,
            let oldest = try await self.store.streams.oldest(shard: shard), Self.isBefore(place, oldest),
            try await self.store.streams.mayHaveTrimmed(shard: shard, after: place)
        else { return }
        self.reportedGaps[shard] = place
        self.counts.add(.webhookGaps)
        self.logger.error(
            "events were trimmed from the stream before delivery; compare the jobs with those of the receiver",
            metadata: [LogKey.webhook: "\(self.id)", LogKey.key: "\(shard)"])
    }

    /// Whether one id of a stream is smaller than another.
    private static func isBefore(_ one: String, _ other: String) -> Bool {
        func parts(_ id: String) -> [UInt64] { id.split(separator: "-").map { UInt64($0) ?? 0 } }
        return parts(one).lexicographicallyPrecedes(parts(other))
    }
}

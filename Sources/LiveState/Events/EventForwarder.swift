// Moves events to the stream of all events where scripts cannot append to it themselves: from the outboxes of a
// cluster, and from the change logs of riders, which record these changes anyway.
//
// Each event is moved at least once, in order: it is appended to its shard before it is removed from its outbox. If two
// gateways move the same events, or one dies in between, the stream contains an event twice, with the same id. If the
// job of an event is erased in between, the event is not appended.

internal import EnrouteWire
internal import NIOCore
internal import Redis

/// Runs in every gateway.
package struct EventForwarder: Sendable {
    private let streams: EventStreams
    private let lease: Lease
    private let keyspace: Keyspace
    private let outboxes: WrittenOutboxes
    private let isCluster: Bool

    /// How soon a gateway moves the events that it has written to an outbox.
    package static let interval: Duration = .milliseconds(100)
    /// How often the changes of riders are copied.
    package static let riderInterval: Duration = .seconds(1)
    /// How often all outboxes are searched for events that their writer did not move.
    package static let sweepInterval: Duration = .seconds(30)
    /// How often old events are removed from the stream and from the lists of undelivered events.
    package static let trimInterval: Duration = .seconds(60)
    /// Number of outboxes that are checked at the same time.
    private static let sweepBatch = 512
    /// Number of zones whose changes are copied at the same time, and maximum number of pages of changes of each.
    private static let (zonesAtOnce, maxPages) = (32, 20)
    /// Maximum number of zones.
    private static let maxZones = 10_000
    /// A field of the cursors that is not the name of a zone. It marks that copying has started.
    private static let begun = "."

    /// - Parameter holder: unique among gateways, 1 to 64 of [A-Za-z0-9_-].
    package init(_ streams: EventStreams, holder: String) {
        self.streams = streams
        self.keyspace = streams.settings.keyspace
        self.outboxes = streams.settings.outboxes
        self.lease = Lease(ledger: streams.ledger, key: streams.settings.keyspace.eventLease, holder: holder)
        self.isCluster = if case .cluster = streams.ledger.endpoint { true } else { false }
    }

    /// Moves events until the task is cancelled. Waits during outages of the ledger.
    package func run() async {
        await withDiscardingTaskGroup { group in
            if self.isCluster { group.addTask { await self.moveContinuously() } }
            group.addTask { await self.copyAndSearch() }
        }
    }

    /// Runs in its own task, so that nothing else delays the events that this process has written.
    private func moveContinuously() async {
        while !Task.isCancelled {
            await self.moveWritten()
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// Does the work that only the holder of the lease does.
    private func copyAndSearch() async {
        let clock = ContinuousClock()
        var (renewal, sweep, trim) = (clock.now, clock.now, clock.now)
        var isHolder = false
        while !Task.isCancelled {
            if clock.now >= renewal {
                isHolder = (try? await self.lease.hold()) ?? false
                renewal = clock.now + Lease.renewal
            }
            if isHolder { try? await self.copyRiderChanges() }
            if isHolder, self.isCluster, clock.now >= sweep {
                try? await self.sweep()
                sweep = clock.now + Self.sweepInterval
            }
            if isHolder, clock.now >= trim {
                try? await self.removeOld()
                trim = clock.now + Self.trimInterval
            }
            try? await Task.sleep(for: Self.riderInterval)
        }
        if isHolder { try? await self.lease.release() }
    }

    /// Removes events that are no longer needed.
    package func removeOld() async throws {
        try await self.streams.removeOld()
        try await WebhookStore(ledger: self.streams.ledger, settings: self.streams.settings).removeOldDead()
    }

    // MARK: outboxes

    /// Moves the events that this process has written.
    package func moveWritten() async {
        let slots = Array(self.outboxes.takeAll())
        await withTaskGroup(of: Void.self) { group in
            for slot in slots {
                group.addTask {
                    do { try await self.move(slot) } catch { self.outboxes.add(slot) }
                }
            }
        }
    }

    /// Searches all outboxes for events that their writers did not move. `moveWritten` moves them next.
    package func sweep() async throws {
        for start in stride(from: 0, to: HashSlot.count, by: Self.sweepBatch) {
            let slots = start..<min(start + Self.sweepBatch, HashSlot.count)
            let answers = slots.map { slot in
                self.streams.ledger.send(["XLEN", .text(self.keyspace.outbox(ofSlot: slot))])
                    .skippingMalformedData(as: .integer(0))
            }
            for (slot, answer) in zip(slots, answers) {
                let length = try await answer.get().integer ?? 0
                if length > 0 { self.outboxes.add(slot) }
            }
        }
    }

    private func move(_ slot: Int) async throws {
        let outbox = self.keyspace.outbox(ofSlot: slot)
        while true {
            let entries = try await self.streams.entries(of: outbox, after: "0-0")
            for entry in entries {
                if let event = LedgerEvent(fields: entry.fields) {
                    try await self.streams.forward(event)
                } else {
                    self.streams.ledger.refuse(outbox, by: "XRANGE")
                }
                _ = try await self.streams.ledger.send(["XDEL", .text(outbox), .text(entry.id)]).get()
            }
            guard entries.count == EventStreams.page else { return }
        }
    }

    // MARK: riders

    /// Copies the changes of all zones' riders since the last time. The first time, it starts with the next change. It also
    /// does so in a zone whose cursor is malformed, because it is unknown which changes were copied.
    package func copyRiderChanges() async throws {
        let ledger = self.streams.ledger
        let zones: [ZoneID] = ledger.names(
            try await ledger.send(["SMEMBERS", .text(self.keyspace.zones)]).get(), of: self.keyspace.zones,
            by: "SMEMBERS")
        let key = self.keyspace.eventCursors
        let pairs = try await ledger.send(["HGETALL", .text(key)]).get().array?.compactMap(\.text) ?? []
        var cursors: [String: String] = [:]
        for index in stride(from: 0, to: pairs.count - 1, by: 2) { cursors[pairs[index]] = pairs[index + 1] }
        let hasBegun = cursors[Self.begun] != nil
        for zone in zones {
            let isMalformed = cursors[zone.text].map { !$0.isStreamID } ?? false
            if isMalformed { ledger.refuse(key, by: "HGETALL") }
            if isMalformed || !hasBegun { cursors[zone.text] = try await self.moveCursorToNewest(of: zone) }
        }
        if !hasBegun { _ = try await ledger.send(["HSET", .text(key), .text(Self.begun), "1"]).get() }
        let known = cursors
        let listed = Array(zones.prefix(Self.maxZones))
        for start in stride(from: 0, to: listed.count, by: Self.zonesAtOnce) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for zone in listed[start..<min(start + Self.zonesAtOnce, listed.count)] {
                    group.addTask {
                        try await skippingMalformedData {
                            try await self.copyChanges(of: zone, after: known[zone.text] ?? "0-0")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Copies at most `maxPages` pages, in order.
    private func copyChanges(of zone: ZoneID, after cursor: String) async throws {
        var cursor = cursor
        for _ in 0..<Self.maxPages {
            let log = self.keyspace.changeLog(of: zone)
            let (entries, next) = try await self.streams.entries(of: log, resumingAt: cursor)
            guard !entries.isEmpty else {
                if next != cursor { try await self.storeCursor(next, of: zone) }
                return
            }
            var copied = cursor
            do {
                for entry in entries {
                    if let event = LedgerEvent(riderChange: entry, in: zone) {
                        try await self.streams.append(event).get()
                    }
                    copied = entry.id
                }
            } catch {
                // Without this, the events before the failure would be appended again every second for as long as the
                // shard fails.
                if copied != cursor { try await self.storeCursor(copied, of: zone) }
                throw error
            }
            try await self.storeCursor(copied, of: zone)
            guard entries.count == EventStreams.page else { return }
            cursor = copied
        }
    }

    /// Copying continues with the next change of a zone.
    private func moveCursorToNewest(of zone: ZoneID) async throws -> String {
        let log = self.keyspace.changeLog(of: zone)
        let answer = self.streams.ledger.send(["XREVRANGE", .text(log), "+", "-", "COUNT", "1"])
            .skippingMalformedData(as: .array([]))
        let newest = StreamEntry.all(try await answer.get()).first?.id ?? "0-0"
        try await self.storeCursor(newest, of: zone)
        return newest
    }

    private func storeCursor(_ id: String, of zone: ZoneID) async throws {
        _ = try await self.streams.ledger.send([
            "HSET", .text(self.keyspace.eventCursors), .text(zone.text), .text(id),
        ]).get()
    }
}

extension LedgerEvent {
    /// The event about an entry of a zone's change log; `nil` if it is malformed, or only the rider's device changed.
    init?(riderChange entry: StreamEntry, in zone: ZoneID) {
        let (fields, parts) = (entry.fields, entry.id.split(separator: "-"))
        guard parts.count == 2, let time = parts[0].timestamp, let micros = Int64(parts[1]), (0...999).contains(micros),
            let change = fields["change"], change.isNonce, change != "device", let rider = fields["rider"],
            rider.isNonce, let tasks = fields["tasks"]?.amount, let capacity = fields["capacity"]?.amount,
            let status = fields["status"], status.isNonce, let job = fields["job"], job.isEmpty || job.isNonce
        else { return nil }
        let version = time * 1000 + micros
        func isSet(_ name: String) -> Bool { fields[name] == "1" }
        self.init(
            id: "\(zone.text).\(version)",
            kind: change == "unreachable_with_task" ? .riderUnreachableWithTask : .riderAvailabilityChanged, time: time,
            subject: rider, version: version, zone: zone,
            data: "{\"change\":\"\(change)\",\"status\":\"\(status)\",\"available\":\(isSet("available"))"
                + ",\"reachable\":\(isSet("reachable")),\"approved\":\(isSet("approved")),\"tasks\":\(tasks)"
                + ",\"capacity\":\(capacity)" + (job.isEmpty ? "" : ",\"job\":\"\(job)\"") + "}")
    }
}

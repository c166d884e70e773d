import EnrouteWire
import Redis
import TestSupport
import Testing

@testable import LiveState

/// Readers of a stream continue at a cursor whose entry may be missing: a failover may have lost it.
@Suite struct EventCursorTests {
    private func add(_ id: String, to shard: Int, _ stage: Stage) async throws {
        try await stage.client.run("XADD", stage.keyspace.events(shard: shard), id, "f", "v")
    }

    @Test func `entries of the last two minutes are read again if the entry at the cursor is missing`() async throws {
        try await Stage.set { stage in
            let streams = EventStreams(ledger: stage.client, settings: stage.settings)
            let now = try await stage.now()
            let (old, recent, lost) = (now - 3_600_000, "\(now - 30_000)-0", "\(now)-0")
            func read(_ cursor: String) async throws -> EventStreams.Page {
                try await streams.read(shard: 3, resumingAt: cursor)
            }
            #expect(try await read("0-0") == .init(entries: [], cursor: "0-0"))
            #expect(try await read(lost) == .init(entries: [], cursor: "0-0"))
            for number in 1...2 { try await self.add("\(old)-\(number)", to: 3, stage) }
            // There is nothing new: the next entry is found because the cursor is the newest one again.
            #expect(try await read(lost) == .init(entries: [], cursor: "\(old)-2"))
            try await self.add(recent, to: 3, stage)
            #expect(try await read(lost).entries.map(\.id) == [recent])
            #expect(try await read(lost).cursor == recent)
            // The entry at the cursor is there, or was trimmed: nothing is repeated.
            #expect(try await read(recent) == .init(entries: [], cursor: recent))
            #expect(try await read("\(old)-1").entries.map(\.id) == ["\(old)-2", recent])
            #expect(try await read("\(old)-0").entries.map(\.id) == ["\(old)-1", "\(old)-2", recent])
            #expect(try await read("0-0").entries.map(\.id) == ["\(old)-1", "\(old)-2", recent])
        }
    }

    @Test func `a page has at most 100 entries, wherever reading starts`() async throws {
        try await Stage.set { stage in
            let streams = EventStreams(ledger: stage.client, settings: stage.settings)
            let now = try await stage.now()
            for number in 1...102 { try await self.add("\(now)-\(number)", to: 3, stage) }
            for (cursor, last) in [("0-0", 100), ("\(now)-1", 101), ("\(now + 60_000)-0", 100)] {
                let page = try await streams.read(shard: 3, resumingAt: cursor)
                #expect(page.entries.count == EventStreams.page && page.cursor == "\(now)-\(last)", "\(cursor)")
            }
        }
    }

    @Test func `changes of riders are copied after a failover that lost the last one, even if the clock is behind`()
        async throws
    {
        try await ZoneStage.set { stage in
            let streams = EventStreams(ledger: stage.client, settings: stage.base.settings)
            let forwarder = EventForwarder(streams, holder: "gateway-1")
            try await forwarder.copyRiderChanges()
            try await stage.online()
            let lost = "\(try await stage.base.now() + 30_000)-0"
            try await stage.client.run("HSET", stage.keyspace.eventCursors, ZoneStage.zone.text, lost)
            _ = try await stage.goOffline()
            let told = try await stage.nextChanges(3)
            for _ in 0..<2 { try await forwarder.copyRiderChanges() }
            let shard = stage.keyspace.events(of: ZoneStage.rider.text)
            let copied = try await stage.client.run("XLEN", shard).integer
            #expect(copied == 3)
            let newest = try await stage.client.run("XREVRANGE", shard, "+", "-", "COUNT", "1")
            let fields = newest.array?.first?.array?.last?.array?.compactMap(\.text) ?? []
            #expect(fields.contains("berlin.\(try #require(told.last).version)"))
        }
    }
}

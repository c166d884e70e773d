import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct AuditStreamsTests {
    @Test func `entries are read back unchanged, page by page, each once`() async throws {
        try await Stage.set { stage in
            let streams = AuditStreams(ledger: stage.client, settings: stage.settings)
            let count = AuditStreams.page + 7
            let written = (0..<count).map { number in
                var entry = AuditEntry.erased(Stage.job, keys: 2, because: .arrived)
                entry.stamp(gateway: "g1", at: 1_795_248_617_611, number: "n-\(number)")
                return entry
            }
            try await EventLoopFuture.andAllSucceed(
                written.map { streams.append($0) }, on: stage.client.eventLoop
            ).get()
            let page = try await streams.read(.audit, from: .since(0)).get()
            let first = page.entries
            #expect(first.count == AuditStreams.page)
            let last = try #require(first.last)
            #expect(page.next == .after(id: last.id))
            let end = try await streams.read(.audit, from: .after(id: last.id)).get()
            #expect(end.next == nil)
            let rest = end.entries
            #expect((first + rest).map(\.fields) == written.map(\.fields))
            #expect((first + rest).map { $0.value("entry") } == (0..<count).map { "n-\($0)" })
            let newest = try #require(rest.last)
            #expect(try await streams.read(.audit, from: .after(id: newest.id)).get().entries.isEmpty)
            let future = try await stage.now() + 3_600_000
            #expect(try await streams.read(.audit, from: .since(future)).get().entries.isEmpty)
            #expect(try await streams.read(.access, from: .since(0)).get().entries.isEmpty)
        }
    }

    @Test func `malformed entries are counted, and a page that contains some is not the last one`() async throws {
        try await Stage.set { stage in
            let streams = AuditStreams(ledger: stage.client, settings: stage.settings)
            let key = stage.keyspace.stream(.audit)
            // The newest entry of the first page is malformed too.
            let written = (1...AuditStreams.page + 1).map { number in
                [1, 500, AuditStreams.page].contains(number)
                    ? stage.client.send(["XADD", .text(key), .text("\(number)-0"), "hello", "world"])
                    : stage.client.send(["XADD", .text(key), .text("\(number)-0"), "type", "erased"])
            }
            try await EventLoopFuture.andAllSucceed(written.map { $0.map { _ in } }, on: stage.client.eventLoop).get()
            let first = try await streams.read(.audit, from: .since(0)).get()
            #expect(first.entries.count == AuditStreams.page - 3 && first.malformed == 3)
            let next = try #require(first.next)
            #expect(next == .after(id: "\(AuditStreams.page)-0"))
            let second = try await streams.read(.audit, from: next).get()
            #expect(second.entries.map(\.id) == ["\(AuditStreams.page + 1)-0"])
            #expect(second.malformed == 0 && second.next == nil)
        }
    }

    @Test func `each stream has a maximum length, and the oldest entries are dropped`() async throws {
        try await Stage.set { stage in
            var settings = stage.settings
            (settings.accessEntries, settings.auditEntries) = (300, 500)
            let streams = AuditStreams(ledger: stage.client, settings: settings)
            let access = FollowedAccess(
                job: Stage.job, person: Stage.customer, role: "customer", credential: .token, link: nil, session: "s1")
            for entry in [access.left, .erased(Stage.job, keys: 1, because: .deactivated)] {
                let all = (0..<2_000).map { _ in streams.append(entry) }
                try await EventLoopFuture.andAllSucceed(all, on: stage.client.eventLoop).get()
            }
            for (key, most) in [("access", 300), ("audit", 500)] {
                let length = try #require(try await stage.client.run("XLEN", key).integer)
                // XADD drops whole nodes of the stream, of 100 entries each.
                #expect((Int64(most)...Int64(most) + 100).contains(length), "\(key): \(length)")
            }
        }
    }

    @Test(arguments: [AuditEntry.Stream.access, .audit])
    func `a key of another type is reported when its stream is used`(stream: AuditEntry.Stream) async throws {
        try await Stage.set { stage in
            let streams = AuditStreams(ledger: stage.client, settings: stage.settings)
            let key = stage.keyspace.stream(stream)
            try await stage.client.run("SET", key, "x")
            let named = { @Sendable (error: any Error) in (error as? AuditStreams.NotAStream)?.key == key }
            await #expect {
                _ = try await streams.read(stream, from: .since(0)).get()
            } throws: {
                named($0)
            }
            await #expect {
                _ = try await streams.newest(stream, limit: 10).get()
            } throws: {
                named($0)
            }
            let access = FollowedAccess(
                job: Stage.job, person: Stage.customer, role: "customer", credential: .token, link: nil, session: "s1")
            let entry = stream == .access ? access.left : .erased(Stage.job, keys: 1, because: .deactivated)
            await #expect {
                try await streams.append(entry).get()
            } throws: {
                named($0)
            }
            try await stage.client.run("RENAME", key, "old")
            #expect(try await streams.newest(stream, limit: 10).get().isEmpty)
        }
    }
}

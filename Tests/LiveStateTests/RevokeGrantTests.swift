import Access
import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct RevokeGrantTests {
    private static let link = "0123456789abcdef0123456789abcdef"
    private static let good = ["user", "anna", "service-1", "lost phone", "172800000"]
    private static let keys = [Keyspace().control, Keyspace().control]

    private func revoke(_ stage: Stage, _ arguments: [String] = Self.good) async throws -> RESPValue {
        try await stage.run(Scripts.revokeGrant, keys: Self.keys, arguments)
    }

    private func log(_ stage: Stage) -> RevocationLog { RevocationLog(ledger: stage.client, settings: stage.settings) }

    @Test func `a revocation is in the stream, and the channel announces its entry`() async throws {
        try await Stage.set { stage in
            try await stage.subscriber.subscribe(stage.keyspace.control)
            let before = try await stage.now()
            let answer = try await self.revoke(stage).array
            #expect(answer?.first == .integer(1))
            let entries = try await self.log(stage).read(from: "-").get()
            #expect(entries.map(\.id) == [answer?.last?.text])
            let message = try await stage.subscriber.messages.next().text
            #expect(message == entries[0].id)
            let revocation = try #require(entries[0].revocation)
            #expect(revocation.subject == .user(PersonID("anna")!))
            #expect((before...before + 60_000).contains(revocation.at))
            let fields = entries[0].fields
            #expect(fields.contains("service-1") && fields.contains("lost phone"))
            #expect((172_700_000...172_800_000).contains(try await stage.client.timeLeft(of: stage.keyspace.control)))
        }
    }

    @Test func `all kinds can be revoked and are parsed again`() async throws {
        try await Stage.set { stage in
            let subjects: [RevocationSubject] = [
                .user(PersonID("anna")!), .token("a-jti:%/~"), .job(Stage.job), .link(Self.link),
            ]
            for subject in subjects {
                let answer = try await self.log(stage).revoke(subject, by: Stage.rider, because: "").get()
                #expect(answer.value == .revoked)
            }
            let entries = try await self.log(stage).read(from: "-").get()
            #expect(entries.map { $0.revocation?.subject } == subjects)
        }
    }

    @Test func `entries older than the retention are removed with the next one`() async throws {
        try await Stage.set { stage in
            _ = try await stage.client.run("XADD", stage.keyspace.control, "1-1", "kind", "user")
            let now = try await stage.now()
            _ = try await stage.client.run("XADD", stage.keyspace.control, "\(now - 60_000)-1", "kind", "user")
            _ = try await self.revoke(stage, Self.good.dropLast() + ["3600000"])
            let entries = try await self.log(stage).read(from: "-").get()
            #expect(entries.count == 2)
            #expect(entries.first?.id == "\(now - 60_000)-1")
        }
    }

    @Test func `a full stream refuses further entries instead of dropping one early`() async throws {
        try await Stage.set { stage in
            let now = try await stage.now()
            let fill = RedisScript(
                name: "fill",
                source: Array(
                    "#!lua\nfor i = 1, 100000 do redis.call('XADD', KEYS[1], ARGV[1] .. '-' .. i, 'f', '') end".utf8))
            _ = try await stage.run(fill, keys: [stage.keyspace.control], ["\(now)"])
            let answer = try await self.revoke(stage)
            #expect(answer == .answer(-1, 100_000))
            let verdict = try await self.log(stage).revoke(.job(Stage.job), by: Stage.rider, because: "").get()
            #expect(verdict.value == .full)
            let length = try await stage.client.run("XLEN", stage.keyspace.control)
            #expect(length == .integer(100_000))
        }
    }

    @Test func `a bad argument is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            let call = ValidCall(script: Scripts.revokeGrant, keys: Self.keys, arguments: Self.good)
            try await call.refuses(
                ["", "User", "rider", "user "].map { (0, $0, "kind must be") }
                    + (badNames + [""]).map { (1, $0, "id must be") }
                    + (badNames + [""]).map { (2, $0, "actor must be") }
                    + ["a\n", "\0", String(repeating: "a", count: 201)].map { (3, $0, "reason must be") }
                    + badRetentions.map { (4, $0, "retention_ms must be") },
                on: stage)
            for (kind, ids) in [
                ("token", ["", "a b", "é", String(repeating: "a", count: 257)]), ("job", ["", "a b"]),
                ("link", ["", Self.link.uppercased(), Self.link + "0", String(Self.link.dropLast())]),
            ] {
                let call = ValidCall(
                    script: Scripts.revokeGrant, keys: Self.keys,
                    arguments: [kind, kind == "link" ? Self.link : "a"] + Self.good.dropFirst(2))
                try await call.refuses(ids.map { (1, $0, "id must be") }, on: stage)
            }
            let answer = try await self.revoke(stage)
            #expect(answer.array?.first == .integer(1))
        }
    }
}

/// The position of a reader, whatever happens to the stream.
@Suite struct RevocationCursorTests {
    private func entries(_ ids: String...) -> [RevocationLog.Entry] { ids.map { .init(id: $0, fields: []) } }

    private func expect(
        _ taken: (fresh: [RevocationLog.Entry], isMore: Bool), _ wanted: ([RevocationLog.Entry], Bool),
        at sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(taken.fresh == wanted.0 && taken.isMore == wanted.1, sourceLocation: sourceLocation)
    }

    private func expect(_ isMore: Bool, _ wanted: Bool, at sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(isMore == wanted, sourceLocation: sourceLocation)
    }

    @Test func `only the last entry is read twice`() {
        var cursor = RevocationCursor(page: 10)
        #expect(cursor.start == "-")
        self.expect(cursor.advance(self.entries("1-1", "2-1")), (self.entries("1-1", "2-1"), false))
        #expect(cursor.start == "2-1")
        self.expect(cursor.advance(self.entries("2-1")), ([], false))
        self.expect(cursor.advance(self.entries("2-1", "3-1")), (self.entries("3-1"), false))
        #expect(cursor.start == "3-1")
    }

    @Test func `a full page is followed by the next`() {
        var cursor = RevocationCursor(page: 2)
        self.expect(cursor.advance(self.entries("1-1", "2-1")).isMore, true)
        self.expect(cursor.advance(self.entries("2-1", "3-1")).isMore, true)
        self.expect(cursor.advance(self.entries("3-1")).isMore, false)
    }

    @Test func `when the last entry is gone, everything is read again, including smaller ids`() {
        var cursor = RevocationCursor(page: 10)
        _ = cursor.advance(self.entries("5-1"))
        self.expect(cursor.advance([]), ([], true))
        #expect(cursor.start == "-")
        self.expect(cursor.advance(self.entries("4-1")), (self.entries("4-1"), false))
        self.expect(cursor.advance(self.entries("6-1")), (self.entries("6-1"), true))
        #expect(cursor.start == "-")
        // The same id with other fields is another entry, written by another master.
        _ = cursor.advance(self.entries("4-1"))
        self.expect(cursor.advance([.init(id: "4-1", fields: ["kind", "user"])]).isMore, true)
    }

    @Test func `a malformed entry is not a revocation`() {
        func revocation(_ fields: String...) -> Revocation? {
            RevocationLog.Entry(id: "1-1", fields: fields).revocation
        }
        #expect(revocation("kind", "user", "id", "anna", "at", "5") == Revocation(.user(PersonID("anna")!), at: 5))
        #expect(revocation("at", "5", "x", "y", "id", "anna", "kind", "user") != nil)
        #expect(revocation() == nil && revocation("kind") == nil)
        #expect(revocation("kind", "fleet", "id", "anna", "at", "5") == nil)
        #expect(revocation("kind", "user", "id", "a b", "at", "5") == nil)
        #expect(revocation("kind", "user", "id", "anna", "at", "x") == nil)
    }
}

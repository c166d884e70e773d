import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// `enroute audit`: the entries of the audit streams, as JSON Lines.
@Suite struct AuditCommandTests {
    private static func environment(_ url: String) -> [String: String] {
        [
            "ENROUTE_REDIS_LIVE_URL": "unix:/nowhere.sock", "ENROUTE_REDIS_LEDGER_URL": url, "ENROUTE_TLS": "off",
            "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
        ]
    }

    @Test func `entries are JSON lines, filtered by stream, job and time, without a connection to the live Redis`()
        async throws
    {
        try await withRedis { client, server in
            let streams = AuditStreams(ledger: client, settings: LiveStateSettings())
            let environment = Self.environment(server.url)
            func lines(_ words: String...) async throws -> [String] {
                let outcome = try await CommandTests.run(["audit"] + words, environment: environment)
                #expect(outcome.code == 0, "\(outcome)")
                return outcome.output.split(separator: "\n").map(String.init)
            }
            #expect(try await lines().isEmpty)
            let access = FollowedAccess(
                job: JobID("job-1")!, person: PersonID("anna")!, role: "customer", credential: .token, link: nil,
                session: "s1"
            )
            var entries = [access.followed, access.left]
            var erased = AuditEntry.erased(JobID("job-2")!, keys: 2, because: .arrived)
            for index in entries.indices { entries[index].stamp(gateway: "g", at: 7, number: "a-\(index)") }
            erased.stamp(gateway: "g", at: 7, number: "a-2")
            for entry in entries + [erased] { try await streams.append(entry).get() }

            let all = try await lines()
            try #require(all.count == 2)
            let id = try #require(try await streams.read(.access, from: .since(0)).get().entries.last).id
            #expect(
                all[1] == #"{"at":7,"entry":"a-1","gateway":"g","id":"\#(id)","job":"job-1","person":"anna","#
                    + #""role":"customer","session":"s1","type":"left","via":"token"}"#)
            #expect(try await lines("--job", "job-1") == all)
            #expect(try await lines("--job", "job-2").isEmpty)
            let audit = try await lines("--stream", "audit")
            let parts = #""job":"job-2","keys":2,"reason":"arrived","type":"erased""#
            #expect(audit.count == 1 && audit[0].contains(parts))
            let time = try #require(Int64(id.prefix { $0 != "-" }))
            #expect(try await lines("--since", "\(time + 1)").isEmpty)
            let before = Date(timeIntervalSince1970: Double(time / 1000 - 1)).formatted(.iso8601)
            #expect(try await lines("--since", before) == all)
        }
    }

    @Test func `entries after a malformed one are printed, and standard error has the number of malformed ones`()
        async throws
    {
        try await withRedis { client, server in
            let key = LiveStateSettings().keyspace.stream(.audit)
            let count = AuditStreams.page + 5
            let written = (1...count).map { number in
                let fields = number == 3 ? ["hello", "world"] : ["type", "erased"]
                return client.send(
                    ["XADD", .text(key), .text("\(number)-0"), .text(fields[0]), .text(fields[1])])
            }
            try await EventLoopFuture.andAllSucceed(written.map { $0.map { _ in } }, on: client.eventLoop).get()
            let outcome = try await CommandTests.run(
                ["audit", "--stream", "audit"], environment: Self.environment(server.url))
            #expect(outcome.code == 0 && outcome.output.split(separator: "\n").count == count - 1)
            #expect(outcome.error.contains("enroute: 1 malformed entry was skipped"), "\(outcome.error)")
        }
    }

    @Test func `more entries than a page are printed completely, in order`() async throws {
        try await withRedis { client, server in
            let streams = AuditStreams(ledger: client, settings: LiveStateSettings())
            let count = AuditStreams.page + 5
            let written = (0..<count).map { number in
                var entry = AuditEntry.erased(JobID("job-1")!, keys: 1, because: .deactivated)
                entry.stamp(gateway: "g", at: 7, number: "\(number)")
                return streams.append(entry)
            }
            try await EventLoopFuture.andAllSucceed(written, on: client.eventLoop).get()
            let outcome = try await CommandTests.run(
                ["audit", "--stream", "audit"], environment: Self.environment(server.url))
            let numbers = outcome.output.split(separator: "\n").compactMap {
                $0.firstMatch(of: /"entry":"(\d+)"/).flatMap { Int($0.1) }
            }
            #expect(numbers == Array(0..<count))
        }
    }

    @Test(
        arguments: [
            (["--since", "yesterday"], 64, "--since must be a time"), (["--since", "-5"], 64, "since"),
            (["--job", "a b"], 64, "--job must be"), (["--stream", "all"], 64, "stream"),
            (["--stream", "audit"], 69, "cannot be reached"),
        ] as [([String], Int32, String)])
    func `invalid options and an unavailable Redis are reported`(words: [String], code: Int32, reason: String)
        async throws
    {
        let outcome = try await CommandTests.run(
            ["audit"] + words, environment: Self.environment("unix:/nowhere.sock"))
        #expect(outcome.code == code, "\(outcome)")
        #expect(outcome.error.contains(reason), "\(outcome.error)")
    }
}

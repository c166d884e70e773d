import Embedded
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// `enroute revoke` as an operator runs it: directly against Redis, without a gateway.
@Suite struct RevokeTests {
    @Test func `each kind of subject is revoked under the configured prefix`() async throws {
        try await withRedis { client, server in
            let settings = ["ENROUTE_REDIS_LIVE_URL": server.url, "ENROUTE_REDIS_PREFIX": "staging:"]
            var state = LiveStateSettings()
            state.keyspace = Keyspace(prefix: "staging:")
            let link = try await Self.link(client, state)
            for (kind, id) in [
                ("user", "anna"), ("token", "a-jti:1"), ("job", "job-1"), ("link", link.id),
            ] {
                let outcome = try await CommandTests.run(
                    ["revoke", kind, id, "--reason", "lost phone", "--actor", "ops-1"], environment: settings)
                #expect(outcome.code == 0, "\(outcome)")
                #expect(outcome.output == "revoked \(kind) \(id)\n")
            }
            let entries = try await RevocationLog(ledger: client, settings: state).read(from: "-").get()
            #expect(entries.map { $0.revocation?.subject.kind.rawValue } == ["user", "token", "job", "link"])
            #expect(entries.allSatisfy { $0.fields.contains("lost phone") && $0.fields.contains("ops-1") })
        }
    }

    @Test func `a link is revoked by its id, its secret or its URL, and the secret is never printed or stored`()
        async throws
    {
        try await withRedis { client, server in
            let settings = ["ENROUTE_REDIS_LIVE_URL": server.url]
            let forms: [@Sendable (TrackingLinks.Issued) -> String] = [
                { $0.id }, { $0.secret }, { "https://shop.example/track/job-1#\($0.secret)" },
                { "/track/job-1?lang=de#\($0.secret)" },
            ]
            for form in forms {
                let link = try await Self.link(client, LiveStateSettings())
                // It is safe to repeat.
                for _ in 0..<2 {
                    let outcome = try await CommandTests.run(["revoke", "link", form(link)], environment: settings)
                    #expect(outcome.code == 0 && outcome.output == "revoked link \(link.id)\n", "\(outcome)")
                }
                let entries = try await RevocationLog(ledger: client, settings: LiveStateSettings()).read(from: "-")
                    .get()
                #expect(entries.suffix(2).allSatisfy { $0.revocation?.subject.id == link.id })
                #expect(entries.allSatisfy { !$0.fields.contains(link.secret) })
            }
        }
    }

    @Test func `a full revocation list is reported with the time after which entries expire`() async throws {
        try await withRedis { client, server in
            let fill = "for i = 1, 100000 do redis.call('XADD', KEYS[1], '*', 'f', '') end"
            try await client.run("EVAL", fill, "1", "control")
            let outcome = try await CommandTests.run(
                ["revoke", "user", "anna"], environment: ["ENROUTE_REDIS_LIVE_URL": server.url])
            #expect(outcome.code == 69, "\(outcome)")
            let hours = LiveStateSettings().revocationRetention / .seconds(3600)
            #expect(outcome.error.contains("expire after \(Int(hours)) hours"), "\(outcome.error)")
        }
    }

    @Test func `a link that does not exist is not revoked, and the exit code says so`() async throws {
        try await withRedis { client, server in
            let secret = String(repeating: "7", count: 32)
            for form in [secret, "https://shop.example/track/job-1#\(secret)"] {
                let outcome = try await CommandTests.run(
                    ["revoke", "link", form], environment: ["ENROUTE_REDIS_LIVE_URL": server.url])
                #expect(outcome.code == 65 && outcome.output.isEmpty, "\(outcome)")
                #expect(outcome.error.contains("No link has this id or secret"), "\(outcome)")
                #expect(!outcome.all.contains(secret))
            }
            #expect(
                try await RevocationLog(ledger: client, settings: LiveStateSettings()).read(from: "-").get().isEmpty)
        }
    }

    @Test(arguments: [
        "https://shop.example/track/job-1", "https://shop.example/track/job-1#",
        "https://shop.example/track/job-1#0123",
        String(repeating: "A", count: 32), String(repeating: "0", count: 33),
    ])
    func `text that does not identify a link is a wrong argument`(text: String) async throws {
        let outcome = try await CommandTests.run(["revoke", "link", text])
        #expect(outcome.code == 64 && outcome.error.contains("the URL of its page"), "\(outcome)")
    }

    private static func link(_ client: RedisClient, _ state: LiveStateSettings) async throws -> TrackingLinks.Issued {
        let job = NewJob(job: JobID("job-1")!, kind: .delivery, customer: PersonID("anna")!, actor: PersonID("orders")!)
        _ = try await JobLedger(ledger: client, settings: state).create(job, epoch: "epoch-1").get()
        return try await TrackingLinks(ledger: client, settings: state).issueDurably(
            for: job.job, of: job.customer, by: job.actor
        ).get().value
    }

    @Test func `an unavailable Redis and one that refuses have different exit codes`() async throws {
        let absent = try await CommandTests.run(
            ["revoke", "user", "anna"], environment: ["ENROUTE_REDIS_LIVE_URL": "unix:/nowhere.sock"])
        #expect(absent.code == 69, "\(absent)")
        #expect(absent.error.contains("cannot be reached"))
        try await withRedis { client, server in
            _ = try await client.run("SET", "control", "not a stream")
            let refused = try await CommandTests.run(
                ["revoke", "user", "anna"], environment: ["ENROUTE_REDIS_LIVE_URL": server.url])
            #expect(refused.code == 78, "\(refused)")
        }
    }
}

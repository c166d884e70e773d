import Embedded
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
            for (kind, id) in [
                ("user", "anna"), ("token", "a-jti:1"), ("job", "job-1"), ("link", String(repeating: "0", count: 32)),
            ] {
                let outcome = try await CommandTests.run(
                    ["revoke", kind, id, "--reason", "lost phone", "--actor", "ops-1"], environment: settings)
                #expect(outcome.code == 0, "\(outcome)")
                #expect(outcome.output == "revoked \(kind) \(id)\n")
            }
            var state = LiveStateSettings()
            state.keyspace = Keyspace(prefix: "staging:")
            let entries = try await RevocationLog(ledger: client, settings: state).read(from: "-").get()
            #expect(entries.map { $0.revocation?.subject.kind.rawValue } == ["user", "token", "job", "link"])
            #expect(entries.allSatisfy { $0.fields.contains("lost phone") && $0.fields.contains("ops-1") })
        }
    }

    @Test func `an unavailable Redis and one that refuses have exit codes of their own`() async throws {
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

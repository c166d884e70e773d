import EnrouteWire
import LiveState
import NIOCore
import TestSupport
import Testing

@Suite struct TrackingLinksTests {
    @Test func `a secret stands for its job, for as long as it was issued`() async throws {
        try await Stage.set { stage in
            let links = TrackingLinks(live: stage.client, settings: stage.settings)
            let secrets = [
                try await links.issue(for: Stage.job, lifetime: .seconds(60)).get(),
                try await links.issue(for: JobID("job-8")!, lifetime: .seconds(60)).get(),
            ]
            #expect(try await links.job(of: secrets[0]).get() == Stage.job)
            #expect(try await links.job(of: secrets[1]).get() == JobID("job-8"))
            let left = try await stage.client.timeLeft(of: stage.keyspace.link(secrets[0]))
            #expect((50_000...60_000).contains(left))
            try await stage.client.run("DEL", stage.keyspace.link(secrets[0]))
            #expect(try await links.job(of: secrets[0]).get() == nil)
        }
    }

    @Test func `secrets have 32 characters, and no two are the same`() async throws {
        try await Stage.set { stage in
            let links = TrackingLinks(live: stage.client, settings: stage.settings)
            var secrets: Set<String> = []
            for _ in 0..<100 { secrets.insert(try await links.issue(for: Stage.job, lifetime: .seconds(60)).get()) }
            #expect(secrets.count == 100)
            for secret in secrets {
                #expect(secret.utf8.count == TrackingLinks.length)
                #expect(secret.allSatisfy { $0.isHexDigit && !$0.isUppercase })
            }
        }
    }

    @Test func `what can not be a secret is none, and Redis is not asked`() async throws {
        try await Stage.set { stage in
            let links = TrackingLinks(live: stage.client, settings: stage.settings)
            let foreign = "x" + String(repeating: "0", count: 31)
            try await stage.client.run("SET", stage.keyspace.link(foreign), "job-7")
            for secret in ["", "0", foreign, String(repeating: "A", count: 32), String(repeating: "0", count: 33)] {
                #expect(try await links.job(of: secret).get() == nil, "\(secret)")
            }
        }
    }
}

import EnrouteWire
import LiveState
import NIOCore
import TestSupport
import Testing

@Suite struct TrackingLinksTests {
    private static func links(_ stage: Stage) -> TrackingLinks {
        TrackingLinks(ledger: stage.client, settings: stage.settings)
    }

    @Test func `a secret opens its link until it expires, and Redis does not store it`() async throws {
        try await Stage.set { stage in
            let links = Self.links(stage)
            let link = try await links.issueDurably(
                for: Stage.job, of: Stage.customer, lifetime: .seconds(60), by: Stage.customer
            ).get()
                .value
            #expect(TrackingLinks.id(of: link.secret) == link.id)
            let place = try await links.join(link.id, as: "s1").get()
            #expect(place == .leased(Stage.job, of: Stage.customer, expiresAt: link.expiresAt))
            let dump = try await stage.client.dump()
            let list = stage.keyspace.links(of: Stage.job)
            #expect(Set(dump.keys) == [stage.keyspace.link(link.id), stage.keyspace.viewers(ofLink: link.id), list])
            for (key, content) in dump {
                #expect(key == list || content.expiry == link.expiresAt)
                let bytes = String(decoding: content.content, as: UTF8.self)
                #expect(!key.contains(link.secret) && !bytes.contains(link.secret))
            }
            // The digest that anyone can compute: SHA-256 of 32 zeros.
            #expect(TrackingLinks.id(of: String(repeating: "0", count: 32)) == "84e0c0eafaa95a34c293f278ac52e45c")
        }
    }

    @Test func `secrets and ids have 32 characters and are unique`() async throws {
        try await Stage.set { stage in
            var words: Set<String> = []
            for _ in 0..<100 {
                let link = try await Self.links(stage).issueDurably(
                    for: Stage.job, of: Stage.customer, by: Stage.customer
                ).get().value
                words.formUnion([link.secret, link.id])
            }
            #expect(words.count == 200)
            for word in words {
                #expect(word.utf8.count == TrackingLinks.length)
                #expect(word.allSatisfy { $0.isHexDigit && !$0.isUppercase })
            }
        }
    }

    @Test(arguments: ["", "0", "x" + String(repeating: "0", count: 31), String(repeating: "A", count: 32), "*"])
    func `text that cannot be a secret has no id`(secret: String) {
        #expect(TrackingLinks.id(of: secret) == nil)
        #expect(TrackingLinks.id(of: String(repeating: "0", count: 33)) == nil)
    }

    @Test func `a link beyond the maximum of a job deletes the one that expires first, but never itself`() async throws
    {
        try await Stage.set { stage in
            let (links, list) = (Self.links(stage), stage.keyspace.links(of: Stage.job))
            func issue(_ seconds: Int) async throws -> TrackingLinks.Issued {
                try await links.issueDurably(
                    for: Stage.job, of: Stage.customer, lifetime: .seconds(seconds), by: Stage.customer
                ).get().value
            }
            let (first, second) = (try await issue(600), try await issue(700))
            // Others that are listed, all of which expire later.
            let later = try await stage.now() + TrackingLinks.maxLifetime.milliseconds
            for number in 1...JobLedger.maxListedLinks - 2 {
                let id = String(repeating: "0", count: TrackingLinks.length - 4) + String(1_000 + number)
                _ = try await stage.client.run("ZADD", list, "\(later)", id)
            }
            let third = try await issue(60)
            try await becomes("the list has its maximum length") {
                try await stage.client.run("ZCARD", list).integer == Int64(JobLedger.maxListedLinks)
            }
            #expect(try await links.read(first.id).get() == nil)
            #expect(try await links.read(second.id).get() != nil)
            #expect(try await links.read(third.id).get() != nil)
            #expect(try await stage.client.run("ZSCORE", list, third.id) != .null)
        }
    }

    @Test func `a revoked link is deleted with its leases, and others stay`() async throws {
        try await Stage.set { stage in
            let links = Self.links(stage)
            let first = try await links.issueDurably(for: Stage.job, of: Stage.customer, by: Stage.customer).get().value
            let second = try await links.issueDurably(for: Stage.job, of: Stage.customer, by: Stage.customer).get()
                .value
            for link in [first, second] { _ = try await links.join(link.id, as: "s1").get() }
            #expect(try await links.revoke(first.id).get())
            #expect(try await links.join(first.id, as: "s1").get() == .noSuchLink)
            #expect(try await links.join(second.id, as: "s2").get() != .noSuchLink)
            #expect(try await links.revoke(first.id).get() == false)
            for id in ["", "*", "{}", "x"] { #expect(try await links.revoke(id).get() == false) }
        }
    }
}

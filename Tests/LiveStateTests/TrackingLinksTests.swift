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
            try await stage.createJob()
            let before = Set(try await stage.client.dump().keys)
            let links = Self.links(stage)
            let link = try await links.issueDurably(
                for: Stage.job, of: Stage.customer, lifetime: .seconds(60), by: Stage.customer
            ).get()
                .value
            #expect(TrackingLinks.id(of: link.secret) == link.id)
            let place = try await links.join(link.id, as: "s1").get()
            #expect(place == .leased(Stage.job, of: Stage.customer, expiresAt: link.expiresAt))
            let content = try await links.read(link.id).get()
            #expect(content?.job == Stage.job && content?.customer == Stage.customer)
            #expect(content?.expiresAt == link.expiresAt)
            let dump = try await stage.client.dump().filter { !before.contains($0.key) }
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
            try await stage.createJob()
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
            try await stage.createJob()
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
            try await stage.createJob()
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

    @Test func `a job that does not exist, was erased or has another customer gets no link`() async throws {
        try await Stage.set { stage in
            let links = Self.links(stage)
            func isRefused(_ customer: PersonID) async -> Bool {
                do { _ = try await links.issue(for: Stage.job, of: customer, by: customer).get() } catch {
                    return error is TrackingLinks.NoSuchJob
                }
                return false
            }
            #expect(await isRefused(Stage.customer))
            try await stage.createJob()
            #expect(await isRefused(PersonID("bert")!))
            let version = try await stage.ledger.erasable(Stage.job).get()?.version
            #expect(try await stage.ledger.erase(Stage.job, as: version).get().value == .erased(keys: 2))
            #expect(await isRefused(Stage.customer))
            #expect(try await stage.client.dump().keys.allSatisfy { !$0.contains("link") })
        }
    }

    @Test func `a job with a link is not erased before the link, and its list is erased with the links`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let (links, ledger) = (Self.links(stage), stage.ledger)
            let issued = try await links.issueDurably(for: Stage.job, of: Stage.customer, by: Stage.customer).get()
            _ = try await links.join(issued.value.id, as: "s1").get()
            let version = try await ledger.erasable(Stage.job).get()?.version
            try await stage.leavesEverythingUnchanged {
                let erasure = try await ledger.erase(Stage.job, as: version).get().value
                #expect(erasure == .hasLinks)
            }
            #expect(try await ledger.eraseLinks(of: Stage.job).get() == 2)
            #expect(try await ledger.erase(Stage.job, as: version).get().value == .erased(keys: 2))
            #expect(try await stage.client.dump().keys.allSatisfy { !$0.contains("link") })
        }
    }

    @Test func `a link is not written if its job was erased after it was listed`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let (id, ledger) = (String(repeating: "0a", count: 16), stage.ledger)
            let (record, list) = (stage.jobKey, stage.keyspace.links(of: Stage.job))
            let listed = try await stage.run(
                Scripts.listLink, keys: [record, list], [id, Stage.customer.text, "60000"])
            #expect(listed == .answer(1, 1))
            let version = try await ledger.erasable(Stage.job).get()?.version
            #expect(try await ledger.erase(Stage.job, as: version).get().value == .hasLinks)
            #expect(try await ledger.eraseLinks(of: Stage.job).get() == 0)
            #expect(try await ledger.erase(Stage.job, as: version).get().value == .erased(keys: 2))
            let written = try await stage.run(
                Scripts.issueLink, keys: [stage.keyspace.link(id)],
                [Stage.job.text, "5", "60000", "service", Stage.customer.text])
            #expect(written == .answer(0))
            // The key that stays for a minute is empty.
            let left = try await stage.client.run("HGETALL", stage.keyspace.link(id)).array?.map(\.text)
            #expect(left == ["dropped", "1"])
            #expect((1...60_000).contains(try await stage.client.timeLeft(of: stage.keyspace.link(id))))
            #expect(try await Self.links(stage).read(id).get() == nil)
            #expect(try await Self.links(stage).join(id, as: "s1").get() == .noSuchLink)
        }
    }
}

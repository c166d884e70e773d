import LiveState
import Redis
import TestSupport
import Testing
import Webhooks

/// What operators do with webhooks, including several operators at the same time.
@Suite struct WebhookOperationsTests {
    private func stage(_ body: (WebhookOperations, WebhookStore, RedisClient) async throws -> Void) async throws {
        try await withRedis { client, _ in
            let store = WebhookStore(ledger: client, settings: LiveStateSettings())
            var settings = try WebhookSettings()
            settings.resolver = HostResolver(rule: AddressRule()) { _ in [IPAddress("8.8.8.8")!] }
            let sender = WebhookSender(settings: settings)
            try await body(WebhookOperations(store: store, sender: sender), store, client)
            await sender.shutdown()
        }
    }

    private let now: Int64 = 1_763_856_000_000
    private static let day: Int64 = 86_400_000

    @Test func `the old secret signs for 24 hours after a rotation, and not longer`() async throws {
        try await self.stage { operations, store, _ in
            let added = try await operations.add(url: "https://shop.example/", types: [])
            let old = added.secrets[0].text
            let rotated = try #require(try await operations.rotate(added.id, now: self.now))
            let new = rotated.secrets[0].text
            #expect(new != old)
            for webhook in [rotated, try #require(try await store.read(added.id))] {
                #expect(webhook.secrets(at: self.now + Self.day - 1) == [new, old])
                #expect(webhook.secrets(at: self.now + Self.day) == [new])
            }
        }
    }

    @Test func `two rotations within 24 hours do not end any secret early`() async throws {
        try await self.stage { operations, store, _ in
            let added = try await operations.add(url: "https://shop.example/", types: [])
            let first = added.secrets[0].text
            let second = try #require(try await operations.rotate(added.id, now: self.now)).secrets[0].text
            let later = self.now + Self.day / 2
            let third = try #require(try await operations.rotate(added.id, now: later)).secrets[0].text
            let webhook = try #require(try await store.read(added.id))
            #expect(webhook.secrets(at: self.now + Self.day - 1) == [third, second, first])
            #expect(webhook.secrets(at: self.now + Self.day) == [third, second])
            #expect(webhook.secrets(at: later + Self.day) == [third])
            // An expired one is removed by the next rotation.
            let last = try #require(try await operations.rotate(added.id, now: later + Self.day))
            #expect(last.secrets.map(\.text).dropFirst() == [third])
        }
    }

    @Test func `every secret that concurrent rotations returned signs`() async throws {
        try await self.stage { operations, store, _ in
            let added = try await operations.add(url: "https://shop.example/", types: [])
            let returned = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<5 {
                    group.addTask { try await operations.rotate(added.id, now: self.now)?.secrets.first?.text }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let signing = try #require(try await store.read(added.id)).secrets(at: self.now + 1)
            #expect(Set(returned.compactMap { $0 }).count == 5)
            #expect(Set(signing) == Set(returned.compactMap { $0 } + [added.secrets[0].text]))
        }
    }

    @Test func `a test or a rotation of a webhook that was removed meanwhile leaves no data`() async throws {
        try await self.stage { operations, store, client in
            let added = try await operations.add(url: "https://shop.example/", types: [])
            #expect(try await operations.remove(added.id))
            #expect(try await !store.switchOn(added.id, at: self.now))
            #expect(try await operations.rotate(added.id) == nil)
            let key = Keyspace().webhook(added.id)
            let answer = try await client.evaluate(
                Scripts.rotateWebhook, keys: [key], arguments: ["whsec_a", .integer(self.now), .integer(self.now), "8"]
            ).get()
            #expect(answer.array?.first?.integer == 0)
            #expect(try await client.dump().isEmpty)
        }
    }

    @Test func `sixty adds at the same time make fifty webhooks, and all of them are listed`() async throws {
        try await self.stage { operations, _, client in
            let added = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<60 {
                    group.addTask { (try? await operations.add(url: "https://shop.example/", types: [])) != nil }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(added == 50)
            #expect(try await operations.all().count == 50)
            let keys = try await client.dump().keys.filter { $0.hasPrefix("webhook:") }
            #expect(keys.count == 50)
        }
    }

    @Test func `malformed undelivered events do not hide the others`() async throws {
        try await self.stage { operations, store, client in
            let added = try await operations.add(url: "https://shop.example/", types: [])
            let key = Keyspace().dead(ofWebhook: added.id)
            for number in 1...250 {
                let name = number % 50 == 7 ? "nothing" : "subject"
                try await client.run(
                    "XADD", key, "\(number)-1", name, "job-\(number)", "event", "e.\(number) {}", "reason", "x",
                    "attempts", "3")
            }
            let page = try #require(try await operations.undelivered(added.id, after: nil))
            #expect(page.events.count == 100 && page.events.last?.entry == "102-1" && page.total == 250)
            let replayed = try await operations.replay(added.id)
            #expect(replayed?.count == 245 && replayed?.isOn == true && replayed?.remaining == 5)
            #expect(try await store.waitingSubjects(added.id).count == 245)
        }
    }
}

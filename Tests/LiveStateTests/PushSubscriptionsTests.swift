import Access
import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// The contracts of keep_push and take_push.
@Suite struct PushSubscriptionsTests {
    private static let grant = Grant(
        person: PersonID("anna")!, role: .customer, token: TokenIdentity(id: "t-1", issuedAt: 1_800_000_000))

    private static func subscription(_ number: Int, by grant: Grant = Self.grant) -> PushSubscriptions.Waiting {
        .init(
            .init(endpoint: "https://push.example/\(number)", keys: .init(p256dh: "key-\(number)", auth: "secret")),
            by: grant)
    }

    private static func store(_ stage: Stage) -> (PushSubscriptions, String) {
        (PushSubscriptions(live: stage.client, settings: stage.settings), stage.settings.keyspace.push(of: Stage.job))
    }

    @Test func `a browser waits as long as a job lives after a change, and at least 48 hours`() async throws {
        try await Stage.set { stage in
            let (_, key) = Self.store(stage)
            let day = Duration.seconds(86_400)
            for (retention, lifetime) in [(day, day * 2), (day * 2, day * 2), (day * 14, day * 14)] {
                var settings = stage.settings
                settings.retention = retention
                let store = PushSubscriptions(live: stage.client, settings: settings)
                #expect(try await store.add(Self.subscription(1), to: Stage.job, asOf: 1).get() == .added)
                let left = try await stage.client.timeLeft(of: key)
                #expect((lifetime.milliseconds - 60_000...lifetime.milliseconds).contains(left), "\(retention)")
                #expect(settings.revocationRetention >= lifetime, "a revocation must not be forgotten before")
            }
        }
    }

    @Test func `each browser waits until its own end, also one that an earlier gateway stored without it`() async throws
    {
        try await Stage.set { stage in
            let (store, key) = Self.store(stage)
            let subscription = PushSubscriptions.Subscription(
                endpoint: "https://push.example/1", keys: .init(p256dh: "key-1", auth: "secret"))
            let waiting = PushSubscriptions.Waiting(subscription, by: Self.grant, until: 1_800_000_000_000)
            #expect(try await store.add(waiting, to: Stage.job, asOf: 1).get() == .added)
            let taken = try #require(try await store.take(from: Stage.job).get().first)
            #expect(taken == waiting && taken.waits(at: 1_799_999_999_999) && !taken.waits(at: 1_800_000_000_000))
            let earlier =
                #"{"issuedAt":1800000000,"person":"anna","subscription":{"endpoint":"https://push.example/1","#
                + #""keys":{"auth":"secret","p256dh":"key-1"}},"token":"t-1"}"#
            try await stage.client.run("HSET", key, "a", earlier)
            let old = try #require(try await store.take(from: Stage.job).get().first)
            #expect(old == Self.subscription(1) && old.waits(at: 1_900_000_000_000))
        }
    }

    @Test func `each browser is stored once, for a bounded time, and taken once`() async throws {
        try await Stage.set { stage in
            let (store, key) = Self.store(stage)
            #expect(try await !store.exist(for: Stage.job).get())
            for number in [1, 2, 1] {
                #expect(try await store.add(Self.subscription(number), to: Stage.job, asOf: 1).get() == .added)
            }
            #expect(try await store.exist(for: Stage.job).get())
            let left = try #require(try await stage.client.run("PTTL", key).integer)
            #expect((1...stage.settings.pushLifetime.milliseconds).contains(left))
            let taken = try await store.take(from: Stage.job).get()
            #expect(Set(taken) == [Self.subscription(1), Self.subscription(2)] && taken.count == 2)
            #expect(try await store.take(from: Stage.job).get() == [])
            #expect(try await !store.exist(for: Stage.job).get())
        }
    }

    @Test func `a browser that no longer waits is removed, and a job has a bounded number`() async throws {
        try await Stage.set { stage in
            let (store, _) = Self.store(stage)
            let most = Int(PushSubscriptions.most)
            for number in 1...most {
                #expect(try await store.add(Self.subscription(number), to: Stage.job, asOf: 1).get() == .added)
            }
            #expect(try await store.add(Self.subscription(0), to: Stage.job, asOf: 1).get() == .full)
            // A browser that is stored already may subscribe again.
            #expect(try await store.add(Self.subscription(most), to: Stage.job, asOf: 1).get() == .added)
            try await store.remove(endpoint: Self.subscription(1).subscription.endpoint, from: Stage.job).get()
            #expect(try await store.add(Self.subscription(0), to: Stage.job, asOf: 1).get() == .added)
            #expect(try await store.take(from: Stage.job).get().count == most)
        }
    }

    @Test func `link viewers leave room for the job's customer`() async throws {
        try await Stage.set { stage in
            let (store, _) = Self.store(stage)
            let (most, mostByLink) = (Int(PushSubscriptions.most), Int(PushSubscriptions.mostByLink))
            for number in 1...mostByLink {
                let viewer = Self.viewer(of: number.isMultiple(of: 2) ? "a" : "b")
                #expect(
                    try await store.add(Self.subscription(number, by: viewer), to: Stage.job, asOf: 1).get() == .added)
            }
            let viewer = Self.viewer(of: "c")
            #expect(try await store.add(Self.subscription(0, by: viewer), to: Stage.job, asOf: 1).get() == .full)
            #expect(try await store.add(Self.subscription(1, by: viewer), to: Stage.job, asOf: 1).get() == .added)
            for number in mostByLink + 1...most {
                #expect(try await store.add(Self.subscription(number), to: Stage.job, asOf: 1).get() == .added)
            }
            #expect(try await store.add(Self.subscription(0), to: Stage.job, asOf: 1).get() == .full)
            // A browser is stored once, under the grant with which it was stored last, and either grant removes it.
            #expect(try await store.add(Self.subscription(1), to: Stage.job, asOf: 1).get() == .added)
            #expect(try await store.add(Self.subscription(0, by: viewer), to: Stage.job, asOf: 1).get() == .full)
            for number in [1, 2] {
                try await store.remove(endpoint: Self.subscription(number).subscription.endpoint, from: Stage.job).get()
            }
            #expect(try await store.add(Self.subscription(0, by: viewer), to: Stage.job, asOf: 1).get() == .added)
            #expect(try await store.take(from: Stage.job).get().count == most - 1)
        }
    }

    @Test func `browsers that have lost access release their places, unless they were replaced meanwhile`() async throws
    {
        try await Stage.set { stage in
            let (store, key) = Self.store(stage)
            let most = Int(PushSubscriptions.most)
            for number in 2...most {
                #expect(try await store.add(Self.subscription(number), to: Stage.job, asOf: 1).get() == .added)
            }
            try await stage.client.run("HSET", key, "a", "not JSON")
            let stored = try await store.read(of: Stage.job).get()
            #expect(stored.count == most && stored.count { $0.waiting == nil } == 1)
            var other = Self.grant
            other.person = PersonID("dora")!
            #expect(try await store.add(Self.subscription(2, by: other), to: Stage.job, asOf: 1).get() == .added)
            let added = try await store.add(
                Self.subscription(0, by: other), to: Stage.job, asOf: 1, removing: stored
            ).get()
            #expect(added == .added)
            #expect(try await stage.client.run("HLEN", key) == .integer(2))
            let taken = try await store.take(from: Stage.job).get()
            #expect(Set(taken) == [Self.subscription(0, by: other), Self.subscription(2, by: other)])
        }
    }

    private static func viewer(of link: Character) -> Grant {
        Grant(
            person: PersonID("anna")!, role: .customer, job: Stage.job,
            link: String(repeating: link, count: TrackingLinks.length))
    }

    @Test func `the part of a grant on which access depends is stored`() async throws {
        try await Stage.set { stage in
            let (store, _) = Self.store(stage)
            let link = Grant(
                person: PersonID("anna")!, role: .customer, job: Stage.job, link: "0123456789abcdef",
                expiresAt: 1_800_000_000)
            for (number, grant) in [Self.grant, link].enumerated() {
                #expect(
                    try await store.add(Self.subscription(number, by: grant), to: Stage.job, asOf: 1).get() == .added)
            }
            let grants = try await store.take(from: Stage.job).get().map { $0.grant(for: Stage.job) }
            var token = Self.grant
            token.job = Stage.job
            #expect(Set(grants) == [token, link])
        }
    }

    @Test func `malformed entries are left out, and bad arguments change nothing`() async throws {
        try await Stage.set { stage in
            let (store, key) = Self.store(stage)
            #expect(try await store.add(Self.subscription(1), to: Stage.job, asOf: 1).get() == .added)
            for arguments in [
                ["", "{}", "1000", "10", "0", "5", "1", ""], ["a b", "{}", "1000", "10", "0", "5", "1", ""],
                ["a", "text", "1000", "10", "0", "5", "1", ""], ["a", "{}", "0", "10", "0", "5", "1", ""],
                ["a", "{}", "1000000000001", "10", "0", "5", "1", ""],
                ["a", "{\(String(repeating: " ", count: 2_048))}", "1000", "10", "0", "5", "1", ""],
                ["a", "{}", "1000", "101", "0", "5", "1", ""], ["a", "{}", "1000", "10", "2", "5", "1", ""],
                ["a", "{}", "1000", "10", "1", "0", "1", ""], ["a", "{}", "1000", "10"],
                ["a", "{}", "1000", "10", "0", "5", "1", String(repeating: "a", count: 204_901)],
                ["a", "{}", "1000", "10", "0", "5", "1"], ["a", "{}", "1000", "10", "0", "5", "x", ""],
                ["a", "{}", "1000", "10", "0", "5", "1234567890123456", ""],
                [String(repeating: "a", count: 60), "{}", "1000", "10", "0", "5", "1", ""],
            ] {
                try await stage.leavesEverythingUnchanged {
                    await #expect(throws: RedisError.self) {
                        try await stage.run(Scripts.keepPush, keys: [key, stage.travelKey], arguments)
                    }
                }
            }
            for arguments in [["x"], ["0"], []] {
                try await stage.leavesEverythingUnchanged {
                    await #expect(throws: RedisError.self) {
                        try await stage.run(Scripts.takePush, keys: [key], arguments)
                    }
                }
            }
            _ = try await stage.client.run("HSET", key, "b", "not JSON")
            #expect(try await store.take(from: Stage.job).get() == [Self.subscription(1)])
        }
    }

    @Test func `a browser is not stored if a later decision has reached the live instance, such as an erasure`()
        async throws
    {
        try await Stage.set { stage in
            let (store, key) = Self.store(stage)
            func add(asOf fence: Int64) async throws -> PushSubscriptions.Addition {
                try await store.add(Self.subscription(1), to: Stage.job, asOf: fence).get()
            }
            let deadline = try await stage.now() + 3_600_000
            _ = try await stage.feed.open(Stage.job, for: Stage.rider, until: deadline, fence: 4).get()
            #expect(try await add(asOf: 3) == .overtaken)
            #expect(try await stage.client.run("EXISTS", key) == .integer(0))
            #expect(try await add(asOf: 4) == .added)
            _ = try await stage.feed.close(Stage.job, because: .revoked, fence: 5, endsJob: true).get()
            _ = try await stage.feed.erase(Stage.job).get()
            #expect(try await add(asOf: 4) == .overtaken)
            // Removing is always possible.
            try await store.remove(endpoint: Self.subscription(1).subscription.endpoint, from: Stage.job).get()
            #expect(try await stage.client.run("EXISTS", key) == .integer(0))
            // A job that is created with the same id continues with the fence of the erased one.
            #expect(try await add(asOf: 5) == .added)
            for malformed in [["SET", stage.travelKey, "x"], ["HSET", stage.travelKey, "a", "b"]] {
                try await stage.client.run("DEL", stage.travelKey)
                _ = try await stage.client.send(RedisCommand(malformed.map { .text($0) })).get()
                #expect(try await add(asOf: 0) == .added)
            }
        }
    }
}

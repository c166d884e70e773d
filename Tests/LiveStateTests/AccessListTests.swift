import Embedded
import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// deploy/redis/live.acl and ledger.acl, loaded by real servers: what the gateway's user is allowed to do, and what it
/// is not.
@Suite struct AccessListTests {
    private static let job = JobID("job-7")!
    private static let rider = PersonID("rider-1")!
    private static let keyspace = Keyspace()
    private static let settings = LiveStateSettings()

    /// Runs both roles, each with a client and a subscriber signed in as `user`.
    private struct Signed: Sendable {
        let client: RedisClient
        let subscriber: Subscriber

        static func `in`(
            as user: String, at role: DeployedRedis, options: [String] = [], _ body: (Signed) async throws -> Void
        ) async throws {
            try await role.run(options: options) { server in
                let client = try await RedisClient.started(at: server.address(for: user))
                defer { client.stop() }
                let subscriber = try await Subscriber.started(at: server.address(for: user))
                defer { subscriber.stop() }
                try await body(Signed(client: client, subscriber: subscriber))
            }
        }
    }

    @Test func `the gateway's user can list, refresh and erase jobs and their links`() async throws {
        try await Signed.in(as: "enroute", at: .ledger) { signed in
            let ledger = JobLedger(ledger: signed.client, settings: Self.settings)
            let (customer, now) = (PersonID("customer-1")!, Int64(1_795_248_617_611))
            for epoch in ["epoch-1", "epoch-2"] {
                try await ledger.list(Self.job, rider: Self.rider, customer: customer, now: now).get()
                let new = NewJob(
                    job: Self.job, kind: .delivery, customer: customer, rider: Self.rider,
                    display: JobDisplay(note: "a"), actor: PersonID("service-1")!)
                _ = try await ledger.create(new, epoch: epoch).get()
                try await ledger.refresh(Self.job, after: 1, ofCardOf: Self.rider).get()
                let page = try await ledger.page(
                    of: .rider(Self.rider), after: nil, limit: 10, now: now
                ) { _, _ in true }.get()
                #expect(page.jobs.map(\.job) == [Self.job])
                // The other person's list is empty, and its surplus entry is removed.
                try await ledger.list(Self.job, rider: nil, customer: PersonID("other")!, now: now).get()
                let other = try await ledger.page(
                    of: .customer(PersonID("other")!), after: nil, limit: 10, now: now + 2 * JobLedger.longestListing
                ) { _, _ in true }.get()
                #expect(other.jobs.isEmpty)
                let links = TrackingLinks(ledger: signed.client, settings: Self.settings)
                _ = try await links.issue(for: Self.job, of: customer, by: customer).get()
                let deleted = try await ledger.eraseLinks(of: Self.job).get()
                #expect(deleted == 1)
                let erasable = try #require(try await ledger.erasable(Self.job).get())
                let erased = try await ledger.erase(Self.job, as: erasable.version).get().value
                #expect(erased == .erased(keys: 2))
                try await ledger.unlist(Self.job, erasable).get()
            }
        }
        try await Signed.in(as: "enroute", at: .live) { signed in
            let feed = JobFeed(live: signed.client, settings: Self.settings)
            let closed = try await feed.close(Self.job, because: .revoked, fence: 7, endsJob: true).get()
            #expect(closed == .closed(erased: 0))
            let erased = try await feed.erase(Self.job).get()
            #expect(erased == 0)
        }
    }

    @Test func `the gateway's user can make every call to the ledger`() async throws {
        try await Signed.in(as: "enroute", at: .ledger) { signed in
            let ledger = JobLedger(ledger: signed.client, settings: Self.settings)
            try await signed.subscriber.subscribe(Self.keyspace.events(of: Self.job))
            let new = NewJob(
                job: Self.job, kind: .delivery, customer: PersonID("customer-1")!, rider: Self.rider,
                actor: PersonID("service-1")!)
            _ = try await ledger.create(new, epoch: "epoch-1").get()
            let first = try #require(try await ledger.recover(Self.job).get()).record
            // Twice each: the first call sends the source (EVAL), the second the digest (EVALSHA).
            for status in Stage.statusesUntilTransit {
                guard
                    case .published = try await ledger.publish(status, of: Self.job, by: Self.rider, source: "rest")
                        .get()
                else {
                    Issue.record("\(status)")
                    return
                }
                #expect(try await signed.subscriber.messages.next().text.contains(status.rawValue))
            }
            let since = ResumePoint(epoch: first.epoch, id: first.head)
            #expect(
                try await ledger.recover(Self.job, since: since).get()?.missed.count == Stage.statusesUntilTransit.count
            )
            for _ in 0..<2 {
                guard case .on = try await ledger.startTravel(for: Self.job, by: Self.rider).get() else {
                    Issue.record("travel mode is off")
                    return
                }
                #expect(try await ledger.stopTravel(for: Self.job, by: Self.rider).get() != .noSuchJob)
            }
            let links = TrackingLinks(ledger: signed.client, settings: Self.settings)
            for _ in 0..<2 {
                let link = try await links.issueDurably(for: Self.job, of: first.customer, by: Self.rider).get().value
                for session in ["a", "b"] {
                    let place = try await links.join(link.id, as: session).get()
                    #expect(place == .leased(Self.job, of: first.customer, expiresAt: link.expiresAt))
                }
                try await links.leave(link.id, as: "a").get()
                #expect(try await links.revoke(link.id).get())
            }
            let streams = AuditStreams(ledger: signed.client, settings: Self.settings)
            try await streams.append(.erased(Self.job, keys: 2, because: .arrived)).get()
            #expect(try await streams.read(.audit, from: .since(0)).get().entries.count == 1)
            #expect(try await streams.read(.access, from: .since(0)).get().entries.isEmpty)
            try await signed.subscriber.unsubscribe(Self.keyspace.events(of: Self.job))
            let log = RevocationLog(ledger: signed.client, settings: Self.settings)
            try await signed.subscriber.subscribe(Self.keyspace.control)
            for _ in 0..<2 {
                let answer = try await log.revoke(.job(Self.job), by: Self.rider, because: "a test").get()
                #expect(answer.value == .revoked)
                _ = try await signed.subscriber.messages.next()
            }
            let entries = try await log.read(from: "-").get()
            #expect(entries.count == 2)
        }
    }

    @Test func `the gateway's user can make every call to the live instance`() async throws {
        try await Signed.in(as: "enroute", at: .live) { signed in
            let feed = JobFeed(live: signed.client, settings: Self.settings)
            let publisher = LocationPublisher(live: signed.client, settings: Self.settings)
            try await signed.subscriber.subscribe(Self.keyspace.feed(of: Self.job))
            let time = try await signed.client.run("TIME").array?.first?.text.flatMap(Int64.init) ?? 0
            for rider in [Self.rider, PersonID("rider-2")!] {
                for _ in 0..<2 {
                    #expect(
                        try await feed.open(Self.job, for: rider, until: (time + 3600) * 1000, fence: 1).get() == .open)
                }
                for second in Int64(0)..<2 {
                    let fix = Fix(at: (time + second) * 1000, place: Coordinate(latitude: 52.5, longitude: 13.4)!)
                    let verdict = try await publisher.publish(
                        fix, for: Self.job, by: rider, receivedAt: time * 1000
                    ).get()
                    guard case .accepted = verdict else {
                        Issue.record("\(verdict)")
                        return
                    }
                }
            }
            #expect(try await feed.read(Self.job).get().position != nil)
            // Two openings that changed something, and four positions.
            #expect(try await signed.subscriber.messages.next(6).count == 6)
            for _ in 0..<2 {
                let closing = try await feed.close(Self.job, because: .arrived).get()
                #expect(closing != .otherRider)
            }
            try await signed.subscriber.unsubscribe(Self.keyspace.feed(of: Self.job))
        }
    }

    /// Whether Redis answers NOPERM.
    private func isRefused(_ words: [String], by client: RedisClient) async -> Bool {
        let error = await failure(of: client.send(RedisCommand(words.map { .text($0) })))
        if case .refused("NOPERM", _)? = error { return true }
        return false
    }

    @Test(arguments: DeployedRedis.allCases)
    func `I5: the gateway's user cannot run commands that affect more than Enroute's keys`(role: DeployedRedis)
        async throws
    {
        let forbidden = [
            "KEYS *", "SCAN 0", "RANDOMKEY", "DBSIZE", "CONFIG GET *", "CONFIG SET save 1", "CONFIG REWRITE",
            "FLUSHALL",
            "FLUSHDB", "SWAPDB 0 1", "PSUBSCRIBE *", "SCRIPT FLUSH", "SCRIPT KILL", "SCRIPT LOAD x", "FUNCTION FLUSH",
            "DEBUG SLEEP 0", "SHUTDOWN NOSAVE", "SAVE", "BGSAVE", "BGREWRITEAOF", "MONITOR", "REPLICAOF NO ONE",
            "CLUSTER RESET", "CLIENT LIST", "CLIENT KILL ID 1", "CLIENT PAUSE 1", "ACL LIST", "ACL SETUSER eve",
            "ACL WHOAMI", "SLOWLOG GET", "MODULE LIST", "LATENCY RESET", "MULTI", "PUBSUB CHANNELS", "MEMORY DOCTOR",
            "OBJECT ENCODING a", "RENAME job:{a} job:{b}", "DUMP job:{a}", "MIGRATE h 1 k 0 1",
        ]
        // By default Redis refuses DEBUG to every user before it checks permissions.
        let options = ["--enable-debug-command", "yes"]
        try await Signed.in(as: "enroute", at: role, options: options) { signed in
            for line in forbidden {
                let words = line.split(separator: " ").map { String($0) }
                #expect(await self.isRefused(words, by: signed.client), "\(line)")
            }
        }
    }

    @Test func `I5: the gateway's user cannot access foreign keys and channels, or those of the other role`()
        async throws
    {
        let (other, own) = (Self.keyspace.position(of: Self.job), Self.keyspace.travel(of: Self.job))
        try await Signed.in(as: "enroute", at: .live) { signed in
            for key in ["other", Self.keyspace.job(Self.job), Self.keyspace.log(of: Self.job), "staging:" + other, "*"]
            {
                for words in [["GET", key], ["SET", key, "1"], ["MGET", own, key], ["DEL", own, key]] {
                    let isRefused = await self.isRefused(words, by: signed.client)
                    #expect(isRefused, "\(words)")
                }
            }
            for channel in ["other", "*", Self.keyspace.events(of: Self.job), "__sentinel__:hello"] {
                for words in [["PUBLISH", channel, "x"], ["SPUBLISH", channel, "x"]] {
                    #expect(await self.isRefused(words, by: signed.client), "\(words)")
                }
                await #expect(throws: RedisError.self) { try await signed.subscriber.subscribe(channel) }
            }
        }
    }

    @Test func `I5: a script has only the permissions of the user that calls it`() async throws {
        try await Signed.in(as: "enroute", at: .live) { signed in
            let own = Self.keyspace.travel(of: Self.job)
            for (call, reason) in [
                ("'KEYS', '*'", "can't run this command"), ("'FLUSHALL'", "can't run this command"),
                ("'GET', 'other'", "can't access at least one of the keys"),
                ("'SPUBLISH', 'other', 'x'", "can't publish to the channel"),
            ] {
                let script = RedisScript(name: "foreign", source: Array("#!lua\nreturn redis.call(\(call))".utf8))
                let error = await failure(of: signed.client.evaluate(script, keys: [own], arguments: []))
                guard case .refused(_, let message)? = error else {
                    Issue.record("\(call) was not refused")
                    continue
                }
                #expect(message.contains(reason))
            }
            let stranger = RedisScript(name: "stranger", source: Array("#!lua\nreturn 1".utf8))
            guard
                case .refused("NOPERM", _)? = await failure(
                    of: signed.client.evaluate(stranger, keys: ["other"], arguments: []))
            else {
                Issue.record("a foreign key was accepted")
                return
            }
        }
    }

    @Test(arguments: DeployedRedis.allCases)
    func `I5: a client without a name or a password cannot sign in`(role: DeployedRedis) async throws {
        try await role.run { server in
            for user in [nil, "default", "enroute", "operations", "replica", "sentinel", "admin"] {
                for password in [nil, "", "guess"] {
                    if user != nil, password == nil { continue }
                    var address = server.address
                    (address.user, address.password) = (user, password)
                    let client = try await RedisClient.made(at: address)
                    defer { client.stop() }
                    let error = await failure(of: client.start())
                    guard case .authenticationRefused? = error else {
                        Issue.record("\(user ?? "no user"), \(password ?? "no password"): \(error as Any)")
                        continue
                    }
                }
            }
        }
    }
}

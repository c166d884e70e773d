import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// The contracts of list_link, issue_link, join_link and drop_link.
@Suite struct LinkScriptTests {
    private static let id = String(repeating: "0a", count: 16)

    private func keys(_ stage: Stage) -> [String] {
        [stage.keyspace.link(Self.id), stage.keyspace.viewers(ofLink: Self.id)]
    }

    private func issue(_ stage: Stage, viewers: String = "2", lifetime: String = "60000") async throws -> Int64 {
        let answer = try await stage.run(
            Scripts.issueLink, keys: [self.keys(stage)[0]], ["job-7", viewers, lifetime, "service", "anna"])
        let parts = try #require(answer.array)
        #expect(parts.first == .integer(1))
        return try #require(parts.last?.integer)
    }

    private func join(_ stage: Stage, _ session: String, lease: String = "150000") async throws -> RESPValue {
        try await stage.run(Scripts.joinLink, keys: self.keys(stage), [session, lease])
    }

    @Test func `a link is stored as requested until it expires, and not overwritten`() async throws {
        try await Stage.set { stage in
            let expires = try await self.issue(stage)
            let now = try await stage.now()
            #expect((now + 20_000...now + 60_000).contains(expires))
            let kept = try await stage.client.run("HGETALL", self.keys(stage)[0]).array?.map(\.text)
            #expect(
                kept == [
                    "job", "job-7", "viewers", "2", "expires", "\(expires)", "actor", "service", "customer", "anna",
                ])
            #expect(try await stage.client.run("PEXPIRETIME", self.keys(stage)[0]) == .integer(expires))
            try await stage.leavesEverythingUnchanged {
                let answer = try await stage.run(
                    Scripts.issueLink, keys: [self.keys(stage)[0]], ["job-8", "9", "1000", "eve", "eve"])
                #expect(answer == .answer(0))
            }
        }
    }

    @Test func `at most the allowed number of sessions have a lease, and a returned lease is free`() async throws {
        try await Stage.set { stage in
            let expires = try await self.issue(stage)
            for session in ["a", "b", "a", "b"] {
                #expect(try await self.join(stage, session) == .answer(1, "job-7", expires, "anna"))
            }
            try await stage.leavesEverythingUnchanged {
                let answer = try await self.join(stage, "c")
                #expect(answer == .answer(-1))
            }
            try await stage.client.run("ZREM", self.keys(stage)[1], "a")
            #expect(try await self.join(stage, "c") == .answer(1, "job-7", expires, "anna"))
            #expect(try await self.join(stage, "a") == .answer(-1))
            #expect(try await stage.client.run("PEXPIRETIME", self.keys(stage)[1]) == .integer(expires))
        }
    }

    @Test func `a lease that is not renewed expires, and a renewed one stays`() async throws {
        try await Stage.set { stage in
            let expires = try await self.issue(stage)
            _ = try await self.join(stage, "dead", lease: "1")
            _ = try await self.join(stage, "alive")
            let isFree = try await eventually {
                try await self.join(stage, "next") == .answer(1, "job-7", expires, "anna")
            }
            #expect(isFree)
            let sessions = try await stage.client.run("ZRANGE", self.keys(stage)[1], "0", "-1").array?.map(\.text)
            #expect(sessions == ["alive", "next"])
        }
    }

    @Test func `a link that does not exist or has expired grants no lease`() async throws {
        try await Stage.set { stage in
            #expect(try await self.join(stage, "a") == .answer(0))
            #expect(try await stage.client.dump().isEmpty)
            _ = try await self.issue(stage)
            // Redis may be late to delete an expired key.
            try await stage.client.run("HSET", self.keys(stage)[0], "expires", "\(try await stage.now() - 1)")
            #expect(try await self.join(stage, "a") == .answer(0))
            #expect(try await stage.client.run("EXISTS", self.keys(stage)[1]) == .integer(0))
        }
    }

    @Test func `a bad argument of issue_link is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            let call = ValidCall(
                script: Scripts.issueLink, keys: [self.keys(stage)[0]],
                arguments: ["job-7", "5", "60000", "service", "anna"])
            let counts = ["", "0", "-1", "1.5", "x", "nan", "inf", "101", "1e300"]
            let lifetimes = ["", "0", "-1", "1.5", "x", "nan", "inf", "14400001", "1e300"]
            try await call.refuses(
                badNames.map { (0, $0, "job must be") } + counts.map { (1, $0, "viewers must be") }
                    + lifetimes.map { (2, $0, "lifetime_ms must be") } + badNames.map { (3, $0, "actor must be") }
                    + badNames.map { (4, $0, "customer must be") },
                on: stage)
            #expect(try await stage.client.dump().isEmpty)
        }
    }

    @Test func `a bad argument of join_link is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            let expires = try await self.issue(stage)
            let call = ValidCall(script: Scripts.joinLink, keys: self.keys(stage), arguments: ["s1", "150000"])
            let leases = ["", "0", "-1", "1.5", "x", "nan", "inf", "3600001"]
            try await call.refuses(
                (badNames + [""]).map { (0, $0, "session must be") } + leases.map { (1, $0, "lease_ms must be") },
                on: stage)
            // No refused call has acquired a lease, so both leases of the link are still free.
            for session in ["s1", "s2"] {
                #expect(try await self.join(stage, session) == .answer(1, "job-7", expires, "anna"))
            }
        }
    }

    @Test func `a link is listed until a minute after it expires, once, if the job has this customer`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let keys = [stage.jobKey, stage.keyspace.links(of: Stage.job)]
            let old = String(repeating: "0b", count: 16)
            let recent = String(repeating: "0c", count: 16)
            let now = try await stage.now()
            try await stage.client.run("ZADD", keys[1], "\(now - 60_001)", old, "\(now - 30_000)", recent)
            for _ in 0..<2 {
                let answer = try await stage.run(Scripts.listLink, keys: keys, [Self.id, "customer-1", "60000"])
                #expect(answer == .answer(1, 2))
            }
            let listed = try await stage.client.run("ZRANGE", keys[1], "0", "-1").array?.map(\.text)
            #expect(listed == [recent, Self.id])
            let expires = try await stage.client.run("ZSCORE", keys[1], Self.id).text.flatMap(Int64.init) ?? 0
            #expect((now + 60_000...now + 120_000).contains(expires))
            #expect((1...14_460_000).contains(try await stage.client.timeLeft(of: keys[1])))
            try await stage.leavesEverythingUnchanged {
                for (record, customer) in [(keys[0], "bert"), ("job:{job-7}:none", "customer-1")] {
                    let answer = try await stage.run(
                        Scripts.listLink, keys: [record, keys[1]], [Self.id, customer, "60000"])
                    #expect(answer == .answer(0))
                }
            }
        }
    }

    @Test func `a bad argument of list_link is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            let call = ValidCall(
                script: Scripts.listLink, keys: [stage.jobKey, stage.keyspace.links(of: Stage.job)],
                arguments: [Self.id, "customer-1", "60000"])
            let ids = ["", "0a", Self.id + "0", Self.id.uppercased(), String(repeating: "g", count: 32)]
            let lifetimes = ["", "0", "-1", "1.5", "x", "nan", "inf", "14400001", "1e300"]
            try await call.refuses(
                ids.map { (0, $0, "id must be") } + badNames.map { (1, $0, "customer must be") }
                    + lifetimes.map { (2, $0, "lifetime_ms must be") },
                on: stage)
        }
    }

    @Test func `a dropped link is gone with its leases, and a missing one cannot be written for a while`() async throws
    {
        try await Stage.set { stage in
            let keys = self.keys(stage)
            func drop(_ block: String = "60000") async throws -> RESPValue {
                try await stage.run(Scripts.dropLink, keys: keys, [block])
            }
            _ = try await self.issue(stage)
            _ = try await self.join(stage, "a")
            #expect(try await drop() == .answer(2))
            #expect(try await stage.client.dump().isEmpty)
            // A value of another type is malformed, and deleted.
            try await stage.client.run("SET", keys[0], "malformed")
            #expect(try await drop() == .answer(1))
            #expect(try await stage.client.dump().isEmpty)
            // Repeating it does not unblock the key.
            for _ in 0..<2 { #expect(try await drop() == .answer(0)) }
            try await stage.leavesEverythingUnchanged {
                let answer = try await stage.run(
                    Scripts.issueLink, keys: [keys[0]], ["job-7", "2", "60000", "service", "anna"])
                #expect(answer == .answer(0))
                #expect(try await self.join(stage, "a") == .answer(0))
            }
            #expect(try await drop("1") == .answer(0))
            try await becomes("the key is free again") { try await stage.client.dump().isEmpty }
            _ = try await self.issue(stage)
        }
    }

    @Test func `a bad argument of drop_link is refused by name before anything is written`() async throws {
        try await Stage.set { stage in
            _ = try await self.issue(stage)
            let call = ValidCall(script: Scripts.dropLink, keys: self.keys(stage), arguments: ["60000"])
            let blocks = ["", "0", "-1", "1.5", "x", "nan", "inf", "3600001"]
            try await call.refuses(blocks.map { (0, $0, "block_ms must be") }, on: stage)
        }
    }
}

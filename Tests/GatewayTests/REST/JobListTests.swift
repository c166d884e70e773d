import Access
import EnrouteWire
import Foundation
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import REST
@testable import Realtime

/// Lists of jobs: complete, in pages, and never with a job that the caller may not see.
@Suite struct JobListTests {
    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                (settings.limits.requestsPerPersonPerSecond, settings.limits.requestsPerPersonBurst) = (10_000, 10_000)
            } _: { gateway in
                try await body(gateway)
            }
        }
    }

    static func create(
        _ gateway: RunningGateway, _ job: String, customer: String, rider: String? = nil, zone: String = "rome"
    ) async throws {
        let member = rider.map { #","rider":"\#($0)""# } ?? ""
        let created = try await gateway.rest(
            "POST", "/api/v1/jobs", by: "orders", .service,
            #"{"job":"\#(job)","kind":"delivery","customer":"\#(customer)","zone":"\#(zone)"\#(member),"metadata":{"t":"x"}}"#
        )
        #expect(created.status == 201, "\(created.text)")
    }

    static func list(
        _ gateway: RunningGateway, _ query: String, by person: String, _ role: Role
    ) async throws -> (status: Int, jobs: [String], next: String?, text: String) {
        let answer = try await gateway.rest("GET", "/api/v1/jobs?" + query, by: person, role)
        let jobs: [[String: Any]] = answer.member("jobs") ?? []
        return (answer.status, jobs.compactMap { $0["job"] as? String }, answer.member("next"), answer.text)
    }

    /// Reads all pages.
    private static func all(
        _ gateway: RunningGateway, _ query: String, by person: String, _ role: Role
    ) async throws -> [String] {
        var jobs: [String] = []
        var cursor = ""
        for _ in 0..<1_000 {
            let page = try await Self.list(gateway, query + cursor, by: person, role)
            #expect(page.status == 200, "\(page.text)")
            jobs += page.jobs
            guard let next = page.next else { return jobs }
            cursor = "&cursor=\(next)"
        }
        throw BadMessage("the pages do not end")
    }

    @Test func `people list their own jobs, newest first, and services those of anybody and of zones`() async throws {
        try await Self.run { gateway in
            try await Self.create(gateway, "a", customer: "anna", rider: "rider-1")
            try await Self.create(gateway, "b", customer: "bert", rider: "rider-1")
            try await Self.create(gateway, "c", customer: "anna", rider: "rider-2", zone: "milan")
            let annas = try await Self.list(gateway, "customer=me", by: "anna", .customer)
            #expect(Set(annas.jobs) == ["a", "c"] && annas.next == nil)
            for secret in ["rider-1", "anna", "rome", "\"t\""] {
                #expect(!annas.text.contains(secret), "\(annas.text)")
            }
            let riders = try await Self.list(gateway, "rider=me", by: "rider-1", .rider)
            #expect(Set(riders.jobs) == ["a", "b"])
            for (query, jobs) in [
                ("rider=rider-1", ["a", "b"]), ("customer=anna", ["a", "c"]), ("zone=rome", ["a", "b"]),
                ("zone=milan", ["c"]), ("rider=rider-9", []),
            ] {
                for (person, role) in [("orders", Role.service), ("olga", .ops)] {
                    try await becomes("\(query) lists \(jobs)") {
                        try await Set(Self.list(gateway, query, by: person, role).jobs) == Set(jobs)
                    }
                }
            }
            let detailed = try await Self.list(gateway, "rider=rider-1", by: "orders", .service)
            #expect(detailed.text.contains(#""customer":"anna","rider":"rider-1","zone":"rome","metadata":{"t":"x"}"#))
        }
    }

    @Test func `I7: nobody can list another person's jobs`() async throws {
        try await Self.run { gateway in
            try await Self.create(gateway, "a", customer: "anna", rider: "rider-1")
            for (query, person, role) in [
                ("customer=anna", "bert", Role.customer), ("rider=rider-1", "anna", .customer),
                ("zone=rome", "anna", .customer),
                ("rider=rider-1", "rider-2", .rider), ("customer=me", "rider-1", .rider),
                ("zone=rome", "rider-1", .rider),
            ] {
                let refused = try await Self.list(gateway, query, by: person, role)
                #expect(refused.status == 403, "\(query) by \(person): \(refused.text)")
            }
            for query in [
                "", "rider=me&customer=me", "rider=me", "zone=a.b", "rider=a.b", "rider=a&status=flying",
                "rider=a&limit=0",
                "rider=a&limit=101", "rider=a&cursor=x", "rider=a&cursor=", "rider=a&cursor=MSBhLmI",
            ] {
                let refused = try await Self.list(gateway, query, by: "orders", .service)
                #expect(refused.status == 400, "\(query): \(refused.text)")
            }
            // A token that is narrowed to another job sees an empty list.
            let narrow = try await gateway.mint.token(
                for: PersonID("anna")!, role: .customer, now: Int64(Date.now.timeIntervalSince1970),
                job: JobID("b")!)
            let empty = try await gateway.rest("GET", "/api/v1/jobs?customer=me", as: narrow)
            #expect(empty.status == 200 && empty.text == #"{"jobs":[]}"#, "\(empty.text)")
            // A revoked job is hidden from its people.
            let revoked = try await gateway.rest("DELETE", "/api/v1/grants/jobs/a", by: "olga", .ops)
            #expect(revoked.status == 204)
            try await becomes("a revoked job is not listed") {
                try await Self.list(gateway, "customer=me", by: "anna", .customer).jobs.isEmpty
            }
        }
    }

    @Test func `pages of any size contain each job once, with and without a filter, also within one millisecond`()
        async throws
    {
        try await Self.run { gateway in
            let names = (0..<37).map { "job-\($0)" }
            for name in names { try await Self.create(gateway, name, customer: "anna", rider: "rider-1") }
            for name in names.prefix(9) {
                let cancelled = try await gateway.rest(
                    "POST", "/api/v1/jobs/\(name)/status", by: "orders", .service, #"{"status":"cancelled"}"#)
                #expect(cancelled.status == 200)
            }
            // Half of them get the same time.
            for name in names.suffix(20) {
                try await gateway.client.run("ZADD", "jobs:rider:{rider-1}", "1795248617611", name)
            }
            for limit in [1, 2, 7, 19, 20, 37, 100] {
                let jobs = try await Self.all(gateway, "rider=me&limit=\(limit)", by: "rider-1", .rider)
                #expect(jobs.count == names.count && Set(jobs) == Set(names), "\(limit): \(jobs)")
                let cancelled = try await Self.all(
                    gateway, "rider=me&status=cancelled,delivered&limit=\(limit)", by: "rider-1", .rider)
                #expect(cancelled.count == 9 && Set(cancelled) == Set(names.prefix(9)), "\(limit): \(cancelled)")
            }
        }
    }

    @Test func `the last page has no next, also when it is full and when no wanted job follows`() async throws {
        try await Self.run { gateway in
            for name in ["a", "b", "c"] { try await Self.create(gateway, name, customer: "anna", rider: "rider-1") }
            // The oldest of the list.
            try await gateway.client.run("ZADD", "jobs:rider:{rider-1}", "1795248617611", "c")
            let cancelled = try await gateway.rest(
                "POST", "/api/v1/jobs/c/status", by: "orders", .service, #"{"status":"cancelled"}"#)
            #expect(cancelled.status == 200)
            for (query, count, isLast) in [
                ("limit=2", 2, false), ("limit=3", 3, true), ("limit=4", 3, true),
                ("limit=1&status=pending_vendor_acceptance", 1, false),
                ("limit=2&status=pending_vendor_acceptance", 2, true),
                ("limit=1&status=cancelled", 1, true),
            ] {
                let page = try await Self.list(gateway, "rider=me&\(query)", by: "rider-1", .rider)
                #expect(page.jobs.count == count && (page.next == nil) == isLast, "\(query): \(page.text)")
            }
        }
    }

    @Test func `a change that leaves rider and customer as they are does not move the job, so no page misses one`()
        async throws
    {
        try await Self.run { gateway in
            let names = (0..<6).map { "job-\($0)" }
            for name in names { try await Self.create(gateway, name, customer: "anna", rider: "rider-1") }
            for (query, person, role) in [("customer=me", "anna", Role.customer), ("rider=me", "rider-1", .rider)] {
                let whole = try await Self.list(gateway, query, by: person, role).jobs
                #expect(Set(whole) == Set(names))
                let first = try await Self.list(gateway, query + "&limit=2", by: person, role)
                let oldest = try #require(whole.last)
                for (path, body) in [
                    ("jobs/\(oldest)", #"{"kind":"delivery","customer":"anna"}"#),
                    ("jobs/\(oldest)", #"{"kind":"delivery","customer":"anna","rider":"rider-1"}"#),
                    ("jobs/\(oldest)/assignment", #"{"rider":"rider-1"}"#),
                ] {
                    let changed = try await gateway.rest("PUT", "/api/v1/" + path, by: "orders", .service, body)
                    #expect(changed.status == 200, "\(changed.text)")
                }
                let cursor = try #require(first.next)
                let rest = try await Self.list(gateway, query + "&limit=100&cursor=\(cursor)", by: person, role)
                #expect(first.jobs + rest.jobs == whole)
            }
        }
    }

    @Test func `a job that is written again stays on the lists of its people as long as it exists, behind newer jobs`()
        async throws
    {
        let lists = [("jobs:rider:{rider-1}", "rider=rider-1"), ("jobs:customer:{anna}", "customer=anna")]
        try await Self.run { gateway in
            let (now, day) = (Int64(Date.now.timeIntervalSince1970 * 1000), Int64(86_400_000))
            for (job, age) in [("old", 8 * day), ("middle", day)] {
                try await Self.create(gateway, job, customer: "anna", rider: "rider-1")
                for (list, _) in lists { try await gateway.client.run("ZADD", list, "\(now - age)", job) }
            }
            let written = try await gateway.rest(
                "PUT", "/api/v1/jobs/old", by: "orders", .service, #"{"kind":"delivery","customer":"anna"}"#)
            #expect(written.status == 200, "\(written.text)")
            let retention = gateway.settings.liveState.retention.milliseconds
            for (list, _) in lists {
                try await becomes("the entry outlives the record: \(list)") {
                    let score = try await gateway.client.run("ZSCORE", list, "old").text.flatMap { Int64($0) } ?? 0
                    return score > now - 7 * day + retention
                }
            }
            // A new job removes the entries that are too old.
            try await Self.create(gateway, "new", customer: "anna", rider: "rider-1")
            for (_, query) in lists {
                let list = try await Self.list(gateway, query, by: "orders", .service)
                #expect(list.jobs == ["new", "middle", "old"], "\(list.text)")
            }
        }
    }

    @Test func `a job changes lists with its rider and customer, and a reader removes stale entries`() async throws {
        try await Self.run { gateway in
            try await Self.create(gateway, "a", customer: "anna", rider: "rider-1")
            let assigned = try await gateway.rest(
                "PUT", "/api/v1/jobs/a/assignment", by: "orders", .service,
                #"{"rider":"rider-2","insteadOf":"rider-1","customer":"bert"}"#)
            #expect(assigned.status == 200, "\(assigned.text)")
            for (query, person, role, jobs) in [
                ("rider=me", "rider-1", Role.rider, [String]()), ("rider=me", "rider-2", .rider, ["a"]),
                ("customer=me", "anna", .customer, []), ("customer=me", "bert", .customer, ["a"]),
            ] {
                let list = try await Self.list(gateway, query, by: person, role)
                #expect(list.jobs == jobs, "\(query) by \(person)")
            }
            for list in ["jobs:rider:{rider-1}", "jobs:customer:{anna}"] {
                try await becomes("the assignment has removed the entry of \(list)") {
                    try await gateway.client.run("ZCARD", list) == .integer(0)
                }
            }
            // An entry that was just written stays: another gateway may be about to write its record.
            let now = Int64(Date.now.timeIntervalSince1970 * 1000)
            try await gateway.client.run("ZADD", "jobs:rider:{rider-1}", "\(now)", "a")
            _ = try await Self.list(gateway, "rider=me", by: "rider-1", .rider)
            let young = try await gateway.client.run("ZCARD", "jobs:rider:{rider-1}")
            #expect(young == .integer(1))
            try await gateway.client.run("ZADD", "jobs:rider:{rider-1}", "1795248617611", "a", "1795248617611", "gone")
            _ = try await Self.list(gateway, "rider=me", by: "rider-1", .rider)
            try await becomes("stale entries are removed") {
                try await gateway.client.run("ZCARD", "jobs:rider:{rider-1}") == .integer(0)
            }
        }
    }

    /// A gateway that dies after it listed a job leaves a surplus entry, never a missing one.
    @Test func `an entry without a job is left out, and garbage in a list fails nothing`() async throws {
        try await Self.run { gateway in
            try await Self.create(gateway, "a", customer: "anna", rider: "rider-1")
            try await gateway.client.run(
                "ZADD", "jobs:customer:{anna}", "1795248617611", "not created", "inf", "!", "-1", "b", "1795248617611",
                "c")
            let list = try await Self.list(gateway, "customer=me", by: "anna", .customer)
            #expect(list.status == 200 && list.jobs == ["a"], "\(list.text)")
        }
    }
}

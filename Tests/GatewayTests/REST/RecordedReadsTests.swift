import Access
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import REST
@testable import Realtime

/// The audit entries about positions that were read over REST.
@Suite struct RecordedReadsTests {
    private static func read(_ number: Int) -> RecordedReads.Read {
        .init(job: JobID("job-\(number)")!, person: PersonID("anna")!, role: .customer)
    }

    @Test func `a read is recorded once in a minute, and again in the next one`() {
        let (reads, minute) = (RecordedReads(), RecordedReads.periodMilliseconds)
        let moments = [0, 1, minute - 1, minute, 2 * minute - 1, 2 * minute].map { 27_000_000 * minute + $0 }
        #expect(moments.map { reads.isFirst(Self.read(1), now: $0) } == [true, false, false, true, false, true])
        // The clock was set back.
        #expect(reads.isFirst(Self.read(1), now: moments[0]))
    }

    @Test func `another job, another person and another role are other reads`() {
        let reads = RecordedReads()
        let first = Self.read(1)
        var (job, person, role) = (first, first, first)
        job.job = JobID("job-2")!
        person.person = PersonID("bert")!
        role.role = .ops
        let all = [first, job, person, role]
        #expect(all.map { reads.isFirst($0, now: 0) } == [true, true, true, true])
        #expect(all.map { reads.isFirst($0, now: 0) } == [false, false, false, false])
    }

    @Test func `beyond the maximum number of reads in a minute, each further one is recorded`() {
        let reads = RecordedReads()
        let isFull = (0..<RecordedReads.maxReads).allSatisfy { reads.isFirst(Self.read($0), now: 0) }
        #expect(isFull)
        let further = Self.read(RecordedReads.maxReads)
        #expect([further, further].map { reads.isFirst($0, now: 0) } == [true, true])
        #expect(!reads.isFirst(Self.read(0), now: 0) && !reads.isFirst(Self.read(RecordedReads.maxReads - 1), now: 0))
        // The next minute starts empty.
        let next = RecordedReads.periodMilliseconds
        #expect([further, further].map { reads.isFirst($0, now: next) } == [true, false])
    }

    /// A gateway with a job whose rider may share a position.
    private struct Stage: Sendable {
        let gateway: RunningGateway
        let job: JobID

        var path: String { "/api/v1/jobs/\(self.job)" }

        func ask(
            _ method: String, _ path: String, by person: String, _ role: Role, _ body: String? = nil,
            headers: [String] = []
        ) async throws -> RESTResponse {
            let answer = try await self.gateway.rest(method, path, by: person, role, body, headers: headers)
            #expect((200...304).contains(answer.status), "\(answer)")
            return answer
        }

        /// Reads the job. The response must contain the position.
        func see(by person: String, _ role: Role) async throws {
            let answer = try await self.ask("GET", self.path, by: person, role)
            let position = answer.member("position", as: [String: Any].self)
            #expect(position?["lat"] is Double, "\(answer)")
        }
    }

    /// Runs the requests while a rider is connected.
    ///
    /// - Parameter shares: whether the rider has shared a position.
    /// - Returns: every entry about an access that the gateway has written before it stopped.
    private static func accesses(
        shares: Bool = true, during requests: @escaping @Sendable (Stage) async throws -> Void
    ) async throws -> [AuditStreams.StoredEntry] {
        try await withRedis { client, server in
            let address = server.address
            try await within {
                try await RunningGateway.run(isSecure: false, at: (address, address)) {
                    $0.name = "gateway-7"
                } _: { gateway in
                    let stage = Stage(gateway: gateway, job: try await gateway.travellingJob())
                    try await gateway.connect("rider-1", .rider) { rider, answers in
                        if shares {
                            try await rider.send(.travel(job: stage.job, active: true))
                            _ = try await answers.travelAnswer()
                            try await rider.report(stage.job, step: 1)
                            _ = try await answers.first {
                                if case .ok("location", _, _, _, _) = $0 { true } else { nil }
                            }
                        }
                        try await requests(stage)
                        // A stopping gateway writes the entries that it has recorded.
                        gateway.drain()
                        _ = try? await answers.first { _ in nil as Bool? }
                    }
                }
            }
            return try await AuditStreams(ledger: client, settings: LiveStateSettings())
                .read(.access, from: .since(0)).get().entries
        }
    }

    /// The number of minutes on the clock from a time until now.
    private static func minutes(since start: Date) -> Int {
        let period = Double(RecordedReads.periodMilliseconds) / 1000
        return Int(Date.now.timeIntervalSince1970 / period) - Int(start.timeIntervalSince1970 / period) + 1
    }

    @Test func `many reads of a position by one person are one entry in a minute`() async throws {
        let start = Date.now
        let entries = try await Self.accesses { stage in
            for _ in 0..<10 { try await stage.see(by: "anna", .customer) }
            let page = try await stage.ask("GET", "/track/\(stage.job)", by: "anna", .customer)
            #expect(page.text.contains(#""position":{"#), "\(page)")
        }
        #expect(!entries.isEmpty && entries.count <= Self.minutes(since: start), "\(entries)")
        let names = ["type", "job", "person", "role", "via", "position", "gateway"]
        for entry in entries.prefix(1) {
            #expect(
                names.map { entry.value($0) } == ["read", "job-1", "anna", "customer", "rest", "shown", "gateway-7"])
            #expect(Set(entry.fields.map(\.name)) == Set(names + ["at", "entry"]), "an entry contains no coordinates")
        }
    }

    @Test func `I1: every person who reads a position has an entry, whatever the role`() async throws {
        let entries = try await Self.accesses { stage in
            for _ in 0..<2 {
                try await stage.see(by: "anna", .customer)
                try await stage.see(by: "rider-1", .rider)
                try await stage.see(by: "olga", .ops)
                try await stage.see(by: "oscar", .ops)
            }
            let changed = try await stage.ask("PUT", stage.path, by: "orders", .service, #"{"kind":"service"}"#)
            #expect(changed.member("position", as: [String: Any].self) != nil, "\(changed)")
        }
        let readers = entries.map { entry in
            ["type", "person", "role"].map { entry.value($0) ?? "-" }.joined(separator: " ")
        }
        #expect(
            Set(readers) == [
                "read anna customer", "read rider-1 rider", "read olga ops", "read oscar ops", "read orders service",
            ])
    }

    @Test func `the tracking page with a token is recorded, and with a link it shows no position`() async throws {
        let entries = try await Self.accesses { stage in
            let made = try await stage.ask("POST", stage.path + "/links", by: "anna", .customer)
            let link = try #require(made.member("link", as: String.self))
            let page = try await stage.gateway.rest(
                "GET", "/track/\(stage.job)", as: nil, headers: ["Authorization: Link \(link)"])
            #expect(page.status == 200 && !page.text.contains(#""position":{"#), "\(page)")
            let own = try await stage.ask("GET", "/track/\(stage.job)", by: "anna", .customer)
            #expect(own.text.contains(#""position":{"#), "\(own)")
        }
        #expect(entries.map { $0.value("type") } == ["read"] && entries.map { $0.value("via") } == ["page"])
    }

    @Test func `answers without a position leave no entry`() async throws {
        let entries = try await Self.accesses { stage in
            let head = try await stage.ask("HEAD", stage.path, by: "anna", .customer)
            let tag = try #require(head.headers["etag"])
            let same = try await stage.ask(
                "GET", stage.path, by: "anna", .customer, headers: ["If-None-Match: \(tag)"])
            #expect(same.status == 304 && same.text.isEmpty)
            _ = try await stage.ask("HEAD", "/track/\(stage.job)", by: "anna", .customer)
            for path in [stage.path, "/track/\(stage.job)"] {
                let foreign = try await stage.gateway.rest("GET", path, by: "bert", .customer)
                #expect(foreign.status == 404, "\(foreign)")
            }
            for path in ["\(stage.path)/log", "\(stage.path)/verdicts", "/api/v1/jobs?zone=-", "/api/v1/zones/-/jobs"] {
                let answer = try await stage.ask("GET", path, by: "olga", .ops)
                #expect(!answer.text.contains("41.9"), "\(answer)")
            }
        }
        #expect(entries.isEmpty, "\(entries)")
        let unshared = try await Self.accesses(shares: false) { stage in
            for path in [stage.path, "/track/\(stage.job)"] {
                _ = try await stage.ask("GET", path, by: "anna", .customer)
            }
        }
        #expect(unshared.isEmpty, "\(unshared)")
    }

    @Test func `the activity of a zone lists who read a position`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let stage = Stage(gateway: gateway, job: try await gateway.travellingJob())
                _ = try await stage.ask(
                    "PUT", stage.path, by: "orders", .service, #"{"kind":"service","zone":"rome"}"#)
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: stage.job, active: true))
                    _ = try await answers.travelAnswer()
                    try await rider.report(stage.job, step: 1)
                    _ = try await answers.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
                    try await stage.see(by: "anna", .customer)
                }
                try await becomes("the read is listed") {
                    let answer = try await stage.ask("GET", "/api/v1/zones/rome/audit", by: "olga", .ops)
                    let accesses = answer.member("accesses", as: [[String: String]].self) ?? []
                    return accesses.contains {
                        $0["type"] == "read" && $0["job"] == stage.job.text && $0["person"] == "anna"
                            && $0["via"] == "rest"
                    }
                }
            }
        }
    }
}

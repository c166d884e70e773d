import EnrouteWire
import Foundation
import HTTPValues
import Testing

@testable import Gateway
@testable import Jobs
@testable import LiveState
@testable import REST

/// `If-Match` and `If-None-Match` of requests that write or erase a job.
@Suite struct JobConditionTests {
    private static let path = "/api/v1/jobs/job-1"
    private static let job = #"{"kind":"service","customer":"anna","rider":"rider-1","display":{"note":"first"}}"#

    private static func record(_ change: (inout JobRecord) -> Void = { _ in }) -> JobRecord {
        var record = JobRecord(
            kind: .service, customer: PersonID("anna")!, rider: nil, zone: nil, destination: nil, vendor: nil,
            status: .onTheWay, statusAt: 1_795_248_617_611, epoch: "8k2p", head: StatusID("1795248617611-42")!,
            isTravelling: false, travelDeadline: nil, fence: 1)
        record.revision = 3
        change(&record)
        return record
    }

    private static func isMet(_ record: JobRecord?, ifMatch: [String] = [], ifNoneMatch: [String] = []) -> Bool? {
        JobCondition(ifMatch: ifMatch, ifNoneMatch: ifNoneMatch).map { $0.refusal(for: record) == nil }
    }

    @Test func `If-Match is met by the state that it names`() {
        for tag in [
            "*", "\"8k2p.1795248617611-42.3-0123456789abcdef\"", "8k2p.1795248617611-42.3-0", "\"1795248617611-42\"",
            "8k2p.1795248617611-42",
        ] {
            #expect(Self.isMet(Self.record(), ifMatch: [tag]) == true, "\(tag)")
            #expect(Self.isMet(nil, ifMatch: [tag]) == false, "\(tag)")
        }
        let tag = "\"8k2p.1795248617611-42.3-0123456789abcdef\""
        #expect(Self.isMet(Self.record { $0.revision = 4 }, ifMatch: [tag]) == false)
        #expect(Self.isMet(Self.record { $0.head = StatusID("1795248617611-43")! }, ifMatch: [tag]) == false)
        #expect(Self.isMet(Self.record { $0.epoch = "other" }, ifMatch: [tag]) == false)
        for other in [
            "\"x\"", "W/\(tag)", "\"8k2p.1795248617611-42.0123456789abcdef\"", "\"8k2p.1795248617611-42.x-0\"",
        ] {
            #expect(Self.isMet(Self.record(), ifMatch: [other]) == false, "\(other)")
        }
        #expect(
            Self.isMet(Self.record(), ifMatch: [tag, tag]) == nil && Self.isMet(Self.record(), ifMatch: [""]) == nil)
    }

    @Test func `a tag that no job can have is refused as such, and one of another state as a change`() throws {
        for tag in ["W/\"8k2p.1795248617611-42.3-0\"", "\"\"", "\"x\"", "\"8k2p.1795248617611-42.x-0\""] {
            let refusal = try #require(JobCondition(ifMatch: [tag], ifNoneMatch: [])?.refusal(for: Self.record()))
            #expect(refusal.code == .preconditionFailed && refusal.head == Self.record().head)
            #expect(refusal.message.hasPrefix("If-Match is not the ETag of any job."), "\(tag)")
        }
        let other = try #require(JobCondition(ifMatch: ["\"1-1\""], ifNoneMatch: [])?.refusal(for: Self.record()))
        #expect(other.message.hasPrefix("The job has changed"))
    }

    @Test func `If-None-Match is met unless it names the state or any`() {
        let tag = "\"8k2p.1795248617611-42.3-0\""
        for header in ["*", tag, "W/\(tag)", "\"x\", \(tag)"] {
            #expect(Self.isMet(Self.record(), ifNoneMatch: [header]) == false, "\(header)")
            #expect(Self.isMet(nil, ifNoneMatch: [header]) == true, "\(header)")
        }
        #expect(Self.isMet(Self.record { $0.revision = 4 }, ifNoneMatch: [tag]) == true)
        for header in ["", "\"x\"", "x y, \"a"] {
            #expect(Self.isMet(Self.record(), ifNoneMatch: [header]) == true, "\(header)")
        }
    }

    @Test func `of two concurrent assignments with the same If-Match, one is made and the other is answered with 412`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.requestsPerPersonBurst = 1_000_000 }) { gateway in
                let made = try await gateway.rest("PUT", Self.path, by: "orders", .service, Self.job)
                #expect(made.status == 201, "\(made.text)")
                for round in 0..<30 {
                    let tag = try #require(
                        try await gateway.rest("GET", Self.path, by: "orders", .service).headers["etag"])
                    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                        for customer in ["anna-\(round)", "bert-\(round)"] {
                            group.addTask {
                                try await gateway.rest(
                                    "PUT", "\(Self.path)/assignment", by: "orders", .service,
                                    #"{"customer":"\#(customer)"}"#, headers: ["If-Match: \(tag)"]
                                ).status
                            }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    #expect(statuses.sorted() == [200, 412], "round \(round)")
                }
            }
        }
    }

    @Test func `a stale If-Match changes and erases nothing, and the current one does`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                @Sendable func ask(_ method: String, _ path: String, _ body: String? = nil, _ header: String)
                    async throws
                    -> RESTResponse
                {
                    try await gateway.rest(method, path, by: "orders", .service, body, headers: [header])
                }
                let made = try await ask("PUT", Self.path, Self.job, "If-None-Match: *")
                #expect(made.status == 201)
                let stale = "If-Match: \(try #require(made.headers["etag"]))"
                let second = #"{"kind":"service","display":{"note":"second"}}"#
                let changed = try await ask("PUT", Self.path, second, stale)
                #expect(changed.status == 200)
                let current = "If-Match: \(try #require(changed.headers["etag"]))"
                let third = #"{"kind":"service","display":{"note":"third"}}"#
                for answer in [
                    try await ask("PUT", Self.path, third, stale),
                    try await ask("PUT", Self.path, third, "If-None-Match: *"),
                    try await ask("PUT", "\(Self.path)/assignment", #"{"customer":"bert"}"#, stale),
                    try await ask("DELETE", "\(Self.path)/assignment", nil, "If-Match: \"nonsense\""),
                    try await ask("DELETE", Self.path, nil, stale),
                ] {
                    #expect(answer.status == 412 && answer.member("code") == "precondition_failed", "\(answer.text)")
                    #expect(answer.member("jobStatus") == "assigned")
                }
                let missing = try await ask("PUT", "/api/v1/jobs/job-2", Self.job, "If-Match: *")
                #expect(missing.status == 412, "\(missing.text)")
                #expect(try await ask("DELETE", "/api/v1/jobs/job-2", nil, "If-Match: *").status == 404)
                #expect(try await ask("DELETE", Self.path, nil, "If-Match: \"a\", \"b\"").status == 400)
                let read = try await gateway.rest("GET", Self.path, by: "orders", .service)
                #expect(read.text == changed.text)
                let assigned = try await ask("PUT", "\(Self.path)/assignment", #"{"customer":"bert"}"#, current)
                #expect(assigned.status == 200)
                #expect(try await ask("DELETE", Self.path, nil, current).status == 412)
                #expect(try await ask("DELETE", Self.path, nil, "If-Match: *").status == 204)
            }
        }
    }

    @Test func `a note and travel mode are changed only in the state that If-Match names`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let made = try await gateway.rest("PUT", Self.path, by: "orders", .service, Self.job)
                let stale = "If-Match: \(try #require(made.headers["etag"]))"
                let note = "\(Self.path)/note"
                let first = try await gateway.rest(
                    "PUT", note, by: "anna", .customer, #"{"note":"first"}"#, headers: [stale])
                #expect(first.status == 200, "\(first.text)")
                let second = try await gateway.rest(
                    "PUT", note, by: "anna", .customer, #"{"note":"second"}"#, headers: [stale])
                #expect(second.status == 412 && second.member("jobStatus") == "assigned", "\(second.text)")
                // A person who may not see the job learns nothing about its state.
                let other = try await gateway.rest(
                    "PUT", note, by: "bert", .customer, #"{"note":"second"}"#, headers: [stale])
                #expect(other.status == 404, "\(other.text)")
                let read = try await gateway.rest("GET", Self.path, by: "orders", .service)
                #expect(read.text.contains(#""customerNote":"first""#), "\(read.text)")

                let way = try await gateway.rest(
                    "POST", "\(Self.path)/status", by: "orders", .service, #"{"status":"on_the_way"}"#)
                #expect(way.status == 200, "\(way.text)")
                let travel = "\(Self.path)/travel"
                let current = try await gateway.rest("GET", Self.path, by: "rider-1", .rider)
                let tag = "If-Match: \(try #require(current.headers["etag"]))"
                for method in ["PUT", "DELETE"] {
                    let late = try await gateway.rest(method, travel, by: "rider-1", .rider, headers: [stale])
                    #expect(late.status == 412, "\(method) \(late.text)")
                }
                let started = try await gateway.rest("PUT", travel, by: "rider-1", .rider, headers: [tag])
                #expect(started.status == 200, "\(started.text)")
                let stopped = try await gateway.rest("DELETE", travel, by: "rider-1", .rider, headers: ["If-Match: *"])
                #expect(stopped.status == 200, "\(stopped.text)")
            }
        }
    }

    @Test func `of several requests that only create a job, one succeeds`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            try await gateway.rest(
                                "PUT", Self.path, by: "orders", .service, Self.job, headers: ["If-None-Match: *"]
                            ).status
                        }
                    }
                    return try await group.reduce(into: [Int]()) { $0.append($1) }
                }
                #expect(statuses.sorted() == [201] + Array(repeating: 412, count: 7))
            }
        }
    }
}

import Access
import EnrouteWire
import Foundation
import LiveState
import Testing

@testable import Gateway

/// Changing a status by REST, over a real socket.
@Suite struct StatusRoutesTests {
    private static let path = "/api/v1/jobs/job-1/status"

    @Test func `a change with If-Match is applied to the state that was read, and refused for an older one`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                _ = try await gateway.travellingJob()
                let service = try await gateway.token("orders", .service)
                let read = try await gateway.rest("GET", "/api/v1/jobs/job-1", as: service)
                let tag = try #require(read.headers["etag"])
                let arrive = #"{"status":"work_in_progress"}"#
                let wrong = try await gateway.rest(
                    "POST", Self.path, as: service, arrive, headers: ["If-Match: \"another.1-1.0\""])
                #expect(wrong.status == 412 && wrong.member("code") == "precondition_failed")
                #expect(wrong.member("jobStatus") == "on_the_way" && wrong.member("retryable") == false)
                let head: String = try #require(wrong.member("jobStatusId"))
                #expect(tag.hasPrefix("\"epoch-job-1.\(head)."))

                let first = try await gateway.rest(
                    "POST", Self.path, as: service, arrive, headers: ["If-Match: \(tag)", "Idempotency-Key: r-1"])
                #expect(first.status == 200)
                // A client that received no response repeats the request with the same precondition.
                let again = try await gateway.rest(
                    "POST", Self.path, as: service, arrive, headers: ["If-Match: \(tag)", "Idempotency-Key: r-1"])
                #expect(again.status == 200 && again.text == first.text)
                let late = try await gateway.rest(
                    "POST", Self.path, as: service, #"{"status":"cancelled"}"#, headers: ["If-Match: \"\(head)\""])
                #expect(late.status == 412 && late.member("jobStatus") == "work_in_progress")
                let newest: String = try #require(late.member("jobStatusId"))
                #expect(first.member("id") == newest)
                let last = try await gateway.rest(
                    "POST", Self.path, as: service, #"{"status":"completed"}"#, headers: ["If-Match: \"\(newest)\""])
                #expect(last.status == 200)
                let several = try await gateway.rest(
                    "POST", Self.path, as: service, arrive, headers: ["If-Match: \"a\"", "If-Match: \"b\""])
                #expect(several.status == 400 && several.text.contains("If-Match must be one"))
            }
        }
    }

    @Test(arguments: ["status", "corrections"])
    func `a weak or empty tag is refused with advice that leads on, and not as a change of the job`(route: String)
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                _ = try await gateway.travellingJob()
                let read = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "orders", .service)
                let tag = try #require(read.headers["etag"])
                @Sendable func change(_ tag: String) async throws -> RESTResponse {
                    try await gateway.rest(
                        "POST", "/api/v1/jobs/job-1/\(route)", by: "orders", .service,
                        #"{"status":"work_in_progress","reason":"It was set by mistake."}"#,
                        headers: ["If-Match: \(tag)"])
                }
                for never in ["W/\(tag)", "\"\""] {
                    let refused = try await change(never)
                    #expect(refused.status == 412 && refused.member("jobStatus") == "on_the_way", "\(refused)")
                    #expect(refused.text.contains("If-Match is not the ETag of any job."), "\(refused)")
                }
                #expect(try await change(tag).status == 200)
            }
        }
    }

    @Test func `a refused change names the statuses that may follow, or the roles that may make it`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                _ = try await gateway.travellingJob()
                @Sendable func detail(_ status: String, by person: String, _ role: Role) async throws -> String {
                    let refused = try await gateway.rest(
                        "POST", Self.path, by: person, role, #"{"status":"\#(status)"}"#)
                    #expect(refused.status == 409 && refused.member("jobStatus", as: String.self) != nil, "\(refused)")
                    return try #require(refused.member("detail"))
                }
                #expect(
                    try await detail("completed", by: "orders", .service)
                        == "The job is on_the_way and cannot become completed. It can become work_in_progress, cancelled."
                )
                #expect(
                    try await detail("cancelled", by: "anna", .customer)
                        == "The job is on_the_way and cannot become cancelled by the role customer, which may set it from "
                        + "assigned. Now these roles may: ops, service.")
                let cancelled = try await gateway.rest(
                    "POST", Self.path, by: "orders", .service, #"{"status":"cancelled"}"#)
                #expect(cancelled.status == 200, "\(cancelled)")
                #expect(
                    try await detail("on_the_way", by: "orders", .service)
                        == "The job is cancelled and cannot become on_the_way: cancelled is final.")
            }
        }
    }

    @Test(arguments: ["", "a b", "ä", String(repeating: "k", count: 129)])
    func `an invalid idempotency key is refused, and nothing is changed`(key: String) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let head = try await gateway.ledger.head(job).get()
                let answer = try await gateway.rest(
                    "POST", Self.path, by: "orders", .service, #"{"status":"completed"}"#,
                    headers: ["Idempotency-Key: \(key)"])
                #expect(answer.status == 400 && answer.text.contains("1 to 128 printable"), "\(answer)")
                let now = try await gateway.ledger.head(job).get()
                #expect(now == head)
            }
        }
    }

    @Test func `an earlier time of a change is stored, given as a number or as RFC 3339`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                _ = try await gateway.travellingJob()
                let service = try await gateway.token("orders", .service)
                for (status, at) in [
                    ("work_in_progress", "1709164800250"), ("completed", #""2024-02-29T01:00:00.25+01:00""#),
                ] {
                    let answer = try await gateway.rest(
                        "POST", Self.path, as: service, #"{"status":"\#(status)","occurredAt":\#(at)}"#)
                    #expect(answer.status == 200 && answer.text.contains(#""at":1709164800250}"#), "\(answer)")
                }
            }
        }
    }

    @Test func `malformed JSON is 400, invalid values are 422, and neither changes anything`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let head = try await gateway.ledger.head(job).get()
                let service = try await gateway.token("orders", .service)
                let future = Int64(Date.now.timeIntervalSince1970 * 1000) + 600_000
                for (body, status, reason) in [
                    ("", 400, "The request has no body. It needs a JSON object."),
                    ("{", 400, "The body is not valid JSON."), ("hello", 400, "The body is not valid JSON."),
                    (#"{"status":}"#, 400, "The body is not valid JSON."),
                    (#"{"status":"completed"}}"#, 400, "The body is not valid JSON."),
                    ("[]", 422, "JSON object"), ("7", 422, "JSON object"), ("{}", 422, "must contain status"),
                    (#"{"status":7}"#, 422, "status has the wrong type"), (#"{"status":null}"#, 422, "status"),
                    (#"{"status":"flying"}"#, 422, "status must be one of"),
                    (#"{"status":"completed","occurredAt":"yesterday"}"#, 422, "occurredAt must be a time"),
                    (#"{"status":"completed","occurredAt":12}"#, 422, "occurredAt must be a time"),
                    (#"{"status":"completed","occurredAt":1795283100250.5}"#, 422, "occurredAt must be a time"),
                    (#"{"status":"completed","occurredAt":true}"#, 422, "occurredAt must be a time"),
                    (#"{"status":"completed","occurredAt":\#(future)}"#, 422, "in the future"),
                ] {
                    let answer = try await gateway.rest("POST", Self.path, as: service, body)
                    #expect(answer.status == status && answer.text.contains(reason), "\(body): \(answer)")
                    #expect(answer.headers["content-type"] == "application/problem+json")
                    #expect(answer.member("code") == (status == 400 ? "bad_request" : "unprocessable"))
                }
                let now = try await gateway.ledger.head(job).get()
                #expect(now == head)
            }
        }
    }
}

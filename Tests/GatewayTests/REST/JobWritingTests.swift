import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Testing

@testable import Gateway
@testable import Realtime

/// An order system that sends its current data repeatedly.
@Suite struct JobWritingTests {
    private static let path = "/api/v1/jobs/job-1"
    private static let job =
        #"{"kind":"service","customer":"anna","rider":"rider-1","destination":{"lat":41.9,"lon":12.5}}"#

    private static func put(
        _ gateway: RunningGateway, _ body: String, _ path: String = path, headers: [String] = []
    ) async throws -> RESTResponse {
        try await gateway.rest("PUT", path, by: "orders", .service, body, headers: headers)
    }

    @Test func `PUT creates a job and then updates it, and absent members stay unchanged`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let made = try await Self.put(gateway, Self.job)
                #expect(made.status == 201 && made.member("status") == "assigned")
                let again = try await Self.put(gateway, Self.job)
                #expect(again.status == 200 && again.text == made.text && again.headers["etag"] == made.headers["etag"])
                let moved = try await Self.put(
                    gateway,
                    #"{"kind":"service","zone":"rome","destination":{"lat":41.8,"lon":12.4},"rider":"rider-2"}"#,
                    headers: ["If-Match: \(try #require(made.headers["etag"]))"])
                #expect(moved.status == 200 && moved.text.contains(#""destination":{"lat":41.8,"lon":12.4}"#))
                let record = try #require(try await gateway.ledger.recover(JobID("job-1")!).get()).record
                #expect(record.customer == PersonID("anna") && record.rider == PersonID("rider-2"))
                #expect(record.zone == ZoneID("rome") && record.fence == 1)
                // Rider and status are unchanged.
                let zone = try await Self.put(gateway, #"{"kind":"service","zone":"milan"}"#)
                #expect(zone.status == 200 && zone.headers["etag"] != moved.headers["etag"])
                let last = try #require(try await gateway.ledger.recover(JobID("job-1")!).get()).record
                #expect(last.rider == PersonID("rider-2") && last.head == record.head)
            }
        }
    }

    @Test(arguments: [
        (#"{"kind":"service","customer":"anna",}"#, "The body is not valid JSON."),
        (#"{"kind":"service","customer":"anna","customer":"bert"}"#, "duplicate members"),
        (#"{"kind":"service","customer":"anna","custom\u0065r":"bert"}"#, "duplicate members"),
        ("\u{FEFF}" + #"{"kind":"service","customer":"anna"}"#, "without a byte order mark"),
    ])
    func `malformed JSON is refused, and nothing is written`(body: String, reason: String) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let answer = try await Self.put(gateway, body)
                #expect(answer.status == 400 && answer.text.contains(reason), "\(answer.text)")
                #expect(try await gateway.client.send(["KEYS", "job:*"]).get() == .array([]))
            }
        }
    }

    @Test func `followers receive a new destination immediately`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                _ = try await Self.put(gateway, Self.job)
                try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: JobID("job-1")!, since: nil))
                    _ = try await messages.subscribed()
                    _ = try await Self.put(gateway, #"{"kind":"service","destination":{"lat":41.8,"lon":12.4}}"#)
                    let shown: Coordinate? = try await messages.first { message in
                        if case .reset(_, let snapshot) = message { .some(snapshot.destination) } else { nil }
                    }
                    #expect(shown == Coordinate(latitude: 41.8, longitude: 12.4))
                }
            }
        }
    }

    @Test func `invalid values are refused with the reason, and a job that has ended does not change`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let without = try await Self.put(gateway, #"{"kind":"service"}"#)
                #expect(without.status == 422 && without.text.contains("must contain customer"))
                let none = try await gateway.client.send(["KEYS", "job:*"]).get()
                #expect(none == .array([]))
                _ = try await Self.put(gateway, Self.job)
                let other = try await Self.put(gateway, #"{"kind":"delivery","customer":"anna"}"#)
                #expect(other.status == 422 && other.text.contains("has the kind service"))
                let cancelled = try await gateway.rest(
                    "POST", Self.path + "/status", by: "orders", .service, #"{"status":"cancelled"}"#)
                #expect(cancelled.status == 200)
                let again = try await Self.put(gateway, Self.job)
                #expect(again.status == 200)
                let late = try await Self.put(gateway, #"{"kind":"service","zone":"rome"}"#)
                #expect(late.status == 409 && late.member("jobStatus") == "cancelled")
            }
        }
    }

    @Test func `of twenty concurrent requests to create a job one succeeds, and the others get a conflict`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let token = try await gateway.token("orders", .service)
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<20 {
                        group.addTask { try await gateway.rest("PUT", Self.path, as: token, Self.job).status }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.sorted() == Array(repeating: 200, count: 19) + [201])
            }
        }
    }
}

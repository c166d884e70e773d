import Access
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Testing

@testable import Gateway
@testable import Realtime

/// Reading a job and its log by REST, over a real socket.
@Suite struct JobReadingTests {
    @Test func `readers of a job can read its log, and only ops and services see the actors`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let service = try await gateway.token("orders", .service)
                let path = "/api/v1/jobs/\(job)/log"
                for (person, role) in [
                    ("orders", Role.service), ("olga", .ops), ("anna", .customer), ("rider-1", .rider),
                ] {
                    let answer = try await JobRoutesTests.ask(
                        gateway, "GET", path, as: try await gateway.token(person, role))
                    #expect(answer.status == 200)
                    #expect(answer.text.hasPrefix(#"{"job":"job-1","epoch":"epoch-job-1","events":[{"id":""#))
                    #expect(answer.text.contains(#""status":"assigned""#) && answer.text.contains(#""source":"event""#))
                    let tellsActor = role == .service || role == .ops
                    #expect(answer.text.contains(#""actor":"service""#) == tellsActor, "\(role): \(answer.text)")
                }
                for (person, role) in [("bert", Role.customer), ("rider-2", .rider)] {
                    let answer = try await JobRoutesTests.ask(
                        gateway, "GET", path, as: try await gateway.token(person, role))
                    #expect(answer.status == 404, "\(role)")
                }
                let absent = try await JobRoutesTests.ask(gateway, "GET", "/api/v1/jobs/none/log", as: service)
                #expect(absent.status == 404)
            }
        }
    }

    @Test func `an unchanged job is answered with 304 until it changes`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let path = "/api/v1/jobs/\(try await gateway.travellingJob())"
                let anna = try await gateway.token("anna", .customer)
                let first = try await gateway.rest("GET", path, as: anna)
                let tag = try #require(first.headers["etag"])
                #expect(
                    first.status == 200 && tag.hasPrefix("\"epoch-job-1.")
                        && first.headers["cache-control"] == "no-store")
                let head = try await gateway.rest("HEAD", path, as: anna)
                #expect(head.status == 200 && head.headers["etag"] == tag && head.text.isEmpty)
                let same = try await gateway.rest(
                    "GET", path, as: anna, headers: ["If-None-Match: \"x\"", "If-None-Match: \(tag)"])
                #expect(same.status == 304 && same.text.isEmpty && same.headers["etag"] == tag)
                #expect(same.headers["content-length"] == nil && same.headers["transfer-encoding"] == nil)
                // Another gateway would respond the same, and another user's job stays hidden.
                let service = try await gateway.rest(
                    "GET", path, by: "orders", .service, headers: ["If-None-Match: \(tag)"])
                #expect(service.status == 304)
                let bert = try await gateway.rest("GET", path, by: "bert", .customer, headers: ["If-None-Match: *"])
                #expect(bert.status == 404)

                var tags = [tag]
                func changes(_ what: Comment) async throws {
                    let answer = try await gateway.rest(
                        "GET", path, as: anna, headers: ["If-None-Match: \(tags[tags.count - 1])"])
                    #expect(answer.status == 200 && !answer.text.isEmpty, what)
                    tags.append(try #require(answer.headers["etag"]))
                }
                let travel = try await gateway.rest("PUT", path + "/travel", by: "rider-1", .rider)
                #expect(travel.status == 200)
                try await changes("travel mode")
                let now = Int64(Date.now.timeIntervalSince1970 * 1000)
                let publisher = LocationPublisher(live: gateway.client, settings: gateway.settings.liveState)
                let fix = Fix(at: now, place: Coordinate(latitude: 41.9, longitude: 12.5)!)
                _ = try await publisher.publish(
                    fix, for: JobID("job-1")!, by: PersonID("rider-1")!, receivedAt: now
                ).get()
                try await changes("a position")
                let assigned = try await gateway.rest(
                    "PUT", path + "/assignment", by: "orders", .service, #"{"rider":"rider-2","insteadOf":"rider-1"}"#)
                #expect(assigned.status == 200)
                try await changes("another rider")
                let status = try await gateway.rest(
                    "POST", path + "/status", by: "orders", .service, #"{"status":"cancelled"}"#)
                #expect(status.status == 200)
                try await changes("a status")
                #expect(Set(tags).count == 5)
            }
        }
    }

    @Test func `a snapshot and GET return the same members of a job`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let subscribed = try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: job, since: nil))
                    return try await messages.subscribed()
                }
                let read = try await gateway.rest("GET", "/api/v1/jobs/\(job)", by: "anna", .customer)
                #expect(read.text == String(decoding: subscribed.json(job: job), as: UTF8.self))
            }
        }
    }
}

import Access
import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// An order system that creates and updates jobs while the live instance is down. Jobs are stored in the ledger, so a
/// change there gets no error.
@Suite(.needsMachine(for: .faults)) struct LiveOutageWritingTests {
    private static func running(
        _ body: @escaping @Sendable (RunningGateway, RestartableRedis) async throws -> Void
    ) async throws {
        try await within {
            try await RestartableRedis.running { live in
                let liveAddress = try live.address
                try await withServer { ledger in
                    try await RunningGateway.run(isSecure: false, at: (liveAddress, ledger.address)) { gateway in
                        try await body(gateway, live)
                    }
                }
            }
        }
    }

    private static func send(
        _ method: String, _ path: String, _ body: String? = nil, key: String? = nil, to gateway: RunningGateway
    ) async throws -> RESTResponse {
        try await gateway.rest(
            method, "/api/v1/\(path)", by: "orders", .service, body,
            headers: key.map { ["Idempotency-Key: \($0)"] } ?? [])
    }

    private static func post(
        _ job: String, key: String? = nil, to gateway: RunningGateway
    ) async throws -> RESTResponse {
        try await Self.send(
            "POST", "jobs", #"{"job":"\#(job)","kind":"delivery","customer":"anna"}"#, key: key, to: gateway)
    }

    @Test func `a job that was created while the live instance is down is answered with 201`() async throws {
        try await Self.running { gateway, live in
            await live.crash()
            let created = try await Self.post("j-1", to: gateway)
            #expect(created.status == 201 && created.headers["etag"] != nil, "\(created)")
            #expect(
                created.member("status") == "pending_vendor_acceptance" && created.member("tracking") == "waiting",
                "\(created)")
            let again = try await Self.post("j-1", to: gateway)
            #expect(again.status == 409 && again.text.contains("already exists"), "\(again)")
            // The rider's location is unknown, so reading is still refused.
            let read = try await Self.send("GET", "jobs/j-1", to: gateway)
            #expect(read.status == 503 && read.headers["retry-after"] != nil, "\(read)")

            try await live.start(.empty)
            try await becomes("the job can be read") {
                let read = try await Self.send("GET", "jobs/j-1", to: gateway)
                return read.status == 200 && read.text == created.text
                    && read.headers["etag"] == created.headers["etag"]
            }
        }
    }

    @Test func `a repeated request gets the stored response, also while the live instance is down`() async throws {
        try await Self.running { gateway, live in
            await live.crash()
            let first = try await Self.post("j-1", key: "key-1", to: gateway)
            #expect(first.status == 201, "\(first)")
            for _ in 0..<2 {
                let again = try await Self.post("j-1", key: "key-1", to: gateway)
                #expect(again.status == 201 && again.text == first.text, "\(again)")
            }
        }
    }

    @Test func `PUT creates and updates jobs while the live instance is down`() async throws {
        try await Self.running { gateway, live in
            _ = try await gateway.travellingJob("j-1")
            await live.crash()
            let body = #"{"kind":"service","customer":"anna"}"#
            let created = try await Self.send("PUT", "jobs/j-2", body, to: gateway)
            #expect(created.status == 201, "\(created)")
            let repeated = try await Self.send("PUT", "jobs/j-2", body, to: gateway)
            #expect(repeated.status == 200 && repeated.text == created.text, "\(repeated)")
            let change = #"{"kind":"service","metadata":{"floor":"2"}}"#
            for key in [nil, "key-1", "key-1"] {
                let updated = try await Self.send("PUT", "jobs/j-1", change, key: key, to: gateway)
                #expect(updated.status == 200 && updated.text.contains(#""floor":"2""#), "\(updated)")
                #expect(
                    updated.member("tracking") == "waiting" && updated.text.contains(#""position":null"#), "\(updated)")
            }
        }
    }

    @Test func `a change that has to stop positions first is refused while the live instance is down`() async throws {
        try await Self.running { gateway, live in
            let job = try await gateway.travellingJob("j-1")
            let read = try await Self.send("GET", "jobs/j-1", to: gateway)
            let tag = try #require(read.headers["etag"])
            await live.crash()
            let handed = try await gateway.rest(
                "PUT", "/api/v1/jobs/j-1", by: "orders", .service, #"{"kind":"service","rider":"rider-2"}"#,
                headers: ["If-Match: \(tag)"])
            #expect(handed.status == 503 && handed.headers["retry-after"] != nil, "\(handed)")
            let record = try #require(try await gateway.ledger.recover(job).get()).record
            #expect(record.rider == PersonID("rider-1"))
        }
    }
}

import EnrouteWire
import Testing

@testable import Gateway

/// The errors about a body that cannot be used.
@Suite struct RequestBodyTests {
    private static let path = "/api/v1/jobs"
    private static let job = #"{"job":"job-1","kind":"service","customer":"anna"}"#

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within { try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }, body) }
    }

    @Test func `a body with a content coding is refused, and the same key then works without one`() async throws {
        try await Self.run { gateway in
            let key = "Idempotency-Key: r-1"
            for coding in ["gzip", "deflate", "br", "GZIP", "identity, gzip"] {
                for headers in [[], [key]] {
                    let answer = try await gateway.rest(
                        "POST", Self.path, by: "orders", .service, Self.job,
                        headers: headers + ["Content-Encoding: \(coding)"])
                    #expect(answer.status == 415 && answer.member("code") == "unsupported_media_type", "\(answer)")
                    #expect(answer.headers["accept-encoding"] == "identity" && answer.text.contains("uncompressed"))
                }
            }
            #expect(try await gateway.rest("GET", "\(Self.path)/job-1", by: "orders", .service).status == 404)
            let made = try await gateway.rest(
                "POST", Self.path, by: "orders", .service, Self.job, headers: [key, "Content-Encoding: Identity"])
            #expect(made.status == 201, "\(made)")
        }
    }

    @Test func `locations and events with a content coding are refused too`() async throws {
        try await Self.run { gateway in
            let job = try await gateway.travellingJob()
            let coding = "Content-Encoding: gzip"
            for answer in [
                try await gateway.rest(
                    "POST", "/api/v1/jobs/\(job)/locations", by: "rider-1", .rider, "{}", headers: [coding]),
                try await gateway.rest(
                    "POST", "/api/v1/events", by: "orders", .service, "{}",
                    headers: [coding, "Content-Type: application/cloudevents+json"]),
            ] {
                #expect(answer.status == 415 && answer.headers["accept-encoding"] == "identity", "\(answer)")
            }
        }
    }

    @Test func `a text that was cut inside a character is refused with the reason`() async throws {
        try await Self.run { gateway in
            for recipient in [#"{"name":"Ana \ud83d"}"#, #"{"name":"\ude00 Ana"}"#] {
                let body = #"{"job":"j","kind":"service","customer":"c","recipient":\#(recipient)}"#
                let answer = try await gateway.rest("POST", Self.path, by: "orders", .service, body)
                #expect(answer.status == 400 && answer.text.contains("half of a surrogate pair"), "\(answer)")
            }
        }
    }

    @Test(arguments: [
        (#""destination":{"lat":41.9}"#, "The body must contain destination.lon."),
        (#""destination":{"lat":41.9,"lon":null}"#, "destination.lon has the wrong type."),
        (#""display":{"items":[7]}"#, "display.items[0] has the wrong type."),
        (#""display":{"items":["a",null]}"#, "display.items[1] has the wrong type."),
        (#""metadata":{"7":7}"#, "metadata.7 has the wrong type."),
        (#""vendor":{"name":"a\u2028b"}"#, "vendor.name must be 1 to 100 printable characters, not only spaces."),
    ])
    func `the member that is missing or wrong is named with its path`(member: String, detail: String) async throws {
        try await Self.run { gateway in
            let body = #"{"job":"j","kind":"delivery","customer":"c",\#(member)}"#
            let answer = try await gateway.rest("POST", Self.path, by: "orders", .service, body)
            #expect(answer.status == 422 && answer.member("detail") == detail, "\(answer)")
        }
    }

    @Test func `the types of a webhook are named with their index`() async throws {
        try await Self.run { gateway in
            let answer = try await gateway.rest(
                "POST", "/api/v1/webhooks", by: "orders", .service, #"{"url":"https://shop.example/","types":[7]}"#)
            #expect(answer.status == 422 && answer.member("detail") == "types[0] has the wrong type.", "\(answer)")
        }
    }

    @Test func `the reason for which a rider is set offline is one line of visible text`() async throws {
        try await Self.run { gateway in
            for reason in ["a\\nb", "\\u202egnorw", "\\u0085", "   ", String(repeating: "a", count: 201)] {
                let answer = try await gateway.rest(
                    "PATCH", "/api/v1/riders/rider-1/status", by: "olga", .ops,
                    #"{"status":"offline","reason":"\#(reason)"}"#)
                #expect(answer.status == 422 && answer.text.contains("reason must be one line"), "\(answer)")
            }
        }
    }
}

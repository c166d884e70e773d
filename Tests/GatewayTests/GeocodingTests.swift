import EnrouteWire
import Foundation
import Routing
import TestSupport
import Testing

@testable import Gateway

/// Jobs that are written with an address, and a geocoder as Mapbox documents it.
@Suite struct GeocodingTests {
    private static let known = "Café Größe 1&2, Wien"

    private static func run(
        _ server: ProviderServer, daily: Int? = nil, _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        let service = try MapboxGeocoding(key: ProviderKey(Documented.keyText)!, url: server.url)
        try await within {
            try await RunningGateway.run(
                isSecure: false, { $0.arrivals.geocoding = (service: service, dailyBudget: daily) }, body)
        }
    }

    private static func write(
        _ gateway: RunningGateway, _ job: String, _ members: String
    ) async throws -> RESTAnswer {
        try await gateway.rest(
            "PUT", "/api/v1/jobs/\(job)", by: "orders", .service,
            #"{"kind":"service","customer":"anna",\#(members)}"#)
    }

    private static func geocoding(_ answer: RESTAnswer) throws -> String? {
        try JSONValue(json: Array(answer.text.utf8))["geocoding"]?.text
    }

    @Test func `an address is looked up once, for good, and its place is the job's destination`() async throws {
        try await ProviderServer.running(Documented.mapbox) { server in
            try await Self.run(server) { gateway in
                for status in [201, 200] {
                    let answer = try await Self.write(gateway, "job-1", #""address":"\#(Self.known)""#)
                    #expect(answer.status == status, "\(answer)")
                    #expect(try Self.geocoding(answer) == "ok")
                    #expect(answer.text.contains(#""destination":{"lat":48.2351,"lon":16.4138}"#))
                    #expect(!answer.text.contains("Wien"))
                }
                #expect(server.questions.count == 1)
                #expect(server.questions.first?.uri.contains("permanent=true") == true)
                // A place that is given takes the address' place.
                let moved = try await Self.write(gateway, "job-1", #""destination":{"lat":48.2,"lon":16.4}"#)
                #expect(try Self.geocoding(moved) == nil && moved.text.contains(#"{"lat":48.2,"lon":16.4}"#))
                let given = try await Self.write(
                    gateway, "job-2", #""address":"\#(Self.known)","destination":{"lat":48.2,"lon":16.4}"#)
                #expect(try Self.geocoding(given) == nil && server.questions.count == 1)
            }
        }
    }

    @Test func `the vendor that an event tells of is found by its address, and kept as it is written`() async throws {
        try await ProviderServer.running(Documented.mapbox) { server in
            try await Self.run(server) { gateway in
                let vendor = #"{"name":"Da Gino","address":"\#(Self.known)"}"#
                for _ in 0..<2 {
                    let told = try await gateway.rest(
                        "POST", "/api/v1/events", by: "orders", .service,
                        EventRoutesTests.event(
                            "e-1", "created",
                            #"{"job":"job-1","kind":"delivery","customer":"anna","rider":"rider-1","vendor":\#(vendor)}"#
                        ),
                        headers: ["Content-Type: application/cloudevents+json"])
                    #expect(told.member("outcome") == "applied", "\(told)")
                }
                let job = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "rider-1", .rider)
                #expect(job.member("vendor") == "Da Gino" && job.member("vendorAddress") == Self.known)
                let way = try await gateway.rest(
                    "GET", "/api/v1/jobs/job-1/navigation?to=vendor", by: "rider-1", .rider)
                #expect(way.member("lat") == "48.235100" && way.member("lon") == "16.413800", "\(way)")
                #expect(server.questions.count == 1)
            }
        }
    }

    @Test func `a job that an event tells of is found by its address, once`() async throws {
        try await ProviderServer.running(Documented.mapbox) { server in
            try await Self.run(server) { gateway in
                func tell(_ id: String, _ members: String) async throws -> RESTAnswer {
                    try await gateway.rest(
                        "POST", "/api/v1/events", by: "orders", .service,
                        EventRoutesTests.event(
                            id, "created", #"{"job":"job-1","kind":"service","customer":"anna",\#(members)}"#),
                        headers: ["Content-Type: application/cloudevents+json"])
                }
                let bad = try await tell("e-1", #""address":"  ""#)
                #expect(bad.status == 422 && bad.text.contains("address must be 1 to 256 characters"), "\(bad)")
                for _ in 0..<2 {
                    let told = try await tell("e-2", #""address":"\#(Self.known)""#)
                    #expect(told.member("outcome") == "applied", "\(told)")
                }
                let other = try await tell("e-3", #""address":"Nowhere 1""#)
                #expect(other.member("outcome") == "superseded", "\(other)")
                let job = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                #expect(try Self.geocoding(job) == "ok")
                #expect(job.text.contains(#""destination":{"lat":48.2351,"lon":16.4138}"#), "\(job)")
                #expect(server.questions.count == 1)
            }
        }
    }

    @Test func `what is not found, or not for sure, is no destination, and says so`() async throws {
        try await ProviderServer.running(Documented.mapbox) { server in
            try await Self.run(server) { gateway in
                let unknown = try await Self.write(gateway, "job-1", #""address":"Nowhere 1""#)
                #expect(try Self.geocoding(unknown) == "none" && !unknown.text.contains("destination"))
                server.behave { question in
                    guard case .json(let json, _, _) = Documented.mapbox(question) else { return .hangUp }
                    return .json(json.replacing(#""confidence":"high""#, with: #""confidence":"low""#))
                }
                let unsure = try await Self.write(gateway, "job-2", #""address":"\#(Self.known)""#)
                #expect(try Self.geocoding(unsure) == "low" && !unsure.text.contains("destination"))
                server.behave { _ in .json("", status: 500) }
                let failed = try await Self.write(gateway, "job-3", #""address":"\#(Self.known)""#)
                #expect(failed.status == 201)
                #expect(try Self.geocoding(failed) == "none")
                // It is asked again for what nobody could say.
                server.behave(Documented.mapbox)
                let again = try await Self.write(gateway, "job-3", #""address":"\#(Self.known)""#)
                #expect(try Self.geocoding(again) == "ok")
            }
        }
    }

    @Test func `the day's budget is kept, and what is no address is refused`() async throws {
        try await ProviderServer.running(Documented.mapbox) { server in
            try await Self.run(server, daily: 1) { gateway in
                let first = try await Self.write(gateway, "job-1", #""address":"\#(Self.known)""#)
                let second = try await Self.write(gateway, "job-2", #""address":"\#(Self.known)""#)
                #expect(try Self.geocoding(first) == "ok")
                #expect(try Self.geocoding(second) == "none" && server.questions.count == 1)
                for bad in ["", "   ", String(repeating: "a", count: 257)] {
                    let answer = try await Self.write(gateway, "job-3", #""address":"\#(bad)""#)
                    #expect(answer.status == 422, "\(answer)")
                }
            }
        }
    }
}

import EnrouteWire
import Foundation
import NIOCore
import Routing
import TestSupport
import Testing

@testable import Events
@testable import Gateway
@testable import Jobs
@testable import Realtime

/// Jobs with addresses, and a geocoder that behaves as Mapbox documents.
@Suite struct GeocodingTests {
    private static let known = "Café Größe 1&2, Wien"

    private static func run(
        _ server: ProviderServer, daily: Int? = nil, pauses: [Duration]? = nil,
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        let service = try MapboxGeocoding(key: ProviderKey(ProviderFixtures.keyText)!, url: server.url)
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                {
                    $0.arrivals.geocoding = (service: service, dailyBudget: daily)
                    if let pauses { $0.arrivals.geocodingPauses = pauses }
                }, body)
        }
    }

    private static func write(
        _ gateway: RunningGateway, _ job: String, _ members: String
    ) async throws -> RESTResponse {
        try await gateway.rest(
            "PUT", "/api/v1/jobs/\(job)", by: "orders", .service,
            #"{"kind":"service","customer":"anna",\#(members)}"#)
    }

    private static func geocoding(_ answer: RESTResponse) throws -> String? {
        try JSONValue(json: Array(answer.text.utf8))["geocoding"]?.text
    }

    @Test func `an address is geocoded once and permanently, and the place becomes the job's destination`() async throws
    {
        try await ProviderServer.running(ProviderFixtures.mapbox) { server in
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
                // Given coordinates replace the geocoded place.
                let moved = try await Self.write(gateway, "job-1", #""destination":{"lat":48.2,"lon":16.4}"#)
                #expect(try Self.geocoding(moved) == nil && moved.text.contains(#"{"lat":48.2,"lon":16.4}"#))
                let given = try await Self.write(
                    gateway, "job-2", #""address":"\#(Self.known)","destination":{"lat":48.2,"lon":16.4}"#)
                #expect(try Self.geocoding(given) == nil && server.questions.count == 1)
            }
        }
    }

    @Test func `the vendor of an event is geocoded, and its address is stored as written`() async throws {
        try await ProviderServer.running(ProviderFixtures.mapbox) { server in
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

    @Test func `an event that is sent again and again because it is early is geocoded once`() async throws {
        try await ProviderServer.running(ProviderFixtures.mapbox) { server in
            try await Self.run(server) { gateway in
                try await gateway.registerRider()
                func tell() async throws -> RESTResponse {
                    try await gateway.rest(
                        "POST", "/api/v1/events", by: "orders", .service,
                        EventRoutesTests.event(
                            "e-1", "created",
                            #"{"job":"job-1","kind":"service","customer":"anna","rider":"rider-1","address":"\#(Self.known)"}"#
                        ),
                        headers: ["Content-Type: application/cloudevents+json"])
                }
                for _ in 0..<5 {
                    let early = try await tell()
                    #expect(early.status == 409, "\(early)")
                }
                _ = try await gateway.rest(
                    "PATCH", "/api/v1/riders/me/status", by: "rider-1", .rider, #"{"status":"online"}"#)
                let told = try await tell()
                #expect(told.member("outcome") == "applied", "\(told)")
                let job = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                #expect(try Self.geocoding(job) == "ok" && server.questions.count == 1)
            }
        }
    }

    @Test func `results for early events are cached for a limited time and number, failures for a shorter time`() {
        func job(_ state: GeocodingState) -> CreatedJob {
            CreatedJob(
                job: JobID("j")!, kind: .service, customer: PersonID("anna")!, rider: nil, zone: nil, destination: nil,
                vendor: nil, address: "a", geocoded: GeocodedAddress(state: state, digest: "d"))
        }
        let (events, start) = (DeferredEventCache(), NIODeadline.uptimeNanoseconds(1))
        events.store(job(.ok), of: "found", now: start)
        events.store(job(.nothing), of: "missing", now: start)
        for (event, lifetime) in [
            ("found", DeferredEventCache.lifetime.found), ("missing", DeferredEventCache.lifetime.missing),
        ] {
            #expect(events.job(of: event, now: start + lifetime - .nanoseconds(1)) != nil, "\(event)")
            #expect(events.job(of: event, now: start + lifetime) == nil, "\(event)")
        }
        for number in 0..<DeferredEventCache.maxEvents { events.store(job(.ok), of: "\(number)", now: start) }
        #expect(events.job(of: "missing", now: start) == nil && events.job(of: "999", now: start) != nil)
    }

    @Test func `a new destination discards the arrival time, an unchanged one does not`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                func write(_ latitude: String) async throws -> Int {
                    let job = #"{"kind":"service","customer":"anna","destination":{"lat":\#(latitude),"lon":12.5}}"#
                    return try await gateway.rest("PUT", "/api/v1/jobs/job-1", by: "orders", .service, job).status
                }
                #expect(try await write("41.9") == 201)
                for (latitude, isKept) in [("41.9", true), ("41.90", true), ("41.8", false)] {
                    try await gateway.client.run("SET", "job:{job-1}:eta", "1 1 {}")
                    #expect(try await write(latitude) == 200)
                    let kept = try await gateway.client.send(["EXISTS", "job:{job-1}:eta"]).get().integer
                    #expect((kept == 1) == isKept, "\(latitude)")
                }
            }
        }
    }

    @Test func `a job created by an event is geocoded once`() async throws {
        try await ProviderServer.running(ProviderFixtures.mapbox) { server in
            try await Self.run(server) { gateway in
                func tell(_ id: String, _ members: String) async throws -> RESTResponse {
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

    @Test func `an address not found with certainty gives no destination, and the job shows that`() async throws {
        try await ProviderServer.running(ProviderFixtures.mapbox) { server in
            try await Self.run(server) { gateway in
                let unknown = try await Self.write(gateway, "job-1", #""address":"Nowhere 1""#)
                #expect(try Self.geocoding(unknown) == "none" && !unknown.text.contains("destination"))
                server.behave { question in
                    guard case .json(let json, _, _) = ProviderFixtures.mapbox(question) else { return .hangUp }
                    return .json(json.replacing(#""confidence":"high""#, with: #""confidence":"low""#))
                }
                let unsure = try await Self.write(gateway, "job-2", #""address":"\#(Self.known)""#)
                #expect(try Self.geocoding(unsure) == "low" && !unsure.text.contains("destination"))
                // Operations see it in the list of open jobs.
                try await becomes("the rows say that neither was found") {
                    let rows = try await gateway.rest("GET", "/api/v1/zones/-/jobs", by: "olga", .ops)
                    let jobs = try JSONValue(json: Array(rows.text.utf8))["jobs"]?.array ?? []
                    return jobs.map { $0["geocoding"]?.text } == ["none", "low"]
                }
                server.behave { _ in .json("", status: 500) }
                let failed = try await Self.write(gateway, "job-3", #""address":"\#(Self.known)""#)
                #expect(failed.status == 201)
                #expect(try Self.geocoding(failed) == "none")
                // An address that could not be resolved is requested again.
                server.behave(ProviderFixtures.mapbox)
                let again = try await Self.write(gateway, "job-3", #""address":"\#(Self.known)""#)
                #expect(try Self.geocoding(again) == "ok")
            }
        }
    }

    @Test func `an address is looked up again until the provider responds, and the rider learns the reason meanwhile`()
        async throws
    {
        try await ProviderServer.running({ _ in .json("", status: 500) }) { server in
            try await Self.run(server, pauses: Array(repeating: .milliseconds(50), count: 1000)) { gateway in
                let vendor = #""vendor":{"name":"Da Gino","address":"\#(Self.known)"}"#
                let written = try await Self.write(
                    gateway, "job-1", #""rider":"rider-1","address":"\#(Self.known)",\#(vendor)"#)
                #expect(try Self.geocoding(written) == "none")
                for stop in ["destination", "vendor"] {
                    let way = try await Self.navigation(gateway, to: stop)
                    #expect(way.status == 503 && way.text.contains("has not been looked up yet"), "\(way)")
                }
                func listedAt() async throws -> String? {
                    try await gateway.client.run("ZSCORE", "zone:{-}:jobs", "job-1").text
                }
                try await becomes("the job is listed") { try await listedAt() != nil }
                try await gateway.client.run("ZADD", "zone:{-}:jobs", "1", "job-1")
                server.behave(ProviderFixtures.mapbox)
                for stop in ["destination", "vendor"] {
                    let isKnown = try await eventually {
                        try await Self.navigation(gateway, to: stop).member("lat") == "48.235100"
                    }
                    #expect(isKnown, "\(stop)")
                }
                try await becomes("its last change counts in the list of open jobs") { try await listedAt() != "1" }
                let job = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                #expect(try Self.geocoding(job) == "ok")
            }
        }
    }

    @Test func `a lookup does not replace a later change, and the address is not looked up again`()
        async throws
    {
        try await ProviderServer.running({ _ in .json("", status: 500) }) { server in
            try await Self.run(server, pauses: Array(repeating: .milliseconds(50), count: 1000)) { gateway in
                _ = try await Self.write(gateway, "job-1", #""address":"\#(Self.known)""#)
                _ = try await Self.write(gateway, "job-1", #""destination":{"lat":48.2,"lon":16.4}"#)
                let before = server.questions.count
                // An address that is still needed is looked up again and again.
                _ = try await Self.write(gateway, "job-3", #""address":"Elsewhere 7""#)
                #expect(await eventually { server.questions.count { $0.uri.contains("Elsewhere") } > 4 })
                // One lookup of the first address may have been under way.
                #expect(server.questions.count { !$0.uri.contains("Elsewhere") } <= before + 1)
                server.behave(ProviderFixtures.mapbox)
                let other = try await Self.write(gateway, "job-2", #""address":"\#(Self.known)""#)
                #expect(try Self.geocoding(other) == "ok")
                let job = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "orders", .service)
                #expect(job.text.contains(#"{"lat":48.2,"lon":16.4}"#) && !job.text.contains("48.2351"), "\(job)")
            }
        }
    }

    private static func navigation(_ gateway: RunningGateway, to stop: String) async throws -> RESTResponse {
        try await gateway.rest("GET", "/api/v1/jobs/job-1/navigation?to=\(stop)", by: "rider-1", .rider)
    }

    @Test func `only a limited number of lookups waits, each once`() async {
        let retries = GeocodingRetries()
        func add(_ number: Int) -> Bool { retries.add(.init(name: "\(number)") { true }) }
        for number in 0..<GeocodingRetries.maxWaiting {
            #expect(add(number))
            #expect(!add(number))
        }
        #expect(!add(GeocodingRetries.maxWaiting))
    }

    @Test func `the daily budget is respected, and invalid addresses are refused`() async throws {
        try await ProviderServer.running(ProviderFixtures.mapbox) { server in
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

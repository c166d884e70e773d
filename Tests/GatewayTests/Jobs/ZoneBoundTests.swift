import EnrouteWire
import Foundation
import LiveState
import Routing
import TestSupport
import Testing

@testable import Gateway
@testable import Jobs
@testable import Realtime

/// Places that are far from all known places of their zone.
@Suite struct ZoneBoundTests {
    private static let destination = #""destination":{"lat":41.9,"lon":12.5}"#
    private static let swapped = #""destination":{"lat":12.5,"lon":41.9}"#

    private static func put(_ gateway: RunningGateway, _ job: String, _ members: String) async throws -> RESTResponse {
        try await gateway.rest(
            "PUT", "/api/v1/jobs/\(job)", by: "orders", .service, #"{"kind":"delivery","customer":"anna",\#(members)}"#)
    }

    /// Creates three jobs that are on the zone's list.
    private static func know(_ zone: String, _ gateway: RunningGateway) async throws {
        for number in 1...3 {
            let answer = try await Self.put(gateway, "\(zone)-\(number)", #""zone":"\#(zone)",\#(Self.destination)"#)
            #expect(answer.status == 201, "\(answer)")
        }
        try await becomes("the jobs are on the zone's list") {
            try await gateway.ledger.listing.jobIDs(in: ZoneID(zone)!).get().count == 3
        }
    }

    @Test func `a job with swapped coordinates is refused over every interface, and nothing changes`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.know("rome", gateway)
                let job = #"{"job":"j-1","kind":"delivery","customer":"anna","zone":"rome",\#(Self.swapped)}"#
                let post = try await gateway.rest("POST", "/api/v1/jobs", by: "orders", .service, job)
                #expect(post.status == 422 && post.text.contains("seem to be swapped"), "\(post)")
                #expect(post.text.contains("of zone rome; at most 200 km is accepted"), "\(post)")
                let event = try await gateway.rest(
                    "POST", "/api/v1/events", by: "orders", .service, SampleRequest.event("e-1", "created", job),
                    headers: ["Content-Type: application/cloudevents+json"])
                #expect(event.status == 422 && event.text.contains("seem to be swapped"), "\(event)")
                let missing = try await gateway.rest("GET", "/api/v1/jobs/j-1", by: "orders", .service)
                #expect(missing.status == 404)
                // The zone of an existing job applies without being sent again, and to its pickup too.
                for place in [Self.swapped, #""vendor":{"lat":-33.9,"lon":151.2}"#] {
                    let put = try await Self.put(gateway, "rome-1", place)
                    #expect(put.status == 422, "\(put)")
                }
                let right = try await Self.put(gateway, "rome-1", #""vendor":{"lat":41.8,"lon":12.4}"#)
                #expect(right.status == 200, "\(right)")
            }
        }
    }

    @Test func `a new zone and a job without a zone accept everything, and a stored place stays accepted`() async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let old = try await Self.put(gateway, "old", #""zone":"rome",\#(Self.swapped)"#)
                let free = try await Self.put(gateway, "free", Self.swapped)
                #expect(old.status == 201 && free.status == 201, "\(old) \(free)")
                for number in 1...3 {
                    let answer = try await Self.put(
                        gateway, "j-\(number)", #""zone":"rome",\#(Self.destination)"#)
                    #expect(answer.status == 201, "\(answer)")
                }
                try await becomes("the jobs are on the zone's list") {
                    try await gateway.ledger.listing.jobIDs(in: ZoneID("rome")!).get().count == 4
                }
                let again = try await Self.put(gateway, "old", #""zone":"rome",\#(Self.swapped)"#)
                #expect(again.status == 200, "\(again)")
                let other = try await Self.put(gateway, "other", #""zone":"rome",\#(Self.swapped)"#)
                #expect(other.status == 422, "\(other)")
            }
        }
    }

    @Test func `a job does not move to a zone that its stored places are too far from`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.know("rome", gateway)
                let vendor = #""vendor":{"lat":-33.9,"lon":151.2}"#
                for (job, place) in [("there", Self.swapped), ("from", vendor)] {
                    let made = try await Self.put(gateway, job, #""zone":"sydney",\#(place)"#)
                    #expect(made.status == 201, "\(made)")
                    let moved = try await Self.put(gateway, job, #""zone":"rome""#)
                    #expect(moved.status == 422 && moved.text.contains("of zone rome"), "\(moved)")
                    #expect(try await gateway.ledger.recover(JobID(job)!).get()?.record.zone == ZoneID("sydney"))
                }
                let whole = try await Self.put(gateway, "there", #""zone":"rome",\#(Self.destination)"#)
                #expect(whole.status == 200, "\(whole)")
            }
        }
    }

    @Test func `riders show where a zone is, and a bound of 0 accepts everything`() async throws {
        for (bound, status) in [(200, 422), (0, 201)] {
            try await within {
                try await RunningGateway.run(isSecure: false, { $0.limits.zoneKilometers = bound }) { gateway in
                    let places = GeoIndex(live: gateway.client, settings: gateway.settings.liveState)
                    let riders = (1...3).map { number in
                        (rider: PersonID("r-\(number)")!, place: Coordinate(latitude: 41.9, longitude: 12.4)!)
                    }
                    _ = try await places.place(riders, in: ZoneID("rome")!).get()
                    let answer = try await Self.put(gateway, "j-1", #""zone":"rome",\#(Self.swapped)"#)
                    #expect(answer.status == status, "\(answer)")
                }
            }
        }
    }

    @Test func `a geocoded place far away from the zone counts as not found`() async throws {
        try await ProviderServer.running(ProviderFixtures.mapbox) { server in
            let service = try MapboxGeocoding(key: ProviderKey(ProviderFixtures.keyText)!, url: server.url)
            try await within {
                try await RunningGateway.run(
                    isSecure: false, { $0.arrivals.geocoding = (service: service, dailyBudget: nil) }
                ) { gateway in
                    try await Self.know("rome", gateway)
                    // In Vienna, 760 km away.
                    let address = #""address":"Café Größe 1&2, Wien""#
                    let rome = try await Self.put(gateway, "j-1", #""zone":"rome",\#(address)"#)
                    #expect(rome.status == 201 && rome.member("geocoding") == "none", "\(rome)")
                    #expect(!rome.text.contains("48.2351"), "\(rome)")
                    let vienna = try await Self.put(gateway, "j-2", #""zone":"vienna",\#(address)"#)
                    #expect(vienna.status == 201 && vienna.member("geocoding") == "ok", "\(vienna)")
                }
            }
        }
    }
}

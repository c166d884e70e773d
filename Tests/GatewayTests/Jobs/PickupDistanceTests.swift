import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Jobs

/// B13: a vendor on another continent most likely has swapped coordinates.
@Suite struct PickupDistanceTests {
    private static let rome = Coordinate(latitude: 41.9, longitude: 12.5)!
    private static let swapped = Coordinate(latitude: 12.5, longitude: 41.9)!

    @Test func `B13: a distance that is too large is reported with the limit and with whose lat and lon are swapped`() {
        let distance = PickupDistance(bound: 500)
        #expect(distance.fault(from: Self.rome, to: Coordinate(latitude: 45.4, longitude: 9.2)!) == nil)
        #expect(distance.fault(from: nil, to: Self.rome) == nil && distance.fault(from: Self.rome, to: nil) == nil)
        let vendor = distance.fault(from: Self.swapped, to: Self.rome)
        #expect(
            vendor?.contains("at most 500 km") == true
                && vendor?.contains("lat and lon of the vendor are probably swapped") == true)
        let destination = distance.fault(from: Self.rome, to: Self.swapped)
        #expect(destination?.contains("km from the destination") == true)
        let elsewhere = distance.fault(from: Coordinate(latitude: -33.9, longitude: 151.2)!, to: Self.rome)
        #expect(elsewhere?.contains("lat and lon may be swapped") == true)
        #expect(PickupDistance(bound: 0).fault(from: Self.swapped, to: Self.rome) == nil)
    }

    @Test func `B13: a vendor with swapped coordinates is refused over every interface, and nothing changes`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let place = #""destination":{"lat":41.9,"lon":12.5}"#
                let vendor = #""vendor":{"lat":12.4,"lon":41.8}"#
                let job = #"{"job":"j-1","kind":"delivery","customer":"anna",\#(place),\#(vendor)}"#
                let post = try await gateway.rest("POST", "/api/v1/jobs", by: "orders", .service, job)
                #expect(post.status == 422 && post.text.contains("are probably swapped"), "\(post)")
                let event = try await gateway.rest(
                    "POST", "/api/v1/events", by: "orders", .service, SampleRequest.event("e-1", "created", job),
                    headers: ["Content-Type: application/cloudevents+json"])
                #expect(event.status == 422 && event.text.contains("are probably swapped"), "\(event)")
                let missing = try await gateway.rest("GET", "/api/v1/jobs/j-1", by: "orders", .service)
                #expect(missing.status == 404)
                // The two locations are sent one after the other.
                let path = "/api/v1/jobs/j-2"
                let first = try await gateway.rest(
                    "PUT", path, by: "orders", .service, #"{"kind":"delivery","customer":"anna",\#(place)}"#)
                #expect(first.status == 201)
                let second = try await gateway.rest(
                    "PUT", path, by: "orders", .service, #"{"kind":"delivery",\#(vendor)}"#)
                #expect(second.status == 422 && second.text.contains("are probably swapped"), "\(second)")
                let right = try await gateway.rest(
                    "PUT", path, by: "orders", .service, #"{"kind":"delivery","vendor":{"lat":41.8,"lon":12.4}}"#)
                #expect(right.status == 200)
            }
        }
    }

    @Test
    func `B13: a vendor and a destination far apart are not both accepted if they are sent concurrently`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for number in 1...20 {
                    let path = "/api/v1/jobs/j-\(number)"
                    let made = try await gateway.rest(
                        "PUT", path, by: "orders", .service, #"{"kind":"delivery","customer":"anna"}"#)
                    #expect(made.status == 201)
                    async let destination = gateway.rest(
                        "PUT", path, by: "orders", .service,
                        #"{"kind":"delivery","destination":{"lat":41.9,"lon":12.5}}"#)
                    async let vendor = gateway.rest(
                        "PUT", path, by: "orders", .service, #"{"kind":"delivery","vendor":{"lat":12.4,"lon":41.8}}"#)
                    let statuses = try await [destination.status, vendor.status]
                    #expect(statuses.sorted() == [200, 422], "\(number)")
                }
            }
        }
    }
}

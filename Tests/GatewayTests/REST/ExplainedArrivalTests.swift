import EnrouteWire
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// The explanation over REST, compared with what followers receive.
@Suite struct ExplainedArrivalTests {
    @Test func `the explanation has the arrival time that followers receive while the order is prepared`() async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let card = #"{"zone":"rome","approved":true,"capacity":1,"card":{"vehicle":"foot"}}"#
                let rider = try await gateway.rest("PUT", "/api/v1/riders/rider-1", by: "orders", .service, card)
                #expect([200, 201].contains(rider.status), "\(rider)")
                _ = try await gateway.goOnline(PersonID("rider-1")!)
                let made = try await gateway.rest(
                    "POST", "/api/v1/jobs", by: "orders", .service,
                    #"{"job":"order-1","kind":"delivery","customer":"anna","rider":"rider-1","#
                        + #""destination":{"lat":41.91,"lon":12.49},"vendor":{"lat":41.9,"lon":12.48}}"#)
                #expect(made.status == 201, "\(made)")
                for status in [JobStatus.accepted, .preparing] {
                    let changed = try await gateway.rest(
                        "POST", "/api/v1/jobs/order-1/status", by: "orders", .service,
                        #"{"status":"\#(status.rawValue)"}"#)
                    #expect(changed.status == 200, "\(changed)")
                }
                let job = try await gateway.rest("GET", "/api/v1/jobs/order-1", by: "anna", .customer)
                let eta: [String: Any] = try #require(job.member("eta"), "\(job)")
                let explained = try await gateway.rest(
                    "GET", "/api/v1/jobs/order-1/explanation", by: "olga", .ops)
                let sections: [[String: Any]] = try #require(explained.member("sections"), "\(explained)")
                let section = try #require(sections.first { $0["name"] as? String == "eta" })
                let facts = try #require(section["facts"] as? [[String: Any]])
                let arrives = try #require(facts.first { $0["name"] as? String == "arrives" }, "\(section)")
                #expect(arrives["value"] as? Int64 == eta["arrivesAt"] as? Int64 && arrives["value"] != nil)
                #expect(!explained.text.contains("41.9"), "\(explained)")
            }
        }
    }
}

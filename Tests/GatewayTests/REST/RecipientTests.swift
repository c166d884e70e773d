import Access
import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway

/// `recipient` of a job: the person to whom the rider delivers, or whom the rider visits.
@Suite struct RecipientTests {
    private static let order = JobID("order-1")!
    private static let path = "/api/v1/jobs/order-1"
    private static let anna = #"{"name":"Anna Rossi","floor":"3rd floor","contact":"tel:+390612345,17"}"#

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { gateway in
                let made = try await gateway.rest(
                    "POST", "/api/v1/jobs", by: "orders", .service,
                    #"{"job":"order-1","kind":"service","customer":"anna","rider":"rider-1","recipient":\#(anna)}"#)
                #expect(made.status == 201 && made.text.contains(anna), "\(made)")
                try await body(gateway)
            }
        }
    }

    private static func put(_ gateway: RunningGateway, _ recipient: String) async throws -> RESTResponse {
        try await gateway.rest(
            "PUT", self.path, by: "orders", .service, #"{"kind":"service","recipient":\#(recipient)}"#)
    }

    @Test func `I7: the rider, operations and the service read the recipient, and nobody else does`() async throws {
        try await Self.run { gateway in
            let link: String = try #require(
                try await gateway.rest("POST", "\(Self.path)/links", by: "orders", .service).member("link"))
            for (person, role) in [("orders", Role.service), ("olga", .ops), ("anna", .customer), ("rider-1", .rider)] {
                for path in [Self.path, "/api/v1/jobs?rider=rider-1", "\(Self.path)/log"] {
                    let read = try await gateway.rest("GET", path, by: person, role)
                    let isShown = path == Self.path && role != .customer
                    #expect(read.text.contains("Rossi") == isShown, "\(role): \(read)")
                }
            }
            for headers in [["Authorization: Link \(link)"], []] {
                let person = headers.isEmpty ? "anna" : nil
                let page = try await gateway.rest("GET", "/track/order-1", as: person, headers: headers)
                #expect(!page.text.contains("Rossi"), "\(page)")
            }
        }
    }

    @Test func `a created event describes the recipient like the body of POST jobs`() async throws {
        try await EventRoutesTests.run { sender in
            let data = #"{"job":"j1","kind":"service","customer":"anna","rider":"rider-1","recipient":\#(Self.anna)}"#
            #expect(try await sender.send(EventRoutesTests.event("c", "created", data)).outcome == "applied")
            let read = try await sender.gateway.rest("GET", "/api/v1/jobs/j1", by: "rider-1", .rider)
            #expect(read.text.contains(Self.anna), "\(read)")
        }
    }

    @Test func `the rider is shown each change immediately, and no recipient once the job has ended`() async throws {
        try await Self.run { gateway in
            try await gateway.connect("rider-1", .rider) { rider, shown in
                try await rider.send(.subscribe(job: Self.order, since: nil))
                #expect(try await shown.subscribed().recipient?.floor == "3rd floor")
                #expect(try await Self.put(gateway, #"{"name":"Ben"}"#).status == 200)
                #expect(try await shown.reset().recipient == Recipient(name: "Ben"))
                #expect(try await Self.put(gateway, "{}").status == 200)
                #expect(try await shown.reset().recipient == nil)
                #expect(try await Self.put(gateway, Self.anna).status == 200)
                #expect(try await shown.reset().recipient?.name == "Anna Rossi")
            }
            let ended = try await gateway.rest(
                "POST", "\(Self.path)/status", by: "orders", .service, #"{"status":"cancelled"}"#)
            #expect(ended.status == 200, "\(ended)")
            let read = try await gateway.rest("GET", Self.path, by: "rider-1", .rider)
            #expect(!read.text.contains("Rossi"), "\(read)")
            let kept = try await gateway.rest("GET", Self.path, by: "orders", .service)
            #expect(kept.text.contains("Rossi"), "\(kept)")
        }
    }

    @Test func `a bad recipient is refused by the member that is wrong, and nothing is written`() async throws {
        try await Self.run { gateway in
            for (recipient, member) in [
                (#"{"name":""}"#, "recipient.name"), (#"{"floor":"a\nb"}"#, "recipient.floor"),
                (#"{"address":" "}"#, "recipient.address"),
                (#"{"contact":"javascript:alert(1)"}"#, "recipient.contact"),
            ] {
                let refused = try await Self.put(gateway, recipient)
                #expect(refused.status == 422 && refused.text.contains(member), "\(refused)")
            }
            let read = try await gateway.rest("GET", Self.path, by: "orders", .service)
            #expect(read.text.contains(Self.anna), "\(read)")
        }
    }
}

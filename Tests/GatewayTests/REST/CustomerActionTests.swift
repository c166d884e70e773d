import Access
import EnrouteClient
import EnrouteWire
import Foundation
import REST
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// What a customer may do besides following: leave the rider a note, and cancel; with a link only if the settings allow
/// it.
@Suite struct CustomerActionTests {
    private static let order = JobID("order-1")!
    private static let path = "/api/v1/jobs/order-1"
    private static let secret = "Gate code 42"
    private static let body = #"{"note":"Gate code 42"}"#

    private static func run(
        _ action: CustomerAction = .signedIn, _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                {
                    $0.limits.allowManyMessages()
                    ($0.customerNotes, $0.customerCancelling) = (action, action)
                }, body)
        }
    }

    /// An order of Anna's for rider-1, and the authorization of a link to it.
    private static func order(_ gateway: RunningGateway) async throws -> String {
        let made = try await gateway.rest(
            "POST", "/api/v1/jobs", by: "orders", .service,
            #"{"job":"order-1","kind":"delivery","customer":"anna","rider":"rider-1"}"#)
        #expect(made.status == 201, "\(made)")
        let link: String = try #require(
            try await gateway.rest("POST", "\(Self.path)/links", by: "orders", .service).member("link"))
        return "Authorization: Link \(link)"
    }

    private static func note(
        _ gateway: RunningGateway, _ body: String = body, by person: String = "anna", _ role: Role = .customer
    ) async throws -> RESTResponse {
        try await gateway.rest("PUT", "\(Self.path)/note", by: person, role, body)
    }

    private static func page(_ gateway: RunningGateway, _ link: String) async throws -> String {
        try await gateway.rest("GET", "/track/order-1", as: nil, headers: [link]).text
    }

    @Test func `I7: the rider, operations and the service read the customer's note, and nobody else does`() async throws
    {
        try await Self.run { gateway in
            let link = try await Self.order(gateway)
            try await gateway.connect("rider-1", .rider) { rider, shown in
                try await rider.send(.subscribe(job: Self.order, since: nil))
                #expect(try await shown.subscribed().customerNote == nil)
                let stored = try await Self.note(gateway)
                #expect(stored.status == 200 && stored.member("note") == Self.secret, "\(stored)")
                #expect(try await shown.reset().customerNote?.text == Self.secret)
                let removed = try await Self.note(gateway, #"{"note":""}"#)
                #expect(removed.status == 200 && removed.member("note") == "", "\(removed)")
                #expect(try await shown.reset().customerNote == nil)
                _ = try await Self.note(gateway)
            }
            for (person, role) in [("orders", Role.service), ("olga", .ops), ("anna", .customer), ("rider-1", .rider)] {
                let read = try await gateway.rest("GET", Self.path, by: person, role)
                #expect(read.text.contains(Self.secret) == (role != .customer), "\(role): \(read)")
            }
            #expect(try await !Self.page(gateway, link).contains(Self.secret))
            let own = try await gateway.rest("GET", "/track/order-1", by: "anna", .customer)
            #expect(own.text.contains(#""note":"Gate code 42""#), "\(own)")
        }
    }

    @Test func `I7: the audit names who wrote a note, without its text`() async throws {
        try await Self.run { gateway in
            _ = try await Self.order(gateway)
            _ = try await Self.note(gateway)
            _ = try await Self.note(gateway)
            let audit = try await gateway.client.run("XRANGE", "audit", "-", "+").array ?? []
            let texts = audit.compactMap { $0.array?.last?.array?.compactMap(\.text) }.filter { $0.contains("noted") }
            #expect(texts.count == 1 && texts[0].contains("anna") && texts[0].contains("token"), "\(texts)")
            #expect(!texts[0].joined().contains(Self.secret))
        }
    }

    @Test(arguments: [
        ("/assignment", #"{"customer":"dora"}"#), ("", #"{"kind":"delivery","customer":"dora"}"#),
    ])
    func `I7: nobody reads the former customer's note once the job has another customer`(
        path: String, change: String
    ) async throws {
        try await Self.run(.links) { gateway in
            _ = try await Self.order(gateway)
            _ = try await Self.note(gateway)
            try await gateway.connect("rider-1", .rider) { rider, shown in
                try await rider.send(.subscribe(job: Self.order, since: nil))
                #expect(try await shown.subscribed().customerNote?.text == Self.secret)
                let changed = try await gateway.rest("PUT", "\(Self.path)\(path)", by: "orders", .service, change)
                #expect(changed.status == 200, "\(changed)")
                #expect(try await shown.reset().customerNote == nil)
            }
            let own = try await gateway.rest("GET", "/track/order-1", by: "dora", .customer)
            #expect(own.text.contains(#""note":"""#) && !own.text.contains(Self.secret), "\(own)")
            let link: String = try #require(
                try await gateway.rest("POST", "\(Self.path)/links", by: "orders", .service).member("link"))
            let viewed = try await Self.page(gateway, "Authorization: Link \(link)")
            #expect(viewed.contains(#""note":"""#) && !viewed.contains(Self.secret), "\(viewed)")
            for (person, role) in [("orders", Role.service), ("olga", .ops), ("rider-1", .rider)] {
                let read = try await gateway.rest("GET", Self.path, by: person, role)
                #expect(read.status == 200 && !read.text.contains(Self.secret), "\(role): \(read)")
            }
        }
    }

    @Test func `others cannot write a note, and an ended job accepts none`() async throws {
        try await Self.run { gateway in
            let link = try await Self.order(gateway)
            for (person, role, status) in [
                ("bert", Role.customer, 404), ("rider-1", .rider, 403), ("olga", .ops, 403), ("orders", .service, 200),
            ] {
                let answer = try await Self.note(gateway, by: person, role)
                #expect(answer.status == status, "\(role): \(answer)")
            }
            let blank = try await Self.note(gateway, #"{"note":" \n "}"#)
            #expect(blank.status == 422 && blank.text.contains("not only spaces"), "\(blank)")
            for bad in [#"{"note":" "}"#, #"{"note":"a\u202eb"}"#, "{}", #"{"note":7}"#] {
                let refused = try await Self.note(gateway, bad)
                #expect(refused.status == 422 && refused.member("code") == "unprocessable", "\(bad): \(refused)")
            }
            // With this setting, a link only shows the job.
            for (method, path, body) in [("PUT", "note", Self.body), ("POST", "status", #"{"status":"cancelled"}"#)] {
                let guest = try await gateway.rest(method, "\(Self.path)/\(path)", as: nil, body, headers: [link])
                #expect(guest.status == 401, "\(guest)")
            }
            let cancelled = try await gateway.rest(
                "POST", "\(Self.path)/status", by: "anna", .customer, #"{"status":"cancelled"}"#)
            #expect(cancelled.status == 200, "\(cancelled)")
            let late = try await Self.note(gateway, #"{"note":"Late"}"#)
            #expect(late.status == 409 && late.member("code") == "illegal_transition", "\(late)")
            let rider = try await gateway.rest("GET", Self.path, by: "rider-1", .rider)
            #expect(!rider.text.contains(Self.secret), "\(rider)")
        }
    }

    @Test func `the page states what the customer may do, by setting, credential and kind of job`() async throws {
        for (setting, byLink, byToken) in [
            (CustomerAction.off, false, false), (.signedIn, false, true), (.links, true, true),
        ] {
            try await Self.run(setting) { gateway in
                let link = try await Self.order(gateway)
                let shown = try await Self.page(gateway, link)
                #expect(shown.contains(#""cancelFrom":["pending_vendor_acceptance""#) == byLink, "\(setting): \(shown)")
                #expect(shown.contains(#""note":"""#) == byLink, "\(setting)")
                let own = try await gateway.rest("GET", "/track/order-1", by: "anna", .customer)
                #expect(own.text.contains(#""cancelFrom""#) == byToken, "\(setting)")
                let staff = try await gateway.rest("GET", "/track/order-1", by: "olga", .ops)
                #expect(staff.status == 200 && !staff.text.contains(#""can":{"#), "\(setting)")
            }
        }
    }

    /// The entity tag that a page contains with its note.
    private static func tag(on page: String) throws -> String {
        let member = try #require(page.firstMatch(of: /"tag":"\\"([^\\"]+)\\""/), "\(page)")
        return "If-Match: \"\(member.1)\""
    }

    @Test func `with the tag of the page, a note replaces none that was written since`() async throws {
        try await Self.run(.links) { gateway in
            let link = try await Self.order(gateway)
            func note(_ text: String, _ condition: String) async throws -> RESTResponse {
                try await gateway.rest(
                    "PUT", "\(Self.path)/note", as: nil, #"{"note":"\#(text)"}"#, headers: [link, condition])
            }
            let first = try await Self.tag(on: Self.page(gateway, link))
            let stored = try await note(Self.secret, first)
            #expect(stored.status == 200, "\(stored)")
            let late = try await note("Ring twice", first)
            #expect(late.status == 412, "\(late)")
            let page = try await Self.page(gateway, link)
            #expect(page.contains(Self.secret))
            let informed = try await note("Ring twice", Self.tag(on: page))
            #expect(informed.status == 200, "\(informed)")
        }
    }

    @Test func `only a page that can write a note contains the job's entity tag`() async throws {
        try await Self.run { gateway in
            let link = try await Self.order(gateway)
            #expect(try await !Self.page(gateway, link).contains(#""tag":"#))
            let own = try await gateway.rest("GET", "/track/order-1", by: "anna", .customer)
            _ = try Self.tag(on: own.text)
        }
    }

    @Test func `with the setting, a link viewer can write the note and cancel, and nothing else`() async throws {
        try await Self.run(.links) { gateway in
            let link = try await Self.order(gateway)
            func ask(_ method: String, _ path: String, _ body: String, _ header: String) async throws -> RESTResponse {
                try await gateway.rest(method, path, as: nil, body, headers: [header])
            }
            let stored = try await ask("PUT", "\(Self.path)/note", Self.body, link)
            #expect(stored.status == 200, "\(stored)")
            #expect(try await Self.page(gateway, link).contains(Self.secret))
            for (method, path, body, status) in [
                ("PUT", "/api/v1/jobs/order-2/note", Self.body, 404),
                ("POST", "\(Self.path)/status", #"{"status":"accepted"}"#, 403),
                ("POST", "\(Self.path)/links", "{}", 401), ("PUT", "\(Self.path)/assignment", #"{"rider":"x"}"#, 401),
            ] {
                let answer = try await ask(method, path, body, link)
                #expect(answer.status == status, "\(method) \(path): \(answer)")
            }
            let unknown = "Authorization: Link \(String(repeating: "0", count: 32))"
            #expect(try await ask("PUT", "\(Self.path)/note", Self.body, unknown).status == 404)
            let cancelled = try await ask("POST", "\(Self.path)/status", #"{"status":"cancelled"}"#, link)
            #expect(cancelled.status == 200 && cancelled.member("status") == "cancelled", "\(cancelled)")
            let again = try await ask("POST", "\(Self.path)/status", #"{"status":"cancelled"}"#, link)
            #expect(again.status == 409, "\(again)")
        }
    }
}

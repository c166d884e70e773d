import Access
import EnrouteClient
import EnrouteWire
import Foundation
import Jobs
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// `POST jobs/{job}/corrections`: a job returns from a wrong status to the correct one, with everything that belongs to
/// it.
@Suite struct CorrectionTests {
    private static let order = JobID("order-1")!
    private static let path = "/api/v1/jobs/order-1"
    private static let toTransit = ["accepted", "preparing", "ready_for_pickup", "in_transit"]

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within { try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }, body) }
    }

    /// An order of Anna's in Rome that is a task of rider-1, moved to each of `statuses` in turn.
    private static func order(_ gateway: RunningGateway, at statuses: [String]) async throws {
        try await gateway.registerRider()
        _ = try await gateway.goOnline(PersonID("rider-1")!)
        let made = try await gateway.rest(
            "POST", "/api/v1/jobs", by: "orders", .service,
            #"{"job":"order-1","kind":"delivery","customer":"anna","rider":"rider-1","zone":"rome"}"#)
        #expect(made.status == 201, "\(made)")
        for status in statuses { try await self.change(to: status, gateway) }
    }

    private static func change(to status: String, _ gateway: RunningGateway) async throws {
        let answer = try await gateway.rest(
            "POST", "\(self.path)/status", by: "orders", .service, #"{"status":"\#(status)"}"#)
        #expect(answer.status == 200, "\(status): \(answer)")
    }

    private static func correct(
        _ gateway: RunningGateway, to status: String, because reason: String = "It was the wrong order.",
        by person: String = "olga", _ role: Role = .ops, headers: [String] = []
    ) async throws -> RESTResponse {
        try await gateway.rest(
            "POST", "\(self.path)/corrections", by: person, role, #"{"status":"\#(status)","reason":"\#(reason)"}"#,
            headers: headers)
    }

    private static func tasks(_ gateway: RunningGateway) async throws -> [JobID] {
        try await gateway.riders.tasks(of: PersonID("rider-1")!, in: RunningGateway.rome).get()
    }

    @Test func `an order that was delivered by mistake is on its way again, with its rider, link and lists`()
        async throws
    {
        try await Self.run { gateway in
            try await Self.order(gateway, at: Self.toTransit)
            let made = try await gateway.rest("POST", "\(Self.path)/links", by: "orders", .service)
            let secret: String = try #require(made.member("link"))
            try await Self.change(to: "delivered", gateway)
            #expect(try await Self.tasks(gateway).isEmpty)
            let corrected = try await Self.correct(gateway, to: "in_transit")
            #expect(corrected.status == 200 && corrected.member("status") == "in_transit", "\(corrected)")
            #expect(corrected.member("corrected") == "delivered" && corrected.member("rider") == "rider-1")

            #expect(try await Self.tasks(gateway) == [Self.order])
            let read = try await gateway.rest("GET", Self.path, by: "anna", .customer)
            #expect(read.member("status") == "in_transit", "\(read)")
            let travel = try await gateway.rest("PUT", "\(Self.path)/travel", by: "rider-1", .rider)
            #expect(travel.status == 200, "\(travel)")
            try await gateway.unsigned { guest, shown in
                try await guest.send(.auth(.link(secret)))
                _ = try await shown.welcome()
                try await guest.send(.subscribe(job: Self.order, since: nil))
                let shownStatus = try await shown.subscribed().status
                #expect(shownStatus == .inTransit)
            }
            try await becomes("the zone lists it again") {
                let list = try await gateway.rest("GET", "/api/v1/jobs?zone=rome", by: "olga", .ops)
                return list.text.contains(#""job":"order-1""#)
            }
            // The lifecycle continues from the corrected status.
            try await Self.change(to: "delivered", gateway)
            #expect(try await Self.tasks(gateway).isEmpty)
        }
    }

    @Test func `the log, the audit and the events have a correction, and only staff read its reason`() async throws {
        try await Self.run { gateway in
            try await Self.order(gateway, at: Self.toTransit + ["delivered"])
            #expect(try await Self.correct(gateway, to: "in_transit", because: "Wrong \\\"order\\\".").status == 200)
            let log = try await gateway.ledger.log(of: Self.order).get()
            let entry = try #require(log.last)
            #expect(entry.status == .inTransit && entry.corrected == .delivered && entry.reason == #"Wrong "order"."#)
            #expect(entry.actor == "olga" && entry.previous == log.dropLast().last?.id)
            #expect(log.dropLast().last?.status == .delivered)
            for (person, role, reads) in [("olga", Role.ops, true), ("anna", .customer, false)] {
                let text = try await gateway.rest("GET", "\(Self.path)/log", by: person, role).text
                #expect(text.contains(#""corrected":"delivered""#), "\(text)")
                #expect(text.contains("Wrong") == reads && text.contains("olga") == reads, "\(text)")
            }
            let event = try #require(try await gateway.events(about: Self.order).last { $0.kind == .corrected })
            #expect(event.data == #"{"status":"in_transit","previous":"delivered","actor":"olga"}"#)
            let audit = try await gateway.client.run("XRANGE", "audit", "-", "+").array ?? []
            let texts = audit.compactMap { $0.array?.last?.array?.compactMap(\.text) }
            #expect(texts.contains { $0.starts(with: ["type", "corrected", "job", "order-1", "from", "delivered"]) })
        }
    }

    @Test func `a correction whose positions cannot be closed is in the audit`() async throws {
        try await Self.run { gateway in
            try await Self.order(gateway, at: Self.toTransit)
            let travel = try await gateway.rest("PUT", "\(Self.path)/travel", by: "rider-1", .rider)
            #expect(travel.status == 200)
            // The feed is closed with SET, and nothing else in a correction needs it.
            try await gateway.client.run("ACL", "SETUSER", "default", "-set")
            let failed = try await Self.correct(gateway, to: "ready_for_pickup")
            #expect(failed.status >= 500, "\(failed)")
            let read = try await gateway.rest("GET", Self.path, by: "olga", .ops)
            #expect(read.member("status") == "ready_for_pickup", "\(read)")
            let audit = try await gateway.client.run("XRANGE", "audit", "-", "+").array ?? []
            let texts = audit.compactMap { $0.array?.last?.array?.compactMap(\.text) }
            #expect(texts.contains { $0.starts(with: ["type", "corrected", "job", "order-1", "from", "in_transit"]) })
        }
    }

    @Test func `followers receive a reset, and so does a client that missed a correction`() async throws {
        try await Self.run { gateway in
            try await Self.order(gateway, at: Self.toTransit)
            let travel = try await gateway.rest("PUT", "\(Self.path)/travel", by: "rider-1", .rider)
            #expect(travel.status == 200)
            let seen = try await gateway.connect("anna", .customer) { anna, messages in
                try await anna.send(.subscribe(job: Self.order, since: nil))
                let first = try await messages.subscribed()
                #expect(try await Self.correct(gateway, to: "ready_for_pickup").status == 200)
                let reset = try await messages.first { if case .reset(_, let state) = $0 { state } else { nil } }
                #expect(reset.status == .readyForPickup && reset.steps.count(where: { $0.state == .complete }) == 3)
                return first
            }
            // Travel mode ended, because the status does not allow it.
            let feed = try await gateway.feed.read(Self.order).get()
            #expect(!feed.isOpen)
            try await gateway.connect("anna", .customer) { anna, messages in
                try await anna.send(
                    .subscribe(job: Self.order, since: ResumePoint(epoch: seen.epoch, id: seen.id)))
                let reset = try await messages.first { if case .reset(_, let state) = $0 { state } else { nil } }
                #expect(reset.status == .readyForPickup && reset.missed.isEmpty)
            }
        }
    }

    private static func take(_ steps: [String], _ gateway: RunningGateway) async throws {
        for step in steps {
            let answer = try await gateway.rest(
                "POST", "\(self.path)/task", by: "rider-1", .rider, #"{"state":"\#(step)"}"#)
            #expect(answer.status == 200, "\(step): \(answer)")
        }
    }

    private static func state(_ gateway: RunningGateway) async throws -> TaskState? {
        try await gateway.riders.read(PersonID("rider-1")!, in: RunningGateway.rome).get()?.tasks[self.order]
    }

    @Test func `the rider of an open order continues from the corrected status`() async throws {
        try await Self.run { gateway in
            try await Self.order(gateway, at: Array(Self.toTransit.dropLast()))
            try await Self.take(["arrived_at_store", "picked_up", "in_transit"], gateway)
            #expect(try await Self.correct(gateway, to: "ready_for_pickup").status == 200)
            #expect(try await Self.state(gateway) == .accepted)
            try await Self.take(["arrived_at_store"], gateway)
            // A state that fits stays: the rider is at the store.
            #expect(try await Self.correct(gateway, to: "preparing").status == 200)
            #expect(try await Self.state(gateway) == .arrivedAtStore)
            #expect(try await Self.correct(gateway, to: "in_transit").status == 200)
            #expect(try await Self.state(gateway) == .inTransit)
            try await Self.take(["completed"], gateway)
            let read = try await gateway.rest("GET", Self.path, by: "olga", .ops)
            #expect(read.member("status") == "delivered", "\(read)")
            #expect(try await Self.tasks(gateway).isEmpty)
        }
    }

    @Test func `an order that is corrected after its pickup is picked up and delivered again`() async throws {
        try await Self.run { gateway in
            try await Self.order(gateway, at: Array(Self.toTransit.dropLast()))
            try await Self.take(["arrived_at_store", "picked_up"], gateway)
            #expect(try await Self.correct(gateway, to: "ready_for_pickup").status == 200)
            try await Self.take(["arrived_at_store", "picked_up", "in_transit", "completed"], gateway)
            #expect(try await gateway.ledger.recover(Self.order).get()?.record.status == .delivered)
        }
    }

    @Test func `a rider who cannot have the task again loses the job, and no rider is offline with a task`()
        async throws
    {
        try await Self.run { gateway in
            try await Self.order(gateway, at: Self.toTransit + ["delivered"])
            let offline = try await gateway.rest(
                "PATCH", "/api/v1/riders/me/status", by: "rider-1", .rider, #"{"status":"offline"}"#)
            #expect(offline.status == 200)
            let corrected = try await Self.correct(gateway, to: "ready_for_pickup")
            #expect(corrected.status == 200 && corrected.member("rider", as: String.self) == nil, "\(corrected)")
            #expect(try await gateway.ledger.recover(Self.order).get()?.record.rider == nil)
            #expect(try await Self.tasks(gateway).isEmpty)
            let kinds = try await gateway.events(about: Self.order).map(\.kind)
            #expect(kinds.suffix(2) == [.corrected, .assigned])
        }
    }

    @Test func `a correction that is repeated with its key is made once, whatever happened since`() async throws {
        try await Self.run { gateway in
            try await Self.order(gateway, at: Self.toTransit + ["delivered"])
            let key = ["Idempotency-Key: c-1"]
            let first = try await Self.correct(gateway, to: "in_transit", headers: key)
            let again = try await Self.correct(gateway, to: "in_transit", headers: key)
            #expect(first.status == 200 && again.text == first.text)
            // The stored response was lost, but the log contains the request.
            let kept = try await gateway.client.run("KEYS", "idempotency:*").array?.compactMap(\.text) ?? []
            for name in kept { try await gateway.client.run("DEL", name) }
            try await Self.change(to: "delivered", gateway)
            let late = try await Self.correct(gateway, to: "in_transit", headers: key)
            #expect(late.status == 200 && late.text == first.text, "\(late)")
            let record = try await gateway.ledger.recover(Self.order).get()?.record
            #expect(record?.status == .delivered)
            #expect(try await Self.tasks(gateway).isEmpty)
        }
    }

    @Test func `a key belongs to the person who sent it: another person's correction with it is made`() async throws {
        try await Self.run { gateway in
            try await Self.order(gateway, at: Self.toTransit + ["delivered"])
            let key = ["Idempotency-Key: c-1"]
            let first = try await Self.correct(gateway, to: "in_transit", headers: key)
            try await Self.change(to: "delivered", gateway)
            let other = try await Self.correct(gateway, to: "in_transit", by: "orders", .service, headers: key)
            #expect(first.status == 200 && other.status == 200 && other.text != first.text, "\(other)")
            let log = try await gateway.ledger.log(of: Self.order).get()
            #expect(log.filter { $0.corrected != nil }.map(\.actor) == ["olga", "orders"])
            #expect(try await gateway.ledger.recover(Self.order).get()?.record.status == .inTransit)
            #expect(try await Self.tasks(gateway) == [Self.order])
        }
    }

    @Test func `a correction is refused with its reason, and changes nothing`() async throws {
        try await Self.run { gateway in
            try await Self.order(gateway, at: Self.toTransit + ["delivered"])
            let before = try await gateway.ledger.recover(Self.order).get()?.record
            let same = try await Self.correct(gateway, to: "delivered")
            #expect(same.status == 409 && same.member("jobStatus") == "delivered", "\(same)")
            for (status, reason, detail) in [
                ("flying", "a", "status must be one of"), ("on_the_way", "a", "A delivery never has the status"),
                ("in_transit", "", "reason must be one line"), ("in_transit", "  ", "reason must be one line"),
                ("in_transit", "  ", "not only spaces"),
                ("in_transit", "a\\nb", "reason must be one line"),
                ("in_transit", String(repeating: "ä", count: 201), "reason must be one line"),
            ] {
                let answer = try await Self.correct(gateway, to: status, because: reason)
                #expect(answer.status == 422 && answer.text.contains(detail), "\(answer)")
            }
            let silent = try await gateway.rest(
                "POST", "\(Self.path)/corrections", by: "olga", .ops, #"{"status":"in_transit"}"#)
            #expect(silent.status == 422 && silent.text.contains("must contain reason"))
            let old = try await Self.correct(gateway, to: "in_transit", headers: ["If-Match: \"1-1\""])
            #expect(old.status == 412 && old.member("jobStatus") == "delivered")
            for (person, role) in [("anna", Role.customer), ("rider-1", .rider)] {
                #expect(try await Self.correct(gateway, to: "in_transit", by: person, role).status == 403)
            }
            let unknown = try await gateway.rest(
                "POST", "/api/v1/jobs/order-2/corrections", by: "olga", .ops, #"{"status":"delivered","reason":"a"}"#)
            #expect(unknown.status == 404)
            #expect(try await gateway.ledger.recover(Self.order).get()?.record == before)
        }
    }
}

import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// CUS-027: what a customer is shown of an order over WebSocket and REST. The rendering is tested in Tests/Browser; this suite
/// tests the data it is made from.
@Suite struct OrderStatusTests {
    private static let order = JobID("order-1")!
    private static let path = "/api/v1/jobs/order-1"

    /// One of Anna's orders, moved to each of `statuses` in turn.
    private static func order(at statuses: [JobStatus] = [], _ gateway: RunningGateway) async throws {
        let made = try await gateway.rest(
            "POST", "/api/v1/jobs", by: "orders", .service,
            #"{"job":"order-1","kind":"delivery","customer":"anna","rider":"rider-1"}"#)
        #expect(made.status == 201)
        for status in statuses { try await self.change(to: status, by: "orders", .service, gateway) }
    }

    private static func change(
        to status: JobStatus, by person: String, _ role: Role, _ gateway: RunningGateway
    ) async throws {
        let answer = try await gateway.rest(
            "POST", "\(self.path)/status", by: person, role, #"{"status":"\#(status.rawValue)"}"#)
        #expect(answer.status == 200, "\(status): \(answer.text)")
    }

    /// What the customer is shown: the status as text, and its steps by their first letters. WebSocket and REST must agree.
    private static func shown(_ gateway: RunningGateway) async throws -> (text: StatusText, steps: String) {
        let snapshot = try await gateway.connect("anna", .customer) { anna, messages in
            try await anna.send(.subscribe(job: Self.order, since: nil))
            return try await messages.subscribed()
        }
        let read = try await gateway.rest("GET", self.path, by: "anna", .customer)
        #expect(Array(read.text.utf8) == snapshot.json(job: Self.order))
        let letters: [StepState: String] = [.complete: "c", .active: "a", .upcoming: "u", .cancelled: "x"]
        return (StatusTexts.english[snapshot.status], snapshot.steps.compactMap { letters[$0.state] }.joined())
    }

    @Test func `CUS-027 AC-001: an order that waits for its vendor shows this as the first step`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.order(gateway)
                let shown = try await Self.shown(gateway)
                #expect(shown.text.short == "Waiting for vendor" && shown.steps == "auuuuu")
            }
        }
    }

    @Test func `CUS-027 AC-002: while an order is prepared, accepted is complete and preparing is the active step`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.order(at: [.accepted, .preparing], gateway)
                let shown = try await Self.shown(gateway)
                #expect(shown.text.short == "Preparing your order" && shown.steps == "ccauuu")
            }
        }
    }

    @Test func `CUS-027 AC-003: a customer watching an order is notified when it is ready`() async throws {
        try await within {
            try await RunningGateway.run { gateway in
                let order = Self.order
                try await gateway.connect("anna", .customer) { anna, messages in
                    _ = try await gateway.ledger.create(
                        NewJob(job: order, kind: .delivery, customer: PersonID("anna")!, actor: PersonID("orders")!),
                        epoch: "epoch"
                    ).get()
                    for status in [JobStatus.accepted, .preparing] {
                        _ = try await gateway.ledger.publish(
                            status, of: order, by: PersonID("orders")!, source: "event"
                        ).get()
                    }
                    try await anna.send(.subscribe(job: order, since: nil))
                    let before = try await messages.subscribed()
                    _ = try await gateway.ledger.publish(
                        .readyForPickup, of: order, by: PersonID("orders")!, source: "event"
                    ).get()
                    let event = try await messages.first { message in
                        if case .status(_, let event) = message { event } else { nil }
                    }
                    #expect(event.status == .readyForPickup && event.previous == before.id)
                    let steps = before.kind.progress(at: event.status).map(\.state)
                    #expect(steps == [.complete, .complete, .complete, .active, .upcoming, .upcoming])
                }
            }
        }
    }

    @Test func `CUS-027 AC-004: an order its rider has picked up is on its way`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.order(at: [.accepted, .preparing, .readyForPickup], gateway)
                try await Self.change(to: .inTransit, by: "rider-1", .rider, gateway)
                let shown = try await Self.shown(gateway)
                #expect(shown.text.short == "On its way" && shown.steps == "ccccau")
            }
        }
    }

    @Test func `CUS-027 AC-005: a delivered order can be read later, with every step complete`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.order(at: [.accepted, .preparing, .readyForPickup, .inTransit], gateway)
                try await Self.change(to: .delivered, by: "rider-1", .rider, gateway)
                let shown = try await Self.shown(gateway)
                #expect(shown.text.short == "Delivered" && shown.steps == "cccccc")
            }
        }
    }

    @Test(arguments: [("anna", Role.customer), ("olga", .ops), ("orders", .service)])
    func `CUS-027 AC-006: a cancelled order stays cancelled, whoever cancelled it`(person: String, role: Role)
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.order(at: role == .customer ? [] : [.accepted, .preparing], gateway)
                try await Self.change(to: .cancelled, by: person, role, gateway)
                let shown = try await Self.shown(gateway)
                #expect(shown.text.short == "Cancelled" && shown.steps == (role == .customer ? "xxxxxx" : "ccxxxx"))
                let after = try await gateway.rest(
                    "POST", "\(Self.path)/status", by: "orders", .service, #"{"status":"accepted"}"#)
                #expect(after.status == 409 && after.member("jobStatus") == "cancelled")
            }
        }
    }

    @Test func `CUS-027 AC-007: an order without a rider shows this and the next step, and is not final`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.order(at: [.accepted, .preparing, .readyForPickup, .allocationFailed], gateway)
                let shown = try await Self.shown(gateway)
                #expect(shown.text.long.contains("trouble finding a rider") && !shown.text.next.isEmpty)
                #expect(shown.steps == "cccauu")
                try await Self.change(to: .readyForPickup, by: "orders", .service, gateway)
                let after = try await Self.shown(gateway)
                #expect(after.steps == "cccauu" && after.text.short == "Order ready")
            }
        }
    }

    @Test func `CUS-027 AC-008: a reconnecting customer gets the current status, its start time and the missed events`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.order(at: [.accepted], gateway)
                let last = try await gateway.connect("anna", .customer) { anna, messages in
                    try await anna.send(.subscribe(job: Self.order, since: nil))
                    return try await messages.subscribed()
                }
                #expect(last.statusAt > 0)
                try await Self.change(to: .preparing, by: "orders", .service, gateway)
                try await gateway.connect("anna", .customer) { anna, messages in
                    try await anna.send(.subscribe(job: Self.order, since: ResumePoint(epoch: last.epoch, id: last.id)))
                    let now = try await messages.subscribed()
                    #expect(now.status == .preparing && now.statusAt >= last.statusAt)
                    #expect(now.missed.map(\.status) == [.preparing] && now.missed.first?.previous == last.id)
                }
            }
        }
    }

    @Test func `BR-CUS-027-01: only an order's customer and the platform can read it; for others it does not exist`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.order(gateway)
                for (person, role, status) in [
                    ("anna", Role.customer, 200), ("olga", .ops, 200), ("orders", .service, 200),
                    ("rider-1", .rider, 200),
                    ("bert", .customer, 404), ("rider-2", .rider, 404),
                ] {
                    let read = try await gateway.rest("GET", Self.path, by: person, role)
                    #expect(read.status == status, "\(person)")
                }
                // Others cannot change the order either, in any role.
                for (person, role) in [("bert", Role.customer), ("rider-2", .rider)] {
                    let status = role == .customer ? "cancelled" : "in_transit"
                    let change = try await gateway.rest(
                        "POST", "\(Self.path)/status", by: person, role, #"{"status":"\#(status)"}"#)
                    #expect(change.status == 404 && change.member("code") == "not_found", "\(change.text)")
                }
                let never = try await gateway.rest(
                    "POST", "\(Self.path)/status", by: "anna", .customer, #"{"status":"delivered"}"#)
                #expect(never.status == 403)
                try await Self.change(to: .accepted, by: "orders", .service, gateway)
                let late = try await gateway.rest(
                    "POST", "\(Self.path)/status", by: "anna", .customer, #"{"status":"cancelled"}"#)
                #expect(late.status == 409 && late.member("jobStatus") == "accepted")
            }
        }
    }
}

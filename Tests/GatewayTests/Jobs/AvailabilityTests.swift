import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Jobs
@testable import Realtime

/// RDR-009: riders declare their availability over WebSocket and REST, and are never offline with an active task. The tests of
/// the page are in Tests/Browser.
@Suite struct AvailabilityTests {
    private static let rider = PersonID("rider-1")!

    private static func declare(
        _ status: String, _ gateway: RunningGateway, headers: [String] = [], more: String = ""
    ) async throws -> RESTResponse {
        try await gateway.rest(
            "PATCH", "/api/v1/riders/me/status", by: "rider-1", .rider, #"{"status":"\#(status)"\#(more)}"#,
            headers: headers)
    }

    private static func me(_ gateway: RunningGateway) async throws -> RESTResponse {
        try await gateway.rest("GET", "/api/v1/riders/me", by: "rider-1", .rider)
    }

    /// A job of the rider, with its task at a given step.
    private static func order(
        _ gateway: RunningGateway, named name: String = "order-1", steps: [String] = []
    ) async throws {
        let made = try await gateway.rest(
            "POST", "/api/v1/jobs", by: "orders", .service,
            #"{"job":"\#(name)","kind":"delivery","customer":"anna","rider":"rider-1"}"#)
        #expect(made.status == 201, "\(made.text)")
        for status in ["accepted", "preparing", "ready_for_pickup"] {
            _ = try await gateway.rest(
                "POST", "/api/v1/jobs/\(name)/status", by: "orders", .service, #"{"status":"\#(status)"}"#)
        }
        for step in steps {
            let stepped = try await self.step(step, gateway, name)
            #expect(stepped.status == 200, "\(step): \(stepped.text)")
        }
    }

    private static func step(
        _ state: String, _ gateway: RunningGateway, _ name: String = "order-1"
    ) async throws -> RESTResponse {
        try await gateway.rest(
            "POST", "/api/v1/jobs/\(name)/task", by: "rider-1", .rider, #"{"state":"\#(state)"}"#)
    }

    private static func pool(_ gateway: RunningGateway) async throws -> [PersonID] {
        try await gateway.pool.read(RunningGateway.rome).get().members.map(\.rider)
    }

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.availabilityPerMinute = 1000 }) { gateway in
                try await gateway.registerRider()
                try await body(gateway)
            }
        }
    }

    @Test func `RDR-009-AC-01: a rider that goes online is online at the backend and in the pool`() async throws {
        try await Self.run { gateway in
            let before = try await Self.me(gateway)
            #expect(before.member("status") == "offline" && before.member("available") == false)
            let online = try await Self.declare("online", gateway)
            #expect(online.status == 200 && online.member("status") == "online" && online.member("available") == true)
            let pool = try await Self.pool(gateway)
            #expect(pool == [Self.rider])
            // The phone then reports the rider's place, so the nearest rider is found.
            let heard = try await gateway.rest(
                "PUT", "/api/v1/riders/me/presence", by: "rider-1", .rider, #"{"lat":41.9,"lon":12.5}"#)
            let near = try await gateway.rest(
                "GET", "/api/v1/zones/rome/riders/available?near=41.901,12.5&radius=500", by: "allocation", .service)
            #expect(heard.status == 204 && near.text.contains(#""rider":"rider-1""#))
        }
    }

    @Test func `RDR-009-AC-02: a rider that goes offline leaves the pool and gets no task`() async throws {
        try await Self.run { gateway in
            _ = try await Self.declare("online", gateway)
            let offline = try await Self.declare("offline", gateway)
            #expect(offline.status == 200 && offline.member("status") == "offline")
            let pool = try await Self.pool(gateway)
            #expect(pool.isEmpty)
            let order = try await gateway.rest(
                "POST", "/api/v1/jobs", by: "orders", .service,
                #"{"job":"order-1","kind":"delivery","customer":"anna","rider":"rider-1"}"#)
            #expect(order.status == 409 && order.member("code") == "rider_offline")
            let none = try await gateway.rest("GET", "/api/v1/jobs/order-1", by: "orders", .service)
            #expect(none.status == 404)
        }
    }

    @Test(arguments: [
        [], ["arrived_at_store"], ["arrived_at_store", "picked_up"], ["arrived_at_store", "picked_up", "in_transit"],
    ])
    func `RDR-009-AC-03: a rider with an active task cannot go offline, and stays online`(steps: [String])
        async throws
    {
        try await Self.run { gateway in
            _ = try await Self.declare("online", gateway)
            try await Self.order(gateway, steps: steps)
            let refused = try await Self.declare("offline", gateway)
            #expect(refused.status == 409 && refused.member("code") == "active_task")
            #expect(refused.member("detail") == "You cannot go offline during an active delivery.")
            #expect(refused.member("tasks") == ["order-1"])
            let me = try await Self.me(gateway)
            #expect(me.member("status") == "online")
            #expect(me.text.contains(#"{"job":"order-1","state":"\#(steps.last ?? "accepted")"}"#))
            // The same over WebSocket, and operations staff cannot bypass the rule.
            try await gateway.connect("rider-1", .rider) { rider, messages in
                try await rider.send(.availability(.offline, device: nil))
                let refusal = try await messages.refusal()
                #expect(refusal.code == .activeTask && refusal.tasks == [JobID("order-1")!])
                #expect(refusal.message == RiderService.activeTask && refusal.replyTo == "availability")
            }
            let forced = try await gateway.rest(
                "PATCH", "/api/v1/riders/rider-1/status", by: "olga", .ops, #"{"status":"offline","reason":"late"}"#)
            #expect(forced.status == 409 && forced.member("tasks") == ["order-1"])
        }
    }

    @Test func `RDR-009-AC-04: a change whose answer was lost is repeated with its id and made once`()
        async throws
    {
        try await Self.run { gateway in
            let first = try await Self.declare("online", gateway, headers: ["Idempotency-Key: tap-1"])
            let again = try await Self.declare("online", gateway, headers: ["Idempotency-Key: tap-1"])
            let version: String? = first.member("version")
            #expect(again.status == 200 && again.member("version") == version)
            let other = try await Self.declare("offline", gateway, headers: ["Idempotency-Key: tap-1"])
            #expect(other.status == 422)
            #expect(try await Self.me(gateway).member("status") == "online")
            // Without Redis, the response states that nothing was changed and when to retry.
            let redis = try #require(gateway.redis)
            kill(redis.processID, SIGKILL)
            let refused = try await Self.declare("offline", gateway)
            #expect(refused.status == 503 && refused.member("retryable") == true)
        }
    }

    @Test func `RDR-009-AC-05: a restarted app sees the declared status at any gateway`() async throws {
        try await Self.run { gateway in
            try await gateway.connect("rider-1", .rider) { rider, messages in
                try await rider.send(.availability(.online, device: DeviceID("phone-1")))
                let done = try await messages.first {
                    if case .ok("availability", _, _, _, _) = $0 { true } else { nil }
                }
                #expect(done)
            }
            let addresses = (gateway.settings.live, gateway.settings.ledger)
            try await RunningGateway.run(isSecure: false, at: addresses) { other in
                let me = try await Self.me(other)
                #expect(me.status == 200 && me.member("status") == "online" && me.member("device") == "phone-1")
            }
        }
    }

    @Test func `R1: every change answered with 200 is in the audit once, and refusals are counted`()
        async throws
    {
        try await Self.run { gateway in
            let start = try await gateway.pool.read(RunningGateway.rome).get().version
            let declared = ["online", "offline", "online"]
            for (index, status) in declared.enumerated() {
                let answer = try await Self.declare(
                    status, gateway, headers: ["Idempotency-Key: tap-\(index)"], more: #","device":"phone-1""#)
                #expect(answer.status == 200)
            }
            try await Self.order(gateway)
            for _ in 0..<3 { #expect(try await Self.declare("offline", gateway).status == 409) }
            let kinds = try await gateway.changes(since: start).map(\.kind)
            #expect(kinds == [.online, .offline, .online, .assigned])
            let log = try await gateway.client.send([
                "XREVRANGE", "riders:{rome}:audit", "+", "-", "COUNT", "2",
            ]).get()
            let entry = log.array?.last?.array?.last?.array?.compactMap(\.text) ?? []
            for (name, value) in [
                ("actor", "rider-1"), ("device", "phone-1"), ("request", "tap-2"), ("change", "online"),
            ] {
                let place = try #require(entry.firstIndex(of: name))
                #expect(entry[place + 1] == value)
            }
            try await gateway.waitForMetric("enroute_offline_refused_total 3")
        }
    }

    @Test func `picking up puts the job in transit, and completing delivers it and ends the task`() async throws {
        try await Self.run { gateway in
            _ = try await Self.declare("online", gateway)
            try await Self.order(gateway)
            func status() async throws -> String? {
                try await gateway.rest("GET", "/api/v1/jobs/order-1", by: "anna", .customer).member("status")
            }
            let early = try await Self.step("in_transit", gateway)
            #expect(early.status == 409)
            for _ in 0..<2 {
                let picked = try await Self.step("picked_up", gateway)
                #expect(picked.status == 200)
            }
            #expect(try await status() == "in_transit")
            for _ in 0..<2 {
                let done = try await Self.step("completed", gateway)
                #expect(done.status == 200 && done.text.contains(#""tasks":[]"#), "\(done.text)")
            }
            #expect(try await status() == "delivered")
            #expect(try await Self.pool(gateway) == [Self.rider])
            #expect(try await Self.declare("offline", gateway).status == 200)
        }
    }

    @Test func `a refused change of the job leaves the task unchanged`() async throws {
        try await Self.run { gateway in
            _ = try await Self.declare("online", gateway)
            let made = try await gateway.rest(
                "POST", "/api/v1/jobs", by: "orders", .service,
                #"{"job":"order-1","kind":"delivery","customer":"anna","rider":"rider-1"}"#)
            #expect(made.status == 201)
            let early = try await Self.step("picked_up", gateway)
            #expect(early.status == 409 && early.member("jobStatus") == "pending_vendor_acceptance")
            #expect(try await Self.me(gateway).text.contains(#""state":"accepted""#))
        }
    }

    @Test(arguments: ["cancelled", "reassigned", "unassigned", "given back", "event"])
    func `a task ends with its job, or when the job is assigned to another rider`(how: String) async throws {
        try await Self.run { gateway in
            try await gateway.registerRider("rider-2")
            _ = try await Self.declare("online", gateway)
            _ = try await gateway.rest(
                "PATCH", "/api/v1/riders/me/status", by: "rider-2", .rider, #"{"status":"online"}"#)
            try await Self.order(gateway)
            let path = "/api/v1/jobs/order-1"
            let answer =
                switch how {
                case "cancelled":
                    try await gateway.rest("POST", path + "/status", by: "olga", .ops, #"{"status":"cancelled"}"#)
                case "reassigned":
                    try await gateway.rest(
                        "PUT", path + "/assignment", by: "orders", .service,
                        #"{"rider":"rider-2","insteadOf":"rider-1"}"#)
                case "unassigned": try await gateway.rest("DELETE", path + "/assignment", by: "orders", .service)
                case "given back": try await Self.step("cancelled", gateway)
                default:
                    try await gateway.rest(
                        "POST", "/api/v1/events", by: "orders", .service,
                        SampleRequest.event("e-1", "cancelled", #"{"job":"order-1"}"#),
                        headers: ["Content-Type: application/cloudevents+json"])
                }
            #expect(answer.status == 200, "\(answer.text)")
            let me = try await Self.me(gateway)
            #expect(me.text.contains(#""tasks":[]"#) && me.member("available") == true)
            #expect(try await Self.declare("offline", gateway).status == 200)
            let other = try await gateway.rest("GET", "/api/v1/riders/rider-2", by: "olga", .ops)
            #expect(other.text.contains(#""job":"order-1""#) == (how == "reassigned"))
        }
    }

    @Test func `an invalid value is refused by its name`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let stranger = try await Self.declare("online", gateway)
                #expect(stranger.status == 403)
                try await gateway.registerRider(isApproved: false)
                let unapproved = try await Self.declare("online", gateway)
                #expect(unapproved.status == 403 && unapproved.text.contains("not approved"))
                let anonymous = try await gateway.rest(
                    "PATCH", "/api/v1/riders/me/status", as: nil, #"{"status":"online"}"#)
                #expect(anonymous.status == 401)
                var last = unapproved
                // Six changes a minute are allowed, and two were used.
                for _ in 0..<5 { last = try await Self.declare("online", gateway) }
                #expect(last.status == 429 && last.headers["retry-after"] != nil)
            }
        }
    }

    @Test func `a rider whose approval is withdrawn finishes its tasks and gets no new ones`() async throws {
        try await Self.run { gateway in
            _ = try await Self.declare("online", gateway)
            try await Self.order(gateway)
            let withdrawn = try await gateway.rest(
                "PUT", "/api/v1/riders/rider-1", by: "orders", .service,
                #"{"zone":"rome","approved":false,"capacity":2}"#)
            #expect(withdrawn.status == 200 && withdrawn.member("draining") == true)
            let more = try await gateway.rest(
                "POST", "/api/v1/jobs", by: "orders", .service,
                #"{"job":"order-2","kind":"delivery","customer":"anna","rider":"rider-1"}"#)
            #expect(more.status == 409 && more.member("code") == "rider_offline")
            #expect(try await Self.step("picked_up", gateway).status == 200)
        }
    }
}

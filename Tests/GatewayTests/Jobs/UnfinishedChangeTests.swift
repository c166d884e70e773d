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

/// Changes that the ledger has made, but whose work in the live instance failed.
@Suite struct UnfinishedChangeTests {
    private static let order = JobID("order-1")!
    private static let path = "/api/v1/jobs/order-1"

    /// An order in transit whose rider shares its position.
    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { gateway in
                try await gateway.registerRider()
                _ = try await gateway.goOnline(PersonID("rider-1")!)
                let made = try await gateway.rest(
                    "POST", "/api/v1/jobs", by: "orders", .service,
                    #"{"job":"order-1","kind":"delivery","customer":"anna","rider":"rider-1","zone":"rome"}"#)
                #expect(made.status == 201, "\(made)")
                for status in ["accepted", "preparing", "ready_for_pickup", "in_transit"] {
                    #expect(try await self.change(gateway, to: status).status == 200)
                }
                let travel = try await gateway.rest("PUT", "\(self.path)/travel", by: "rider-1", .rider)
                #expect(travel.status == 200, "\(travel)")
                try await body(gateway)
            }
        }
    }

    private static func change(_ gateway: RunningGateway, to status: String) async throws -> RESTResponse {
        try await gateway.rest("POST", "\(self.path)/status", by: "orders", .service, #"{"status":"\#(status)"}"#)
    }

    private static func correct(_ gateway: RunningGateway, to status: String) async throws -> RESTResponse {
        try await gateway.rest(
            "POST", "\(self.path)/corrections", by: "olga", .ops, #"{"status":"\#(status)","reason":"Too early."}"#)
    }

    /// While `body` runs, the feed cannot be closed.
    private static func withBrokenFeed(
        _ gateway: RunningGateway, _ body: () async throws -> Void
    ) async throws {
        #expect(try await Self.isOpen(gateway))
        // The feed is closed with SET, and nothing else in these changes needs it.
        try await gateway.client.run("ACL", "SETUSER", "default", "-set")
        try await body()
        #expect(try await Self.isOpen(gateway))
        try await gateway.client.run("ACL", "SETUSER", "default", "+set")
    }

    private static func isOpen(_ gateway: RunningGateway) async throws -> Bool {
        try await gateway.feed.read(self.order).get().isOpen
    }

    @Test func `a feed that could not be closed with the job is closed later, and the task is released at once`()
        async throws
    {
        try await Self.run { gateway in
            try await Self.withBrokenFeed(gateway) {
                #expect(try await Self.change(gateway, to: "delivered").status >= 500)
                let tasks = try await gateway.riders.tasks(of: PersonID("rider-1")!, in: RunningGateway.rome).get()
                #expect(tasks.isEmpty)
            }
            try await becomes("nobody repeats the request, and the feed is closed") {
                try await !Self.isOpen(gateway)
            }
        }
    }

    @Test func `a feed that could not be closed with a correction is closed later, with one audit entry`() async throws
    {
        try await Self.run { gateway in
            try await Self.withBrokenFeed(gateway) {
                let answer = try await Self.correct(gateway, to: "ready_for_pickup")
                #expect(answer.status >= 500, "\(answer)")
            }
            try await becomes("nobody repeats the request, and the feed is closed") {
                try await !Self.isOpen(gateway)
            }
            let audit = try await gateway.client.run("XRANGE", "audit", "-", "+").array ?? []
            let texts = audit.compactMap { $0.array?.last?.array?.compactMap(\.text) }
            #expect(texts.count(where: { $0.starts(with: ["type", "corrected", "job", "order-1"]) }) == 1)
        }
    }

    @Test func `the next request for the same status finishes what another gateway has left, and is refused`()
        async throws
    {
        try await Self.run { gateway in
            // The gateway that made each change stopped before it closed the feed.
            let actor = PersonID("orders")!
            _ = try await gateway.ledger.publish(.delivered, of: Self.order, by: actor, source: "rest").get()
            #expect(try await Self.isOpen(gateway))
            #expect(try await Self.change(gateway, to: "delivered").status == 409)
            #expect(try await !Self.isOpen(gateway))
            let tasks = try await gateway.riders.tasks(of: PersonID("rider-1")!, in: RunningGateway.rome).get()
            #expect(tasks.isEmpty)

            #expect(try await Self.correct(gateway, to: "in_transit").status == 200)
            let travel = try await gateway.rest("PUT", "\(Self.path)/travel", by: "rider-1", .rider)
            #expect(travel.status == 200, "\(travel)")
            let record = try #require(try await gateway.ledger.recover(Self.order).get()).record
            let correction = StatusCorrection(to: .readyForPickup, because: "Too early.", by: actor)
            _ = try await gateway.ledger.correct(Self.order, correction, of: record, dropsRider: false).get()
            #expect(try await Self.isOpen(gateway))
            #expect(try await Self.correct(gateway, to: "ready_for_pickup").status == 409)
            #expect(try await !Self.isOpen(gateway))
        }
    }

    @Test func `a rider who repeats the completion of a task stops sharing, although another gateway made the change`()
        async throws
    {
        try await Self.run { gateway in
            // The gateway that made the change stopped before it closed the feed.
            let rider = PersonID("rider-1")!
            _ = try await gateway.ledger.publish(.delivered, of: Self.order, by: rider, source: "rest").get()
            for _ in 0..<2 {
                #expect(try await Self.complete(gateway).status == 200)
                #expect(try await !Self.isOpen(gateway))
                #expect(try await gateway.riders.tasks(of: rider, in: RunningGateway.rome).get().isEmpty)
            }
        }
    }

    @Test func `the repeated completion of a task fails as long as the feed cannot be closed`() async throws {
        try await Self.run { gateway in
            _ = try await gateway.ledger.publish(.delivered, of: Self.order, by: PersonID("rider-1")!, source: "rest")
                .get()
            try await Self.withBrokenFeed(gateway) {
                let failed = try await Self.complete(gateway)
                #expect(failed.status >= 500, "\(failed)")
            }
            #expect(try await Self.complete(gateway).status == 200)
            #expect(try await !Self.isOpen(gateway))
        }
    }

    private static func complete(_ gateway: RunningGateway) async throws -> RESTResponse {
        try await gateway.rest("POST", "\(self.path)/task", by: "rider-1", .rider, #"{"state":"completed"}"#)
    }
}

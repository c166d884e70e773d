import EnrouteWire
import HTTPValues
import LiveState
import TestSupport
import Testing

@testable import Gateway

/// A rider's task whose job has a malformed record. Nothing says whether the task is stale, so the rider keeps it.
@Suite struct MalformedTaskTests {
    private static let rider = PersonID("rider-1")!

    /// A rider at their capacity: `order-1` is malformed, and `order-2` is their job.
    private static func run(
        capacity: Int = 2, _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.sweepPace = .milliseconds(20) }) { gateway in
                try await gateway.registerRider(capacity: capacity)
                try await gateway.goOnline(Self.rider)
                for name in ["order-1", "order-2"] {
                    let made = try await gateway.rest(
                        "POST", "/api/v1/jobs", by: "orders", .service,
                        #"{"job":"\#(name)","kind":"delivery","customer":"anna","rider":"rider-1"}"#)
                    #expect(made.status == 201, "\(made.text)")
                }
                let record = gateway.settings.liveState.keyspace.job(JobID("order-1")!)
                try await gateway.client.run("HSET", record, "rider", "not a rider")
                try await body(gateway)
            }
        }
    }

    @Test func `a rider with the task of a malformed job cannot go offline`() async throws {
        try await Self.run { gateway in
            let refused = try await gateway.rest(
                "PATCH", "/api/v1/riders/me/status", by: "rider-1", .rider, #"{"status":"offline"}"#)
            #expect(refused.status == 409 && refused.member("code") == "active_task", "\(refused)")
        }
    }

    @Test func `an assignment to a full rider with the task of a malformed job is refused because the rider is busy`()
        async throws
    {
        try await Self.run { gateway in
            let refused = try await gateway.rest(
                "POST", "/api/v1/jobs", by: "orders", .service,
                #"{"job":"order-3","kind":"delivery","customer":"anna","rider":"rider-1"}"#)
            #expect(refused.status == 409 && refused.member("code") == "rider_busy", "\(refused)")
        }
    }

    @Test func `a sweep releases leftover tasks although another job of the zone is malformed`() async throws {
        try await Self.run(capacity: 3) { gateway in
            let keyspace = gateway.settings.liveState.keyspace
            try await gateway.client.run(
                "HSET", keyspace.tasks(of: Self.rider, in: RunningGateway.rome), "leftover", "accepted")
            // Younger tasks may belong to an assignment in progress.
            let longAgo = (WallClock.nowMilliseconds - 120_000) * 1000
            try await gateway.client.run(
                "HSET", keyspace.rider(Self.rider, in: RunningGateway.rome), "version", "\(longAgo)")
            try await becomes("the leftover task is released, and counted") {
                try await gateway.manage("/metrics").text.contains("enroute_tasks_released_total 1\n")
            }
            let tasks = try await gateway.riders.tasks(of: Self.rider, in: RunningGateway.rome).get()
            #expect(Set(tasks) == [JobID("order-1")!, JobID("order-2")!])
        }
    }
}

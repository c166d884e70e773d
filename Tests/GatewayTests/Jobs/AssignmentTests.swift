import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Assigning jobs to riders of a zone: the service requests it, the zone decides, and afterwards both records agree.
@Suite struct AssignmentTests {
    private static func job(_ name: String, _ gateway: RunningGateway) async throws {
        let made = try await gateway.rest(
            "POST", "/api/v1/jobs", by: "orders", .service,
            #"{"job":"\#(name)","kind":"delivery","customer":"anna"}"#)
        #expect(made.status == 201)
    }

    private static func assign(
        _ name: String, to rider: String, _ gateway: RunningGateway, insteadOf: String? = nil
    ) async throws -> RESTResponse {
        let holder = insteadOf.map { #","insteadOf":"\#($0)""# } ?? ""
        return try await gateway.rest(
            "PUT", "/api/v1/jobs/\(name)/assignment", by: "allocation", .service, #"{"rider":"\#(rider)"\#(holder)}"#)
    }

    private static func declare(_ status: String, _ rider: String, _ gateway: RunningGateway) async throws
        -> RESTResponse
    {
        try await gateway.rest(
            "PATCH", "/api/v1/riders/me/status", by: rider, .rider, #"{"status":"\#(status)"}"#)
    }

    private static let manyDeclarations: @Sendable (inout GatewaySettings) -> Void = {
        $0.limits.availabilityPerMinute = 10_000
        ($0.limits.requestsPerPersonPerSecond, $0.limits.requestsPerPersonBurst) = (10_000, 10_000)
        $0.limits.connectionsPerAddress = 0
    }

    @Test func `a job is not assigned to an offline, busy or unknown rider, nor to a second rider`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for rider in ["rider-1", "rider-2"] { try await gateway.registerRider(rider) }
                for name in ["a", "b"] { try await Self.job(name, gateway) }
                let offline = try await Self.assign("a", to: "rider-1", gateway)
                #expect(offline.status == 409 && offline.member("code") == "rider_offline")
                for rider in ["rider-1", "rider-2"] { _ = try await Self.declare("online", rider, gateway) }
                let first = try await Self.assign("a", to: "rider-1", gateway)
                let fence = try #require(first.member("fence", as: Int.self))
                let again = try await Self.assign("a", to: "rider-1", gateway)
                #expect(first.status == 200 && again.status == 200 && again.member("fence") == fence)
                let busy = try await Self.assign("b", to: "rider-1", gateway)
                #expect(busy.status == 409 && busy.member("code") == "rider_busy" && busy.member("tasks") == ["a"])
                #expect(busy.member("detail") == "rider-1 already has 1 task, the maximum.")
                let taken = try await Self.assign("a", to: "rider-2", gateway)
                #expect(taken.status == 409 && taken.member("code") == "conflict")
                let handed = try await Self.assign("a", to: "rider-2", gateway, insteadOf: "rider-1")
                #expect(handed.status == 200 && (handed.member("fence") ?? 0) > fence)
                #expect(try await Self.declare("offline", "rider-1", gateway).status == 200)
                #expect(try await Self.declare("offline", "rider-2", gateway).status == 409)
                // A rider that is in no zone accepts every assignment.
                #expect(try await Self.assign("b", to: "stranger", gateway).status == 200)
            }
        }
    }

    @Test func `a job whose hand-over is refused stays with its rider, and so does the task`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for rider in ["rider-1", "rider-2"] { try await gateway.registerRider(rider) }
                try await Self.job("a", gateway)
                _ = try await Self.declare("online", "rider-1", gateway)
                #expect(try await Self.assign("a", to: "rider-1", gateway).status == 200)
                // The rider is unreachable: it gets no new task and keeps the ones it has.
                _ = try await gateway.client.send(["HSET", "rider:{rome}:rider-1", "heartbeat", "1"]).get()
                let refused = try await Self.assign("a", to: "rider-2", gateway, insteadOf: "rider-1")
                #expect(refused.status == 409 && refused.member("code") == "rider_offline")
                let record = try await gateway.ledger.recover(JobID("a")!).get()?.record
                #expect(record?.rider == PersonID("rider-1"))
                #expect(try await Self.declare("offline", "rider-1", gateway).status == 409)
            }
        }
    }

    @Test func `a rider at its capacity cannot take over a job, and the task stays with the other rider`() async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for (rider, name) in [("rider-1", "a"), ("rider-2", "b")] {
                    try await gateway.registerRider(rider)
                    _ = try await Self.declare("online", rider, gateway)
                    try await Self.job(name, gateway)
                    #expect(try await Self.assign(name, to: rider, gateway).status == 200)
                }
                let refused = try await Self.assign("a", to: "rider-2", gateway, insteadOf: "rider-1")
                #expect(refused.status == 409 && refused.member("code") == "rider_busy")
                let record = try await gateway.ledger.recover(JobID("a")!).get()?.record
                #expect(record?.rider == PersonID("rider-1"))
                #expect(try await Self.declare("offline", "rider-1", gateway).status == 409)
            }
        }
    }

    @Test func `of several services that assign one job to different riders exactly one succeeds, on two gateways`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.manyDeclarations) { first in
                let addresses = (first.settings.live, first.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: addresses, Self.manyDeclarations) { second in
                    let riders = (1...6).map { "rider-\($0)" }
                    for rider in riders {
                        try await first.registerRider(rider, capacity: 100)
                        _ = try await Self.declare("online", rider, first)
                    }
                    for round in 0..<10 {
                        let name = "job-\(round)"
                        try await Self.job(name, first)
                        let statuses = try await withThrowingTaskGroup(of: (String, Int).self) { group in
                            for (index, rider) in riders.enumerated() {
                                group.addTask {
                                    let gateway = index.isMultiple(of: 2) ? first : second
                                    return (rider, try await Self.assign(name, to: rider, gateway).status)
                                }
                            }
                            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
                        }
                        let winners = statuses.filter { $0.value == 200 }.keys
                        #expect(
                            winners.count == 1 && Set(statuses.values).isSubset(of: [200, 409, 503]), "\(statuses)")
                        let record = try await first.ledger.recover(JobID(name)!).get()?.record
                        let owner = try await first.riders.owner(of: JobID(name)!, in: RunningGateway.rome).get()
                        #expect(record?.rider == winners.first.flatMap { PersonID($0) } && owner == record?.rider)
                    }
                }
            }
        }
    }

    @Test func `RDR-009: of an assignment and going offline exactly one wins, and no job has an offline rider`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.manyDeclarations) { first in
                let addresses = (first.settings.live, first.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: addresses, Self.manyDeclarations) { second in
                    try await first.registerRider()
                    for round in 0..<60 {
                        let name = "job-\(round)"
                        try await Self.job(name, first)
                        #expect(try await Self.declare("online", "rider-1", first).status == 200)
                        async let assigning = Self.assign(name, to: "rider-1", first)
                        async let leaving = Self.declare("offline", "rider-1", second)
                        let (assigned, left) = try await (assigning.status, leaving.status)
                        #expect(Set([assigned, left]) == [200, 409], "\(assigned) \(left)")
                        let record = try #require(try await first.ledger.recover(JobID(name)!).get()).record
                        #expect((record.rider == nil) == (left == 200))
                        let freed = try await first.rest(
                            "DELETE", "/api/v1/jobs/\(name)/assignment", by: "allocation", .service)
                        #expect(freed.status == 200)
                    }
                }
            }
        }
    }

    @Test func `tasks that a dead gateway left behind are found by a sweep and by going offline`()
        async throws
    {
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                {
                    Self.manyDeclarations(&$0)
                    $0.sweepPace = .milliseconds(20)
                }
            ) { gateway in
                for rider in ["rider-1", "rider-2"] {
                    try await gateway.registerRider(rider, capacity: 2)
                    _ = try await Self.declare("online", rider, gateway)
                }
                // Tasks without a matching job: the gateway died after it changed the zone and before it changed the
                // job's record.
                for (name, rider) in [("a", "rider-1"), ("b", "rider-2")] {
                    try await Self.job(name, gateway)
                    _ = try await gateway.riders.assign(
                        JobID(name)!, to: PersonID(rider)!, in: RunningGateway.rome, by: RunningGateway.allocation
                    ).get()
                }
                // An assignment may be in progress, so at first nothing is released.
                #expect(try await Self.declare("offline", "rider-1", gateway).status == 409)
                for rider in ["rider-1", "rider-2"] {
                    let longAgo = String((Int64(Date.now.timeIntervalSince1970) - 120) * 1_000_000)
                    _ = try await gateway.client.send([
                        "HSET", .text("rider:{rome}:\(rider)"), "version", .text(longAgo),
                    ])
                    .get()
                }
                #expect(try await Self.declare("offline", "rider-1", gateway).status == 200)
                try await becomes("the sweep has released the other") {
                    try await gateway.riders.owner(of: JobID("b")!, in: RunningGateway.rome).get() == nil
                }
            }
        }
    }

    @Test func `a rider whose job was handed over becomes free, although its task was not released`() async throws {
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                {
                    Self.manyDeclarations(&$0)
                    $0.sweepPace = .milliseconds(20)
                }
            ) { gateway in
                // An error in one zone's jobs does not block the other zones.
                for number in 0..<9 {
                    let (zone, job) = ("broken-\(number)", "broken-\(number)")
                    try await gateway.client.run("SADD", gateway.settings.liveState.keyspace.zones, zone)
                    try await gateway.client.run("HSET", "riders:{\(zone)}:tasks", job, "rider-\(number)")
                    try await gateway.client.run("HSET", "rider:{\(zone)}:rider-\(number)", "version", "1")
                    try await gateway.client.run("SET", "job:{\(job)}", "no hash")
                }
                for rider in ["rider-1", "rider-2"] {
                    try await gateway.registerRider(rider)
                    _ = try await Self.declare("online", rider, gateway)
                }
                try await Self.job("a", gateway)
                #expect(try await Self.assign("a", to: "rider-1", gateway).status == 200)
                #expect(try await Self.assign("a", to: "rider-2", gateway, insteadOf: "rider-1").status == 200)
                // The state that a gateway leaves when it dies before it releases the first rider's task.
                try await gateway.client.run("HSET", "rider:{rome}:rider-1:tasks", "a", "accepted")
                let longAgo = String((Int64(Date.now.timeIntervalSince1970) - 120) * 1_000_000)
                try await gateway.client.run("HSET", "rider:{rome}:rider-1", "version", longAgo)
                try await becomes("the sweep has released it") {
                    try await gateway.riders.tasks(of: PersonID("rider-1")!, in: RunningGateway.rome).get().isEmpty
                }
                let owner = try await gateway.riders.owner(of: JobID("a")!, in: RunningGateway.rome).get()
                #expect(owner == PersonID("rider-2"))
            }
        }
    }

    @Test func `the older of a rider's two devices is notified that it was replaced`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await gateway.registerRider()
                try await gateway.connect("rider-1", .rider) { old, oldMessages in
                    try await old.send(.availability(.online, device: DeviceID("old")))
                    _ = try await oldMessages.first {
                        if case .ok("availability", _, _, _, _) = $0 { true } else { nil }
                    }
                    try await gateway.connect("rider-1", .rider) { new, newMessages in
                        try await new.send(.availability(.online, device: DeviceID("new")))
                        _ = try await newMessages.first {
                            if case .ok("availability", _, _, _, _) = $0 { true } else { nil }
                        }
                        try await old.send(.presence(Coordinate(latitude: 41.9, longitude: 12.5), device: nil))
                        let end = await Result { while try await oldMessages.next() != nil {} }
                        #expect(
                            throws: ClientError.closed(code: 4506, reason: "replaced by another device of this rider")
                        ) {
                            try end.get()
                        }
                        try await new.send(.presence(Coordinate(latitude: 41.9, longitude: 12.5), device: nil))
                        let isHeard = try await newMessages.first {
                            if case .ok("presence", _, _, _, _) = $0 { true } else { nil }
                        }
                        #expect(isHeard)
                    }
                }
            }
        }
    }
}

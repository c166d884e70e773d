import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Jobs

/// Jobs that a rider got before it was put into a zone: they become its tasks when it goes online there.
@Suite struct EarlierJobTests {
    private static let rider = PersonID("rider-1")!
    private static let other = PersonID("rider-2")!
    private static let actor = PersonID("olga")!

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                {
                    $0.limits.allowManyMessages()
                    $0.limits.availabilityPerMinute = 10_000
                    ($0.limits.requestsPerPersonPerSecond, $0.limits.requestsPerPersonBurst) = (10_000, 10_000)
                    $0.limits.connectionsPerAddress = 0
                }, body)
        }
    }

    /// Creates a service visit of a rider.
    private static func visit(
        _ name: String, of rider: PersonID = Self.rider, _ jobs: JobService
    ) async throws -> JobID {
        let job = JobID(name)!
        let new = NewJob(
            job: job, kind: .service, customer: PersonID("anna")!, rider: rider, zone: RunningGateway.rome,
            actor: Self.actor)
        _ = try await jobs.create(new, epoch: "e-\(name)").get()
        return job
    }

    private static func declare(
        _ status: String, _ gateway: RunningGateway, _ rider: PersonID = Self.rider
    ) async throws -> RESTResponse {
        try await gateway.rest(
            "PATCH", "/api/v1/riders/me/status", by: rider.text, .rider, #"{"status":"\#(status)"}"#)
    }

    private static func tasks(
        _ gateway: RunningGateway, of rider: PersonID = Self.rider, in zone: ZoneID = RunningGateway.rome
    ) async throws -> Set<JobID> {
        Set(try await gateway.riders.tasks(of: rider, in: zone).get())
    }

    @Test func `a rider who goes online in a new zone has the open jobs from before as tasks`() async throws {
        try await Self.run { gateway in
            let jobs = gateway.jobs()
            let (visit, ended) = (try await Self.visit("visit", jobs), try await Self.visit("ended", jobs))
            let reassigned = try await Self.visit("reassigned", jobs)
            _ = try await jobs.change(ended, to: .cancelled, by: Self.actor, source: "rest").get()
            _ = try await jobs.assign(reassigned, to: .some(PersonID("stranger")!), of: nil, by: Self.actor).get()
            _ = try await jobs.change(visit, to: .onTheWay, by: Self.actor, source: "rest").get()
            try await gateway.register(Self.rider)
            let online = try await Self.declare("online", gateway)
            #expect(online.status == 200)
            let task: [[String: String]]? = online.member("tasks")
            #expect(task == [["job": "visit", "state": "accepted"]])
            let offline = try await Self.declare("offline", gateway)
            #expect(offline.status == 409 && offline.member("code") == "active_task")
            #expect(offline.member("tasks") == ["visit"])
            let removed = try await gateway.rest("DELETE", "/api/v1/riders/rider-1", by: "orders", .service)
            #expect(removed.status == 409 && removed.member("code") == "active_task")
            let step = try await gateway.rest(
                "POST", "/api/v1/jobs/visit/task", by: "rider-1", .rider, #"{"state":"in_transit"}"#)
            #expect(step.status == 200, "\(step.text)")
            _ = try await jobs.change(visit, to: .cancelled, by: Self.actor, source: "rest").get()
            #expect(try await Self.declare("offline", gateway).status == 200)
        }
    }

    @Test func `the jobs from before become tasks beyond the capacity, and the rider gets no others`() async throws {
        try await Self.run { gateway in
            let jobs = gateway.jobs()
            let before: Set = [try await Self.visit("a", jobs), try await Self.visit("b", jobs)]
            try await gateway.register(Self.rider, capacity: 1)
            let online = try await Self.declare("online", gateway)
            #expect(online.status == 200 && online.member("available") == false)
            #expect(try await Self.tasks(gateway) == before)
            for job in before {
                #expect(try await gateway.ledger.state(of: job).get()?.rider == Self.rider)
            }
            await #expect(throws: Refused.self) { _ = try await Self.visit("c", jobs) }
        }
    }

    @Test func `a rider who is put into a zone stays offline and without tasks until going online`() async throws {
        try await Self.run { gateway in
            let jobs = gateway.jobs()
            let job = try await Self.visit("a", jobs)
            try await gateway.register(Self.rider)
            #expect(try await Self.declare("offline", gateway).status == 200)
            #expect(try await Self.tasks(gateway) == [])
            let record = try #require(try await gateway.riders.read(Self.rider, in: RunningGateway.rome).get())
            #expect(record.status == .offline)
            #expect(try await gateway.ledger.state(of: job).get()?.rider == Self.rider)
            // Another zone, still before the first time online.
            let milan = ZoneID("milan")!
            try await gateway.registerRider(Self.rider.text, in: milan.text)
            #expect(try await Self.declare("online", gateway).status == 200)
            #expect(try await Self.tasks(gateway, in: milan) == [job])
        }
    }

    @Test func `jobs from before become tasks although the gateway that set the rider online has died`() async throws {
        try await Self.run { gateway in
            let job = try await Self.visit("a", gateway.jobs())
            try await gateway.register(Self.rider)
            try await gateway.goOnline(Self.rider)
            #expect(try await Self.tasks(gateway) == [])
            #expect(try await Self.declare("offline", gateway).status == 409)
            #expect(try await Self.tasks(gateway) == [job])
        }
    }

    @Test func `the list of a rider's jobs is not read again once they are tasks`() async throws {
        try await Self.run { gateway in
            let jobs = gateway.jobs()
            try await gateway.register(Self.rider)
            #expect(try await Self.declare("online", gateway).status == 200)
            let job = try await Self.visit("a", jobs)
            _ = try await gateway.riders.release(
                job, of: Self.rider, in: RunningGateway.rome, because: .reassigned, by: RunningGateway.allocation
            ).get()
            #expect(try await Self.declare("online", gateway).status == 200)
            #expect(try await Self.tasks(gateway) == [])
        }
    }

    @Test func `two gateways that set a rider online at once make each job one task`() async throws {
        try await Self.run { one in
            try await RunningGateway.run(isSecure: false, at: (one.settings.live, one.settings.ledger)) { two in
                let names = (0..<8).map { "job-\($0)" }
                for name in names { _ = try await Self.visit(name, one.jobs()) }
                try await one.register(Self.rider)
                async let first = Self.declare("online", one)
                async let second = Self.declare("online", two)
                let answers = try await [first.status, second.status]
                #expect(answers == [200, 200])
                #expect(try await Self.tasks(one) == Set(names.map { JobID($0)! }))
                let owners = try await one.riders.taskOwners(in: RunningGateway.rome).get()
                #expect(owners == Array(repeating: Self.rider, count: names.count))
            }
        }
    }

    @Test func `a job that is handed over while its rider goes online is a task of the rider in its record`()
        async throws
    {
        try await Self.run { gateway in
            let jobs = gateway.jobs()
            try await gateway.register(Self.other, capacity: 100)
            try await gateway.goOnline(Self.other)
            for number in 0..<40 {
                let rider = PersonID("late-\(number)")!
                let job = try await Self.visit("job-\(number)", of: rider, jobs)
                try await gateway.register(rider)
                async let online = Self.declare("online", gateway, rider)
                async let assigned = jobs.assign(
                    job, to: .some(Self.other), of: nil, by: Self.actor, from: .only(rider)
                ).get()
                _ = try await (online, assigned)
                #expect(try await Self.tasks(gateway, of: rider) == [], "order \(number)")
                #expect(try await Self.tasks(gateway, of: Self.other).contains(job), "order \(number)")
            }
        }
    }

    @Test func `a job that is assigned while its rider enters a zone is a task if the rider has it`() async throws {
        try await Self.run { gateway in
            let jobs = gateway.jobs()
            for number in 0..<40 {
                let rider = PersonID("late-\(number)")!
                async let job = try? Self.visit("job-\(number)", of: rider, jobs)
                try await gateway.register(rider)
                #expect(try await Self.declare("online", gateway, rider).status == 200)
                // The rider is refused while it is in the zone and offline.
                let assigned = await job.map { [$0] } ?? []
                #expect(try await Self.tasks(gateway, of: rider) == Set(assigned), "order \(number)")
            }
        }
    }
}

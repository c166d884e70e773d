import Access
import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Jobs

/// A job returns to its rider at one gateway while another one has still to release the rider's old task.
@Suite struct AssignedAgainTests {
    private static let rider = PersonID("rider-1")!
    private static let other = PersonID("rider-2")!
    private static let actor = PersonID("olga")!
    private static let rounds = 100

    /// Two gateways at one Redis, with two riders that are online and may have several tasks.
    private static func run(
        _ body:
            @escaping @Sendable (_ one: RunningGateway, _ first: JobService, _ second: JobService) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { one in
                let addresses = (one.settings.live, one.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: addresses) { other in
                    for rider in [Self.rider, Self.other] {
                        try await one.registerRider(rider.text, capacity: 5)
                        try await one.goOnline(rider)
                    }
                    try await body(one, other.jobs(), one.jobs())
                }
            }
        }
    }

    private static func order(_ number: Int, _ jobs: JobService) async throws -> JobID {
        let job = JobID("order-\(number)")!
        let new = NewJob(
            job: job, kind: .delivery, customer: PersonID("anna")!, rider: Self.rider, zone: RunningGateway.rome,
            actor: Self.actor)
        _ = try await jobs.create(new, epoch: "e\(number)").get()
        return job
    }

    /// The riders that have the task, and the one that has the job.
    private static func holders(of job: JobID, _ gateway: RunningGateway) async throws -> (
        has: [String], should: [String]
    ) {
        var has: [String] = []
        for rider in [Self.rider, Self.other] {
            let tasks = try await gateway.riders.tasks(of: rider, in: RunningGateway.rome).get()
            if tasks.contains(job) { has.append(rider.text) }
        }
        return (has, try await gateway.ledger.state(of: job).get()?.rider.map { [$0.text] } ?? [])
    }

    /// - Parameter holder: who has the job in between; `nil` for nobody.
    @Test(arguments: [nil, "rider-2"])
    func `a job that returns to its rider while another gateway takes it away is a task of its rider alone`(
        instead name: String?
    ) async throws {
        let holder = name.flatMap { PersonID($0) }
        try await Self.run { gateway, first, second in
            var isTheirs: Set<Bool> = []
            for number in 0..<Self.rounds {
                let job = try await Self.order(number, first)
                async let away = try? first.assign(job, to: .some(holder), of: nil, by: Self.actor).get()
                async let back = try? second.assign(job, to: .some(Self.rider), of: nil, by: Self.actor).get()
                async let again = try? second.assign(job, to: .some(Self.rider), of: nil, by: Self.actor).get()
                _ = await (away, back, again)
                let (has, should) = try await Self.holders(of: job, gateway)
                #expect(has == should, "order \(number)")
                isTheirs.insert(should == [Self.rider.text])
                _ = try await first.change(job, to: .cancelled, by: Self.actor, source: "rest").get()
            }
            #expect(isTheirs.contains(true))
        }
    }

    @Test func `a task that was released before the record named its rider becomes a task again`() async throws {
        try await Self.run { gateway, first, second in
            let job = try await Self.order(1, first)
            // What an assignment to the same rider does before the record is written.
            let task = try await second.acquireTask(job, for: Self.rider, from: nil, by: Self.actor).get()
            #expect(task?.isNew == false)
            try await first.release(job, of: Self.rider, because: .reassigned, by: Self.actor).get()
            #expect(try await Self.holders(of: job, gateway).has.isEmpty)
            try await second.confirmTask(job, task, of: Self.rider, by: Self.actor).get()
            let (has, should) = try await Self.holders(of: job, gateway)
            #expect(has == [Self.rider.text] && should == has)
        }
    }
}

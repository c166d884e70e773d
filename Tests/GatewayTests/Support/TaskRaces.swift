// What tests of simultaneous changes at two gateways share: a rider's task and the job's record.

import Access
import EnrouteWire
import LiveState
import TestSupport

@testable import Gateway
@testable import Jobs

/// A suite whose tests change tasks and jobs at two gateways at the same time.
protocol TaskRaces: SendableMetatype {}

extension TaskRaces {
    static var rider: PersonID { PersonID("rider-1")! }
    static var other: PersonID { PersonID("rider-2")! }
    static var actor: PersonID { PersonID("olga")! }

    /// Two gateways at one Redis, with two riders that are online.
    ///
    /// - Parameter capacity: the number of tasks that each rider may have.
    static func run(
        capacity: Int = 1,
        _ body:
            @escaping @Sendable (_ one: RunningGateway, _ first: JobService, _ second: JobService) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { one in
                let addresses = (one.settings.live, one.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: addresses) { other in
                    for rider in [Self.rider, Self.other] {
                        try await one.registerRider(rider.text, capacity: capacity)
                        try await one.goOnline(rider)
                    }
                    try await body(one, other.jobs(), one.jobs())
                }
            }
        }
    }

    /// A delivery of the rider's, moved to each of `statuses` in turn.
    static func order(_ number: Int, _ jobs: JobService, at statuses: [JobStatus] = []) async throws -> JobID {
        let job = JobID("order-\(number)")!
        let new = NewJob(
            job: job, kind: .delivery, customer: PersonID("anna")!, rider: Self.rider, zone: RunningGateway.rome,
            actor: Self.actor)
        _ = try await jobs.create(new, epoch: "e\(number)").get()
        for status in statuses {
            _ = try await jobs.change(job, to: status, by: Self.actor, source: "rest").get()
        }
        return job
    }

    /// The riders that have the task, and those that should have it.
    static func holders(of job: JobID, _ gateway: RunningGateway) async throws -> (
        has: [String], should: [String]
    ) {
        var has: [String] = []
        for rider in [Self.rider, Self.other] {
            let tasks = try await gateway.riders.tasks(of: rider, in: RunningGateway.rome).get()
            if tasks.contains(job) { has.append(rider.text) }
        }
        let state = try await gateway.ledger.state(of: job).get()
        return (has, state.flatMap { $0.status.end == nil ? $0.rider?.text : nil }.map { [$0] } ?? [])
    }
}

import Access
import EnrouteWire
import HTTPValues
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Jobs

/// A rider's task and the job's record are changed at two gateways at the same time. Afterwards they agree: the rider
/// of an open job has the task, and nobody has the task of a job that has ended.
@Suite struct TaskRaceTests: TaskRaces {
    private static let toDelivered: [JobStatus] = [.accepted, .preparing, .readyForPickup, .inTransit, .delivered]

    private static func correct(_ job: JobID, to status: JobStatus, _ jobs: JobService) async -> Bool {
        let correction = StatusCorrection(to: status, because: "It was the wrong order.", by: Self.actor)
        let made = jobs.correct(job, correction) { _ in jobs.loop.makeSucceededVoidFuture() }
        return (try? await made.get()) != nil
    }

    private static func end(_ job: JobID, _ jobs: JobService) async {
        _ = try? await jobs.change(job, to: .cancelled, by: Self.actor, source: "rest").get()
    }

    @Test func `two corrections of one job at once leave its rider with the task`() async throws {
        try await Self.run { gateway, first, second in
            for number in 0..<60 {
                let job = try await Self.order(number, first, at: Self.toDelivered)
                async let one = Self.correct(job, to: .inTransit, first)
                async let two = Self.correct(job, to: .readyForPickup, second)
                let made = await [one, two]
                let (has, should) = try await Self.holders(of: job, gateway)
                #expect(has == should && has == [Self.rider.text] && made.contains(true), "order \(number)")
                await Self.end(job, first)
            }
        }
    }

    @Test func `an end and its correction at once leave task and job alike`() async throws {
        try await Self.run { gateway, first, second in
            var isOpen: Set<Bool> = []
            for number in 0..<60 {
                let job = try await Self.order(number, first, at: Array(Self.toDelivered.dropLast()))
                async let end = try? first.change(job, to: .delivered, by: Self.actor, source: "rest").get()
                async let corrected = Self.correct(job, to: .readyForPickup, second)
                async let again = Self.correct(job, to: .inTransit, second)
                _ = await (end, corrected, again)
                let (has, should) = try await Self.holders(of: job, gateway)
                #expect(has == should, "order \(number)")
                isOpen.insert(!should.isEmpty)
                await Self.end(job, first)
            }
            #expect(isOpen.contains(true))
        }
    }

    @Test func `the late cleanup of an end does not remove the task of a job that was corrected meanwhile`()
        async throws
    {
        try await Self.run { gateway, first, second in
            let job = try await Self.order(1, first, at: Self.toDelivered)
            #expect(await Self.correct(job, to: .inTransit, second))
            let deadline = try await second.startTravel(job, by: Self.rider, on: .requests).get()
            // The work that the first gateway still had to do for `delivered`.
            try await first.finish(job, by: Self.actor).get()
            let (has, should) = try await Self.holders(of: job, gateway)
            #expect(has == [Self.rider.text] && should == has)
            let feed = try await gateway.feed.read(job).get()
            #expect(feed.deadline == deadline)
            let state = try await gateway.riders.read(Self.rider, in: RunningGateway.rome).get()?.tasks[job]
            #expect(state == .inTransit, "the task is where the job is")
        }
    }

    @Test func `a job that ends while it is handed over leaves no task`() async throws {
        try await Self.run { gateway, first, second in
            for number in 0..<60 {
                let job = try await Self.order(number, first, at: [.accepted])
                async let handedOver = try? first.assign(
                    job, to: .some(Self.other), of: nil, by: Self.actor, from: .only(Self.rider)
                ).get()
                async let ended = try? second.change(job, to: .cancelled, by: Self.actor, source: "rest").get()
                _ = await (handedOver, ended)
                let (has, should) = try await Self.holders(of: job, gateway)
                #expect(has == should, "order \(number)")
                await Self.end(job, first)
            }
        }
    }

    @Test func `a job that is opened again while it is assigned goes to no rider that is offline`() async throws {
        try await Self.run { gateway, first, second in
            try await gateway.goOffline(Self.other)
            for number in 0..<60 {
                let job = try await Self.order(number, first, at: Self.toDelivered)
                async let corrected = Self.correct(job, to: .preparing, first)
                async let assigned = try? second.assign(
                    job, to: .some(Self.other), of: nil, by: Self.actor, from: .only(Self.rider)
                ).get()
                let isAssigned = await (corrected, assigned).1 != nil
                let (has, should) = try await Self.holders(of: job, gateway)
                #expect(!isAssigned && has == [Self.rider.text] && should == has, "order \(number)")
                await Self.end(job, first)
            }
        }
    }

    @Test func `an assignment that a newer one supersedes leaves no task behind`() async throws {
        try await Self.run { gateway, first, second in
            for number in 0..<60 {
                let job = try await Self.order(number, first, at: [.accepted])
                let at = WallClock.nowMilliseconds + 1_000
                async let older = try? first.assign(
                    job, to: .some(Self.other), of: nil, by: Self.actor, occurredAt: at
                ).get()
                async let newer = try? second.assign(
                    job, to: .some(nil), of: nil, by: Self.actor, occurredAt: at + 1
                ).get()
                _ = await (older, newer)
                let (has, should) = try await Self.holders(of: job, gateway)
                #expect(has == should, "order \(number)")
                await Self.end(job, first)
            }
        }
    }

    @Test func `a job that is corrected while it is erased leaves no task behind`() async throws {
        try await Self.run { gateway, first, second in
            for number in 0..<60 {
                let job = try await Self.order(number, first, at: Self.toDelivered)
                async let corrected = Self.correct(job, to: .inTransit, first)
                async let erased: Void? = try? second.erase(job, by: Self.actor) { _ in
                    second.loop.makeSucceededVoidFuture()
                }.get().value
                _ = await (corrected, erased)
                let (has, should) = try await Self.holders(of: job, gateway)
                #expect(has == should, "order \(number)")
            }
        }
    }

    @Test func `a rider who cannot get the task of an open job is unassigned`() async throws {
        try await Self.run { gateway, first, _ in
            let job = try await Self.order(1, first, at: [.accepted])
            _ = try await gateway.riders.release(
                job, of: Self.rider, in: RunningGateway.rome, because: .reassigned, by: .init(Self.actor)
            ).get()
            try await gateway.goOffline(Self.rider)
            try await first.settleTask(job, of: Self.rider, because: .reassigned, by: Self.actor).get()
            let record = try #require(try await gateway.ledger.recover(job).get()?.record)
            #expect(record.rider == nil && record.status == .accepted)
        }
    }

    @Test func `a rider who moves to another zone during an assignment has the task there`() async throws {
        try await Self.run { gateway, first, _ in
            let zones = ["rome", "milan"]
            for number in 0..<30 {
                let job = try await Self.order(number, first, at: [.accepted])
                _ = try await first.assign(job, to: .some(nil), of: nil, by: Self.actor).get()
                async let moved = gateway.rest(
                    "PUT", "/api/v1/riders/rider-2", by: "orders", .service,
                    #"{"zone":"\#(zones[(number + 1) % 2])","approved":true,"capacity":1}"#)
                async let assigned = try? first.assign(job, to: .some(Self.other), of: nil, by: Self.actor).get()
                _ = try await (moved, assigned)
                let zone = try #require(try await gateway.riders.zone(of: Self.other).get())
                let tasks = try await gateway.riders.tasks(of: Self.other, in: zone).get()
                let isTheirs = try await gateway.ledger.state(of: job).get()?.rider == Self.other
                #expect(tasks.contains(job) == isTheirs, "order \(number) in \(zone)")
                await Self.end(job, first)
                let home = try #require(try await gateway.riders.zone(of: Self.other).get())
                if home.text != zones[(number + 1) % 2] {
                    _ = try await gateway.rest(
                        "PUT", "/api/v1/riders/rider-2", by: "orders", .service,
                        #"{"zone":"\#(zones[(number + 1) % 2])","approved":true,"capacity":1}"#)
                }
                _ = try await gateway.riders.setOnline(
                    Self.other, in: ZoneID(zones[(number + 1) % 2])!, by: .init(Self.other)
                ).get()
            }
        }
    }

    @Test func `a rider whose zone does not know it can have a job, as if it were in none`() async throws {
        try await Self.run { gateway, first, _ in
            let stray = PersonID("rider-9")!
            _ = try await gateway.client.run("SET", gateway.settings.liveState.keyspace.home(of: stray), "rome")
            let job = try await Self.order(1, first, at: [.accepted])
            let assigned = try await first.assign(job, to: .some(stray), of: nil, by: Self.actor).get()
            #expect(assigned.value.parties.rider == stray)
        }
    }

    @Test func `a repeated erasure erases what was left after the record`() async throws {
        try await Self.run { gateway, first, _ in
            let job = try await Self.order(1, first, at: [.accepted])
            let erase = { first.erase(job, by: Self.actor) { _ in first.loop.makeSucceededVoidFuture() } }
            _ = try await erase().get()
            let position = gateway.settings.liveState.keyspace.position(of: job)
            _ = try await gateway.client.run("SET", position, "here")
            await #expect(throws: Refused.self) { _ = try await erase().get() }
            #expect(try await gateway.client.run("EXISTS", position) == .integer(0))
        }
    }

    @Test func `a job that is erased while another request creates it again leaves no task`() async throws {
        try await Self.run { gateway, first, second in
            let job = try await Self.order(1, first, at: [])
            _ = try await first.erase(job, by: Self.actor) { _ in first.loop.makeSucceededVoidFuture() }.get()
            let new = NewJob(
                job: job, kind: .delivery, customer: PersonID("anna")!, rider: Self.rider, zone: RunningGateway.rome,
                actor: Self.actor)
            // The other request has looked for the job before it was created the first time.
            let creation = try await second.createAnew(new, epoch: "e1").get().value
            #expect(creation == .erased)
            let (has, should) = try await Self.holders(of: job, gateway)
            #expect(has.isEmpty && should.isEmpty, "\(has)")
        }
    }

    @Test func `an erasure that is finished late takes nothing from a job that was created again meanwhile`()
        async throws
    {
        try await Self.run { gateway, _, jobs in
            let keyspace = gateway.settings.liveState.keyspace
            let job = try await Self.order(1, jobs, at: [.accepted])
            let list = keyspace.jobs(ofCustomer: PersonID("anna")!)
            _ = try await gateway.client.run("DEL", list)
            _ = try await gateway.client.run("SET", list, "malformed")
            let erasure = try await gateway.rest("DELETE", "/api/v1/jobs/\(job)", by: "orders", .service)
            #expect(erasure.status >= 500, "\(erasure.text)")
            #expect(try await gateway.ledger.wasErased(job).get())
            _ = try await gateway.client.run("DEL", list)
            let new = NewJob(
                job: job, kind: .delivery, customer: PersonID("anna")!, rider: Self.rider, zone: RunningGateway.rome,
                actor: Self.actor)
            _ = try await jobs.create(new, epoch: "e2").get()
            let position = keyspace.position(of: job)
            _ = try await gateway.client.run("SET", position, "here")
            let finished = "enroute_unfinished_changes_total{outcome=\"finished\"} 1\n"
            try await becomes("the erasure is finished") {
                try await gateway.manage("/metrics").text.contains(finished)
            }
            #expect(try await gateway.client.run("EXISTS", position) == .integer(1))
            #expect(try await gateway.client.run("ZSCORE", list, job.text) != .null)
            let (has, should) = try await Self.holders(of: job, gateway)
            #expect(has == [Self.rider.text] && should == has)
        }
    }
}

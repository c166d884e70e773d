import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct JobLedgerTests {
    @Test func `a job is created once and can be read back`() async throws {
        try await Stage.set { stage in
            let new = NewJob(job: Stage.job, kind: .service, customer: Stage.customer, actor: Stage.rider)
            guard case .created("epoch-1", let id) = try await stage.ledger.create(new, epoch: "epoch-1").get() else {
                Issue.record("not created")
                return
            }
            let again = try await stage.ledger.create(new, epoch: "epoch-2").get()
            #expect(again == .exists(epoch: "epoch-1", head: id))
        }
    }

    @Test func `a status that may follow the current one is applied, and any other is refused with the current one`()
        async throws
    {
        try await Stage.set { stage in
            let ledger = stage.ledger
            func publish(_ status: JobStatus) async throws -> JobLedger.Transition {
                try await ledger.publish(status, of: Stage.job, by: Stage.rider, source: "socket", request: "r-1").get()
            }
            #expect(try await publish(.accepted) == .noSuchJob)
            let first = try await stage.createJob().head
            #expect(try await publish(.delivered) == .notAllowed(from: .pendingVendorAcceptance))
            // No status precedes the first one.
            #expect(try await publish(.pendingVendorAcceptance) == .notAllowed(from: .pendingVendorAcceptance))
            guard case .published(let event) = try await publish(.accepted) else {
                Issue.record("not published")
                return
            }
            #expect(event.epoch == "epoch-1")
            #expect(event.previous == first)
            #expect(event.status == .accepted)
            let overtaken = try await ledger.publish(
                .preparing, of: Stage.job, by: Stage.rider, source: "rest", expected: ExpectedHead(id: first)
            ).get()
            #expect(overtaken == .overtaken(status: .accepted, head: event.id))
        }
    }

    @Test func `every status that ends travel mode is recorded as such`() async throws {
        for (kind, way) in [
            (JobKind.delivery, Stage.statusesUntilTransit + [.delivered]), (.service, [.onTheWay, .workInProgress]),
        ] {
            try await Stage.set { stage in
                try await stage.createJob(kind, through: way.dropLast())
                _ = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get()
                #expect(try await stage.ledger.recover(Stage.job).get()?.record.isTravelling == true)
                try await stage.publish(way[way.count - 1])
                #expect(try await stage.ledger.recover(Stage.job).get()?.record.isTravelling == false)
            }
        }
    }

    @Test func `each reply to a start of travel mode becomes its case`() async throws {
        try await Stage.set { stage in
            let ledger = stage.ledger
            func start(_ rider: PersonID = Stage.rider) async throws -> JobLedger.Travel {
                try await ledger.startTravel(for: Stage.job, by: rider).get()
            }
            #expect(try await start() == .noSuchJob)
            try await stage.createJob(through: Stage.statusesUntilTransit.dropLast())
            #expect(try await start() == .notInStatus(.readyForPickup))
            #expect(try await start(Stage.customer) == .otherRider)
            try await stage.publish(.inTransit)
            guard case .on(let deadline, let fence) = try await start() else {
                Issue.record("not on")
                return
            }
            #expect(try await start() == .on(deadline: deadline, fence: fence + 1))
            try await stage.client.run("HSET", stage.jobKey, "travel_deadline", "1700000000000")
            #expect(try await start() == .timeLimit(deadline: 1_700_000_000_000))
        }
    }

    @Test func `a stop returns the number of its decision, if the job exists and belongs to this rider`() async throws {
        try await Stage.set { stage in
            #expect(try await stage.ledger.stopTravel(for: Stage.job, by: nil).get() == .noSuchJob)
            try await stage.createJob(through: Stage.statusesUntilTransit)
            _ = try await stage.ledger.startTravel(for: Stage.job, by: Stage.rider).get()
            #expect(try await stage.ledger.stopTravel(for: Stage.job, by: Stage.customer).get() == .noSuchJob)
            #expect(try await stage.ledger.stopTravel(for: Stage.job, by: Stage.rider).get() == .off(fence: 2))
            #expect(try await stage.ledger.stopTravel(for: Stage.job, by: nil).get() == .wasOff(fence: 2))
        }
    }

    @Test func `a recovery contains the record and the missed events, or is a reset`() async throws {
        try await Stage.set { stage in
            #expect(try await stage.ledger.recover(Stage.job).get() == nil)
            let seen = try await stage.createJob(through: [.accepted]).head
            let events = [try await stage.publish(.preparing), try await stage.publish(.readyForPickup)]
            let since = ResumePoint(epoch: "epoch-1", id: seen)
            let recovery = try #require(try await stage.ledger.recover(Stage.job, since: since).get())
            #expect(recovery.missed == events)
            #expect(!recovery.isReset)
            #expect(recovery.record.kind == .delivery)
            #expect(recovery.record.customer == Stage.customer)
            #expect(recovery.record.rider == Stage.rider)
            #expect(recovery.record.zone == ZoneID("berlin"))
            #expect(recovery.record.destination == Coordinate(latitude: 52.5, longitude: 13.4))
            #expect(recovery.record.vendor == nil)
            #expect(recovery.record.status == .readyForPickup)
            #expect(recovery.record.head == events[1].id)
            #expect(recovery.record.statusAt == events[1].at)
            #expect(!recovery.record.isTravelling)
            #expect(recovery.record.travelDeadline == nil)
            let other = ResumePoint(epoch: "epoch-0", id: seen)
            let reset = try #require(try await stage.ledger.recover(Stage.job, since: other).get())
            #expect(reset.isReset)
            #expect(reset.missed.isEmpty)
            #expect(reset.record == recovery.record)
        }
    }

    @Test func `a malformed record is an unexpected answer, not a job`() async throws {
        try await Stage.set { stage in
            try await stage.createJob()
            try await stage.client.run("HSET", stage.jobKey, "status", "flying")
            #expect(await failure(of: stage.ledger.recover(Stage.job)) == .unexpectedAnswer(command: "recover_job"))
        }
    }
}

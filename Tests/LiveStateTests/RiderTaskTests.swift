import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// Which riders may get a task, and how that changes the pool.
@Suite struct RiderTaskTests {
    @Test func `a rider is in the pool while it has fewer tasks than its capacity`() async throws {
        try await ZoneStage.set { stage in
            try await stage.online(capacity: 2)
            guard case .assigned = try await stage.assign(ZoneStage.jobs[0]) else {
                Issue.record("not the expected answer")
                return
            }
            #expect(try await stage.members() == [ZoneStage.rider])
            guard case .assigned = try await stage.assign(ZoneStage.jobs[1]) else {
                Issue.record("not the expected answer")
                return
            }
            #expect(try await stage.members() == [])
            #expect(try await stage.assign(ZoneStage.jobs[2]) == .full(Array(ZoneStage.jobs.prefix(2))))
            guard case .released = try await stage.release(ZoneStage.jobs[0]) else {
                Issue.record("not the expected answer")
                return
            }
            #expect(try await stage.members() == [ZoneStage.rider])
            #expect(try await stage.riders.owner(of: ZoneStage.jobs[0], in: ZoneStage.zone).get() == nil)
            #expect(try await stage.riders.owner(of: ZoneStage.jobs[1], in: ZoneStage.zone).get() == ZoneStage.rider)
        }
    }

    @Test func `a task belongs to one rider, and assigning it to that rider again changes nothing`() async throws {
        try await ZoneStage.set { stage in
            try await stage.online()
            try await stage.online(ZoneStage.other)
            guard case .assigned(let version) = try await stage.assign(ZoneStage.jobs[0]) else {
                Issue.record("not the expected answer")
                return
            }
            try await stage.base.leavesEverythingUnchanged {
                let again = try await stage.assign(ZoneStage.jobs[0])
                #expect(again == .unchanged(version: version))
                let taken = try await stage.assign(ZoneStage.jobs[0], to: ZoneStage.other)
                #expect(taken == .taken(by: ZoneStage.rider))
                let foreign = try await stage.release(ZoneStage.jobs[0], of: ZoneStage.other)
                guard case .unchanged = foreign else {
                    Issue.record("\(foreign)")
                    return
                }
            }
            _ = try await stage.release(ZoneStage.jobs[0])
            guard case .assigned = try await stage.assign(ZoneStage.jobs[0], to: ZoneStage.other) else {
                Issue.record("not the expected answer")
                return
            }
        }
    }

    @Test func `a task that is handed over counts for both riders until it is released for the first`() async throws {
        try await ZoneStage.set { stage in
            let (job, zone) = (ZoneStage.jobs[0], ZoneStage.zone)
            for rider in [ZoneStage.rider, ZoneStage.other] { try await stage.online(rider) }
            _ = try await stage.assign(job)
            // The named rider does not have the task.
            #expect(
                try await stage.assign(job, to: ZoneStage.other, insteadOf: PersonID("third")!)
                    == .taken(by: ZoneStage.rider))
            guard case .assigned = try await stage.assign(job, to: ZoneStage.other, insteadOf: ZoneStage.rider) else {
                Issue.record("not the expected answer")
                return
            }
            for rider in [ZoneStage.rider, ZoneStage.other] {
                #expect(try await stage.goOffline(rider, by: .init(rider)) == .activeTasks([job]))
            }
            _ = try await stage.release(job)
            #expect(try await stage.riders.owner(of: job, in: zone).get() == ZoneStage.other)
            guard case .offline = try await stage.goOffline() else {
                Issue.record("not the expected answer")
                return
            }
            #expect(try await stage.goOffline(ZoneStage.other, by: .init(ZoneStage.other)) == .activeTasks([job]))
        }
    }

    @Test func `a task whose hand-over was not completed returns to its first rider, reachable or not`()
        async throws
    {
        try await ZoneStage.set { stage in
            let job = ZoneStage.jobs[0]
            for rider in [ZoneStage.rider, ZoneStage.other] { try await stage.online(rider) }
            _ = try await stage.assign(job)
            _ = try await stage.assign(job, to: ZoneStage.other, insteadOf: ZoneStage.rider)
            try await stage.client.run("HSET", stage.keys[0], "heartbeat", "\(try await stage.base.now() - 90_000)")
            _ = try await stage.release(job, of: ZoneStage.other)
            guard case .unchanged = try await stage.assign(job) else {
                Issue.record("not the expected answer")
                return
            }
            #expect(try await stage.riders.owner(of: job, in: ZoneStage.zone).get() == ZoneStage.rider)
            #expect(try await stage.assign(job, to: ZoneStage.other) == .taken(by: ZoneStage.rider))
        }
    }

    @Test func `a rider that is offline, not approved, unreachable or unknown gets no task`() async throws {
        try await ZoneStage.set { stage in
            #expect(try await stage.assign(ZoneStage.jobs[0]) == .noSuchRider)
            try await stage.describe()
            #expect(try await stage.assign(ZoneStage.jobs[0]) == .offline)
            try await stage.online()
            try await stage.describe(isApproved: false)
            #expect(try await stage.assign(ZoneStage.jobs[0]) == .notApproved)
            try await stage.describe()
            // No sweep has run yet, but by the clock the rider is silent.
            try await stage.client.run("HSET", stage.keys[0], "heartbeat", "\(try await stage.base.now() - 90_000)")
            #expect(try await stage.assign(ZoneStage.jobs[0]) == .unreachable)
            #expect(try await stage.record()?.tasks == [:])
            #expect(try await stage.client.run("HLEN", stage.owners) == .integer(0))
        }
    }

    @Test func `a job that a rider had before it entered the zone becomes its task if it is online`() async throws {
        try await ZoneStage.set { stage in
            let (rider, jobs) = (ZoneStage.rider, ZoneStage.jobs)
            #expect(try await stage.assign(jobs[0], insteadOf: rider) == .noSuchRider)
            try await stage.describe()
            #expect(try await stage.assign(jobs[0], insteadOf: rider) == .offline)
            try await stage.online()
            try await stage.online(ZoneStage.other)
            _ = try await stage.assign(jobs[2], to: ZoneStage.other)
            try await stage.describe(isApproved: false)
            try await stage.client.run("HSET", stage.keys[0], "heartbeat", "\(try await stage.base.now() - 90_000)")
            for job in jobs.prefix(2) {
                guard case .assigned = try await stage.assign(job, insteadOf: rider) else {
                    Issue.record("not the expected answer")
                    return
                }
            }
            #expect(try await stage.assign(jobs[2], insteadOf: rider) == .taken(by: ZoneStage.other))
            #expect(Set(try await stage.record()?.tasks.keys.map { $0 } ?? []) == Set(jobs.prefix(2)))
            guard case .activeTasks = try await stage.goOffline() else {
                Issue.record("not the expected answer")
                return
            }
        }
    }

    @Test func `a rider is joining from its registration until its jobs from before are tasks`() async throws {
        try await ZoneStage.set { stage in
            func isJoining() async throws -> Bool {
                try await stage.riders.isOnlineAndJoining(ZoneStage.rider, in: ZoneStage.zone).get()
            }
            #expect(try await !isJoining())
            try await stage.describe()
            #expect(try await !isJoining(), "the rider is offline")
            try await stage.online()
            #expect(try await isJoining())
            try await stage.riders.finishJoining(ZoneStage.rider, in: ZoneStage.zone).get()
            #expect(try await !isJoining())
            try await stage.describe(capacity: 3)
            #expect(try await !isJoining(), "only a new record is joining")
            _ = try await stage.goOffline()
            try await stage.online()
            #expect(try await !isJoining(), "the jobs are looked for once")
        }
    }

    @Test func `a rider whose record an older gateway wrote is joining once it is online`() async throws {
        try await ZoneStage.set { stage in
            // Older versions write these fields only.
            try await stage.client.run(
                "HSET", stage.keys[0], "status", "online", "reachable", "1", "approved", "1", "capacity", "1",
                "heartbeat", "\(try await stage.base.now())", "device", "", "version", "1")
            func isJoining() async throws -> Bool {
                try await stage.riders.isOnlineAndJoining(ZoneStage.rider, in: ZoneStage.zone).get()
            }
            #expect(try await isJoining())
            try await stage.riders.finishJoining(ZoneStage.rider, in: ZoneStage.zone).get()
            #expect(try await !isJoining())
        }
    }

    @Test func `a rider who was removed while joining is joining again afterwards`() async throws {
        try await ZoneStage.set { stage in
            try await stage.online()
            _ = try await stage.riders.remove(
                ZoneStage.rider, from: ZoneStage.zone, because: "", by: ZoneStage.service
            ).get()
            try await stage.riders.finishJoining(ZoneStage.rider, in: ZoneStage.zone).get()
            #expect(try await stage.client.run("EXISTS", stage.keys[0]) == .integer(0))
            try await stage.describe()
            try await stage.riders.finishJoining(ZoneStage.rider, in: ZoneStage.zone).get()
            try await stage.online()
            #expect(try await stage.riders.isOnlineAndJoining(ZoneStage.rider, in: ZoneStage.zone).get())
        }
    }

    @Test func `a repeated assignment gets the first reply, even if the task was released since`() async throws {
        try await ZoneStage.set { stage in
            try await stage.online()
            let first = try await stage.assign(ZoneStage.jobs[0], request: "r")
            _ = try await stage.release(ZoneStage.jobs[0])
            #expect(try await stage.assign(ZoneStage.jobs[0], request: "r") == first)
            #expect(try await stage.record()?.tasks == [:])
            #expect(try await stage.assign(ZoneStage.jobs[1], request: "r") == .otherRequest)
        }
    }

    @Test func `a task advances step by step and stays active`() async throws {
        try await ZoneStage.set { stage in
            let job = ZoneStage.jobs[0]
            func advance(_ state: TaskState) async throws -> Riders.Advance {
                try await stage.riders.advance(
                    job, of: ZoneStage.rider, in: ZoneStage.zone, to: state, by: .init(ZoneStage.rider)
                ).get().value
            }
            #expect(try await advance(.pickedUp) == .notTheirs)
            try await stage.online()
            #expect(try await advance(.pickedUp) == .notTheirs)
            _ = try await stage.assign(job)
            #expect(try await stage.record()?.tasks == [job: .accepted])
            #expect(try await advance(.inTransit) == .notAllowed(from: .accepted))
            for state in [TaskState.arrivedAtStore, .pickedUp, .inTransit] {
                guard case .advanced(let version) = try await advance(state) else {
                    Issue.record("not the expected answer")
                    return
                }
                #expect(try await advance(state) == .unchanged(version: version))
                #expect(try await stage.record()?.tasks == [job: state])
                #expect(try await stage.goOffline() == .activeTasks([job]))
            }
            #expect(try await advance(.pickedUp) == .notAllowed(from: .inTransit))
            let told = try await stage.nextChanges(6)
            #expect(told.suffix(3).map(\.kind) == [.arrivedAtStore, .pickedUp, .inTransit])
            #expect(told.suffix(4).allSatisfy { $0.job == job && $0.tasks == 1 })
        }
    }

    @Test func `every state but the first has a predecessor, and none precedes itself`() {
        for state in TaskState.allCases {
            #expect(state.predecessors.isEmpty == (state == .accepted))
            #expect(!state.predecessors.contains(state))
            #expect(RiderChange.Kind(rawValue: state.rawValue) != nil)
        }
    }
}

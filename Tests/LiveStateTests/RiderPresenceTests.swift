import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// Riders without heartbeats: reachability is separate from the declared status.
@Suite struct RiderPresenceTests {
    /// The result of the first sweep that finds something.
    private func found(_ stage: ZoneStage) async throws -> [Riders.Expiry] {
        var found: [Riders.Expiry] = []
        _ = try await eventually {
            found = try await stage.riders.sweep(ZoneStage.zone).get().map(\.expiry).filter { $0 != .unchanged }
            return !found.isEmpty
        }
        return found
    }

    @Test func `a silent rider leaves the pool and stays online, and later is set offline`() async throws {
        try await ZoneStage.set(ZoneStage.hasty) { stage in
            try await stage.online()
            guard case .unreachable? = try await self.found(stage).first else {
                Issue.record("not the expected answer")
                return
            }
            #expect(try await stage.members() == [])
            #expect(try await stage.record()?.status == .online)
            guard case .offline? = try await self.found(stage).first else {
                Issue.record("not the expected answer")
                return
            }
            let record = try #require(try await stage.record())
            #expect(record.status == .offline && record.reason == "expired")
            #expect(try await stage.riders.sweep(ZoneStage.zone).get().isEmpty)
            #expect(try await stage.nextChanges(4).map(\.kind) == [.created, .online, .unreachable, .offline])
        }
    }

    @Test func `a silent rider with a task is never set offline, which is published once until the task is released`()
        async throws
    {
        try await ZoneStage.set { stage in
            try await stage.online()
            _ = try await stage.assign(ZoneStage.jobs[0])
            let hasty = Riders(ledger: stage.client, settings: ZoneStage.hasty)
            var expiry = Riders.Expiry.unchanged
            _ = try await eventually {
                expiry = try await hasty.expire(ZoneStage.rider, in: ZoneStage.zone).get()
                return expiry != .unchanged
            }
            guard case .unreachableWithTasks([ZoneStage.jobs[0]], _) = expiry else {
                Issue.record("\(expiry)")
                return
            }
            #expect(try await stage.record()?.status == .online)
            for _ in 0..<3 {
                #expect(try await hasty.expire(ZoneStage.rider, in: ZoneStage.zone).get() == .unchanged)
                #expect(try await hasty.sweep(ZoneStage.zone).get().isEmpty)
            }
            // Staff search for exactly this change.
            let shown = try await hasty.online(in: ZoneStage.zone).get().shown
            #expect(shown.map(\.rider) == [ZoneStage.rider] && shown.first?.record.isReachable == false)
            _ = try await stage.release(ZoneStage.jobs[0])
            #expect(try await stage.members() == [])
            let swept = try await hasty.sweep(ZoneStage.zone).get()
            guard case .offline? = swept.first?.expiry else {
                Issue.record("\(swept)")
                return
            }
            let kinds = try await stage.nextChanges(6).map(\.kind)
            #expect(kinds == [.created, .online, .assigned, .unreachableWithTask, .released, .offline])
        }
    }

    @Test func `a malformed record of one rider does not hide that another rider with a task is unreachable`()
        async throws
    {
        try await ZoneStage.set { stage in
            try await stage.online(ZoneStage.other)
            try await stage.client.run(
                "HSET", stage.keyspace.rider(ZoneStage.other, in: ZoneStage.zone), "heartbeat", "malformed")
            try await stage.online()
            _ = try await stage.assign(ZoneStage.jobs[0])
            let hasty = Riders(ledger: stage.client, settings: ZoneStage.hasty)
            var found: [PersonID: Riders.Expiry] = [:]
            _ = try await eventually {
                // The riders went online with the default settings, so their checks are due much later.
                for rider in [ZoneStage.rider, ZoneStage.other] {
                    try await stage.client.run("ZADD", stage.due, "1", rider.text)
                }
                for (rider, expiry) in try await hasty.sweep(ZoneStage.zone).get() { found[rider] = expiry }
                return found[ZoneStage.rider] != .unchanged
            }
            #expect(found[ZoneStage.other] == .unchanged)
            guard case .unreachableWithTasks([ZoneStage.jobs[0]], _)? = found[ZoneStage.rider] else {
                Issue.record("\(found)")
                return
            }
        }
    }

    @Test func `of some riders, those who are online are found: also those with a task, and no unknown ones`()
        async throws
    {
        try await ZoneStage.set { stage in
            let asked = [ZoneStage.rider, ZoneStage.other, PersonID("unknown")!]
            #expect(try await stage.riders.online(asked, in: ZoneStage.zone).get().isEmpty)
            try await stage.online()
            try await stage.online(ZoneStage.other)
            _ = try await stage.assign(ZoneStage.jobs[0])
            #expect(
                try await stage.riders.online(asked, in: ZoneStage.zone).get() == [ZoneStage.rider, ZoneStage.other])
            _ = try await stage.goOffline(ZoneStage.other, by: .init(ZoneStage.other))
            #expect(try await stage.riders.online(asked, in: ZoneStage.zone).get() == [ZoneStage.rider])
            #expect(try await stage.riders.online([], in: ZoneStage.zone).get().isEmpty)
            try await stage.client.run("SET", stage.due, "malformed")
            await #expect(throws: RedisError.self) {
                try await stage.riders.online(asked, in: ZoneStage.zone).get()
            }
        }
    }

    @Test func `a heartbeat returns an unreachable rider to the pool`() async throws {
        try await ZoneStage.set { stage in
            try await stage.online()
            let hasty = Riders(ledger: stage.client, settings: ZoneStage.hasty)
            let isUnreachable = try await eventually {
                try await hasty.expire(ZoneStage.rider, in: ZoneStage.zone).get() != .unchanged
            }
            #expect(isUnreachable)
            #expect(try await stage.members() == [])
            #expect(try await stage.record()?.isReachable == false)
            let beat = try await stage.riders.heartbeat(of: ZoneStage.rider, in: ZoneStage.zone).get()
            guard case .recorded(_, isChanged: true) = beat else {
                Issue.record("\(beat)")
                return
            }
            #expect(try await stage.members() == [ZoneStage.rider])
            #expect(try await stage.nextChanges(4).map(\.kind) == [.created, .online, .unreachable, .reachable])
        }
    }

    @Test func `a rider with heartbeats is not changed, and an offline rider stays offline`() async throws {
        try await ZoneStage.set { stage in
            try await stage.online()
            let before = try #require(try await stage.record())
            #expect(try await stage.riders.expire(ZoneStage.rider, in: ZoneStage.zone).get() == .unchanged)
            #expect(try await stage.riders.sweep(ZoneStage.zone).get().isEmpty)
            guard
                case .recorded(before.version, isChanged: false) = try await stage.riders.heartbeat(
                    of: ZoneStage.rider, in: ZoneStage.zone
                ).get()
            else {
                Issue.record("not the expected answer")
                return
            }
            let after = try #require(try await stage.record())
            #expect(after.version == before.version)
            #expect(try #require(after.heartbeat) >= before.heartbeat ?? .max)
            #expect(try await stage.pool.read(ZoneStage.zone).get().members.first?.heartbeat == after.heartbeat)
            _ = try await stage.goOffline()
            let beat = try await stage.riders.heartbeat(of: ZoneStage.rider, in: ZoneStage.zone).get()
            #expect(beat == .offline)
            #expect(try await stage.riders.expire(ZoneStage.rider, in: ZoneStage.zone).get() == .unchanged)
            #expect(try await stage.client.run("ZCARD", stage.due) == .integer(0))
            let unknown = try await stage.riders.heartbeat(of: ZoneStage.other, in: ZoneStage.zone).get()
            #expect(unknown == .noSuchRider)
        }
    }

    @Test func `many gateways sweep at the same time, and each change is published once`() async throws {
        try await ZoneStage.set(ZoneStage.hasty) { stage in
            let riders = (0..<150).map { PersonID("rider-\($0)")! }
            for rider in riders { try await stage.online(rider) }
            let areAllOffline = try await eventually {
                let sweeps = (0..<4).map { _ in stage.riders.sweep(ZoneStage.zone) }
                var found = 0
                for sweep in sweeps { found += try await sweep.get().count }
                return found == 0
            }
            #expect(areAllOffline)
            let changes = try await stage.nextChanges(4 * riders.count)
            for kind in [RiderChange.Kind.unreachable, .offline] {
                #expect(Set(changes.filter { $0.kind == kind }.map(\.rider)) == Set(riders))
            }
            #expect(try await stage.base.hasNoMessages())
        }
    }

    @Test func `a repeated heartbeat counts, and its result shows when something has changed`() async throws {
        try await ZoneStage.set { stage in
            let riders = stage.riders
            func heartbeat(_ device: DeviceID? = nil) async throws -> Riders.RepeatedHeartbeat {
                let promise = stage.client.eventLoop.makePromise(of: Riders.RepeatedHeartbeat.self)
                stage.client.eventLoop.execute {
                    let command = riders.heartbeatCommand(of: ZoneStage.rider, in: ZoneStage.zone, device: device)
                    if !riders.repeatHeartbeat(command, { promise.succeed($0) }) {
                        promise.fail(RedisError.disconnected)
                    }
                }
                return try await promise.futureResult.get()
            }
            var outcome = try await heartbeat()
            #expect(outcome == .isUnusual, "no such rider, or the script is not known yet")
            try await stage.online()
            let before = try #require(try await stage.record()?.heartbeat)
            _ = try await riders.heartbeat(of: ZoneStage.rider, in: ZoneStage.zone).get()
            #expect(
                try await eventually {
                    outcome = try await heartbeat()
                    let now = try await stage.record()?.heartbeat
                    return outcome == .recorded && now.map { $0 > before } == true
                })
            _ = try await riders.heartbeat(
                of: ZoneStage.rider, in: ZoneStage.zone, device: DeviceID("phone-1"), takesOver: true
            ).get()
            outcome = try await heartbeat(DeviceID("phone-2"))
            #expect(outcome == .isUnusual, "another device")
            stage.client.stop()
            await #expect(throws: RedisError.disconnected) { try await heartbeat() }
        }
    }
}

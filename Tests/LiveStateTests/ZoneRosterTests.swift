import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// Which riders of a zone are shown first, and how many of all riders are free or busy.
@Suite struct ZoneRosterTests {
    private static func riders(_ names: String...) -> [PersonID] { names.map { PersonID($0)! } }

    @Test func `each online rider is in one group, and a rider with a task is not free although it may get another`() {
        let roster = ZoneRoster(
            online: Self.riders("free", "full", "room", "idle", "mute", "barred"),
            unreachableWithTask: Self.riders("mute"), available: Self.riders("room", "free", "gone"),
            taskOwners: Self.riders("full", "room", "full", "mute", "gone"))
        #expect(roster.unreachableWithTask == Self.riders("mute"))
        #expect(roster.busy == Self.riders("full", "room") && roster.free == Self.riders("free"))
        #expect(roster.others == Self.riders("idle", "barred"))
    }

    @Test func `riders that matter most come first, and of the group that does not fit those with the first ids`() {
        func roster(_ online: [PersonID]) -> ZoneRoster {
            ZoneRoster(
                online: online, unreachableWithTask: Self.riders("z"), available: Self.riders("c", "b", "a"),
                taskOwners: Self.riders("y", "z"))
        }
        let online = Self.riders("d", "c", "y", "b", "a", "z")
        for online in [online, online.reversed()] {
            let roster = roster(online)
            #expect(roster.first(0).isEmpty && roster.first(1) == Self.riders("z"))
            #expect(roster.first(2) == Self.riders("z", "y"))
            #expect(roster.first(4) == Self.riders("z", "y", "a", "b"))
            #expect(Set(roster.first(5)) == Set(Self.riders("z", "y", "a", "b", "c")))
            #expect(Set(roster.first(100)) == Set(online))
        }
        #expect(ZoneRoster(online: [], unreachableWithTask: [], available: [], taskOwners: []).first(9).isEmpty)
    }

    /// With the default delay of 30 min before an unreachable rider is set offline.
    private static var hasty: LiveStateSettings {
        var settings = LiveStateSettings()
        settings.heartbeatTimeout = .milliseconds(1)
        return settings
    }

    private static func unreachable(_ rider: PersonID, _ stage: ZoneStage) async throws {
        let hasty = Riders(ledger: stage.client, settings: Self.hasty)
        try await becomes("\(rider) is unreachable") {
            try await hasty.expire(rider, in: ZoneStage.zone).get() != .unchanged
        }
    }

    @Test func `more unreachable riders than are shown do not hide reachable ones, and all riders are counted`()
        async throws
    {
        try await ZoneStage.set { stage in
            let silent = (0..<Riders.maxOnlineRiders + 100).map { PersonID("idle-\($0)")! }
            for rider in silent { try await stage.online(rider) }
            for rider in silent { try await Self.unreachable(rider, stage) }
            // Their ids come last, and their next checks are due first.
            let (free, busy, full) = (Self.riders("z-1", "z-2", "z-3"), PersonID("z-4")!, PersonID("z-5")!)
            for rider in free { try await stage.online(rider) }
            try await stage.online(busy, capacity: 2)
            for rider in [full, ZoneStage.rider] { try await stage.online(rider) }
            for (job, rider) in zip(ZoneStage.jobs, [busy, full, ZoneStage.rider]) {
                _ = try await stage.assign(job, to: rider)
            }
            try await Self.unreachable(ZoneStage.rider, stage)

            let online = try await stage.riders.online(in: ZoneStage.zone).get()
            #expect(Set(online.roster.free) == Set(free) && Set(online.roster.busy) == [busy, full])
            #expect(online.roster.unreachableWithTask == [ZoneStage.rider])
            #expect(Set(online.roster.others) == Set(silent))
            let shown = online.shown.map(\.rider)
            #expect(shown.count == Riders.maxOnlineRiders && Set(shown).isSuperset(of: free + [busy, full]))
            #expect(shown.contains(ZoneStage.rider) && shown.map(\.text) == shown.map(\.text).sorted())
            for each in online.shown {
                let isReachable = free.contains(each.rider) || [busy, full].contains(each.rider)
                #expect(each.record.isReachable == isReachable, "\(each)")
            }
            // Heartbeats change the order of the checks, but not who is shown.
            for rider in free { _ = try await stage.riders.heartbeat(of: rider, in: ZoneStage.zone).get() }
            #expect(try await stage.riders.online(in: ZoneStage.zone).get().shown.map(\.rider) == shown)
        }
    }
}

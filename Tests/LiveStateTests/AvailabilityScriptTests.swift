import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// A rider's declared status and its effect on the pool.
@Suite struct AvailabilityScriptTests {
    private static let phone = DeviceID("phone-1")!
    private static let tablet = DeviceID("tablet-1")!

    @Test func `an approved rider joins the pool when it goes online, and leaves it when it goes offline`() async throws
    {
        try await ZoneStage.set { stage in
            try await stage.online()
            #expect(try await stage.members() == [ZoneStage.rider])
            let online = try #require(try await stage.record())
            #expect(online.status == .online && online.isReachable && online.isAvailable && online.reason == nil)
            guard case .offline(let version) = try await stage.goOffline(because: "lunch") else {
                Issue.record("not offline")
                return
            }
            #expect(try await stage.members() == [])
            let offline = try #require(try await stage.record())
            #expect(offline.status == .offline && !offline.isAvailable && !offline.isReachable)
            #expect(offline.version == version && offline.reason == "lunch")
            #expect(try #require(offline.statusAt) >= online.statusAt ?? .max)
            #expect(try await stage.goOffline() == .unchanged(version: version))
        }
    }

    @Test func `a rider that is unknown or not approved cannot go online`() async throws {
        try await ZoneStage.set { stage in
            func go() async throws -> Riders.Online {
                try await stage.riders.setOnline(ZoneStage.rider, in: ZoneStage.zone, by: .init(ZoneStage.rider)).get()
                    .value
            }
            #expect(try await go() == .noSuchRider)
            #expect(try await stage.goOffline() == .noSuchRider)
            try await stage.describe(isApproved: false)
            #expect(try await go() == .notApproved)
            #expect(try await stage.record()?.status == .offline)
            #expect(try await stage.members() == [])
        }
    }

    @Test func `a rider with an active task is not set offline, not even by operations, and the task is named`()
        async throws
    {
        try await ZoneStage.set { stage in
            try await stage.online(capacity: 2)
            for job in ZoneStage.jobs.prefix(2) {
                guard case .assigned = try await stage.assign(job) else {
                    Issue.record("\(job)")
                    return
                }
            }
            for requester in [ZoneStage.rider, PersonID("ops-1")!] {
                try await stage.base.leavesEverythingUnchanged {
                    let answer = try await stage.goOffline(because: "sent home", by: .init(requester))
                    #expect(answer == .activeTasks(Array(ZoneStage.jobs.prefix(2))))
                }
            }
            _ = try await stage.release(ZoneStage.jobs[0])
            #expect(try await stage.goOffline() == .activeTasks([ZoneStage.jobs[1]]))
            _ = try await stage.release(ZoneStage.jobs[1])
            guard case .offline = try await stage.goOffline() else {
                Issue.record("not offline")
                return
            }
        }
    }

    @Test func `a request id is executed once, and a different call with it is refused`() async throws {
        try await ZoneStage.set { stage in
            try await stage.describe()
            let requester = Riders.Requester(ZoneStage.rider, request: "r-1")
            let riders = stage.riders
            func online(_ device: DeviceID? = nil) async throws -> Riders.Online {
                try await riders.setOnline(ZoneStage.rider, in: ZoneStage.zone, device: device, by: requester).get()
                    .value
            }
            let first = try await online()
            _ = try await stage.goOffline()
            try await stage.base.leavesEverythingUnchanged {
                let again = try await online()
                #expect(again == first)
                let other = try await online(Self.phone)
                #expect(other == .otherRequest)
                let offline = try await stage.goOffline(by: requester)
                #expect(offline == .otherRequest)
            }
            let key = stage.keyspace.request("r-1", of: ZoneStage.rider, in: ZoneStage.zone)
            #expect((86_300_000...86_400_000).contains(try await stage.client.timeLeft(of: key)))
            // Refusals are stored too.
            try await stage.online()
            _ = try await stage.assign(ZoneStage.jobs[0])
            let late = Riders.Requester(ZoneStage.rider, request: "r-2")
            #expect(try await stage.goOffline(by: late) == .activeTasks([ZoneStage.jobs[0]]))
            _ = try await stage.release(ZoneStage.jobs[0])
            #expect(try await stage.goOffline(by: late) == .activeTasks([ZoneStage.jobs[0]]))
        }
    }

    @Test func `a request id belongs to its actor: another person's request with it is executed`() async throws {
        try await ZoneStage.set { stage in
            try await stage.online()
            let (first, second) = (PersonID("ops-1")!, PersonID("ops-2")!)
            guard case .offline = try await stage.goOffline(by: .init(first, request: "r-1")) else {
                Issue.record("not offline")
                return
            }
            try await stage.online()
            guard case .offline(let version) = try await stage.goOffline(by: .init(second, request: "r-1")) else {
                Issue.record("not offline again")
                return
            }
            #expect(try await stage.record()?.version == version)
            try await stage.base.leavesEverythingUnchanged {
                let again = try await stage.goOffline(by: .init(second, request: "r-1"))
                #expect(again == .offline(version: version))
            }
        }
    }

    @Test func `of two devices the latest one is the rider's, and heartbeats of the other do not count`() async throws {
        try await ZoneStage.set { stage in
            try await stage.online(device: Self.phone)
            func beat(_ device: DeviceID?, takesOver: Bool = false) async throws -> Riders.Heartbeat {
                try await stage.riders.heartbeat(
                    of: ZoneStage.rider, in: ZoneStage.zone, device: device, takesOver: takesOver
                ).get()
            }
            guard case .recorded(_, isChanged: false) = try await beat(Self.phone) else {
                Issue.record("not the expected answer")
                return
            }
            let before = try await stage.record()
            #expect(try await beat(Self.tablet) == .otherDevice(Self.phone))
            #expect(try await stage.record() == before)
            guard case .recorded(_, isChanged: true) = try await beat(Self.tablet, takesOver: true) else {
                Issue.record("not the expected answer")
                return
            }
            #expect(try await stage.record()?.device == Self.tablet)
            #expect(try await beat(Self.phone) == .otherDevice(Self.tablet))
            guard case .recorded(_, isChanged: false) = try await beat(nil) else {
                Issue.record("not the expected answer")
                return
            }
            // A status that the rider declares is newer than any heartbeat.
            let tapped = try await stage.riders.setOnline(
                ZoneStage.rider, in: ZoneStage.zone, device: Self.phone, by: .init(ZoneStage.rider)
            ).get().value
            guard case .online = tapped else {
                Issue.record("\(tapped)")
                return
            }
            #expect(try await stage.record()?.device == Self.phone)
            let log = try await stage.client.run("XRANGE", stage.keys[3], "-", "+").array ?? []
            let devices = log.compactMap { entry -> String? in
                let words = entry.array?.last?.array?.compactMap(\.text) ?? []
                return stride(from: 0, to: words.count, by: 2).first { words[$0] == "device" }.map { words[$0 + 1] }
            }
            #expect(Array(devices.suffix(3)) == ["phone-1", "tablet-1", "phone-1"])
        }
    }

    @Test func `withdrawn approval removes a rider from the pool immediately; with a task it drains`() async throws {
        try await ZoneStage.set { stage in
            try await stage.online(capacity: 2)
            _ = try await stage.assign(ZoneStage.jobs[0])
            try await stage.describe(isApproved: false, capacity: 2)
            let draining = try #require(try await stage.record())
            #expect(draining.isDraining && draining.status == .online && !draining.isAvailable)
            #expect(try await stage.assign(ZoneStage.jobs[1]) == .notApproved)
            _ = try await stage.release(ZoneStage.jobs[0])
            #expect(try await stage.members() == [])
            let drained = try #require(try await stage.record())
            #expect(!drained.isDraining && drained.status == .online)
            try await stage.describe(isApproved: true, capacity: 2)
            #expect(try await stage.members() == [ZoneStage.rider])
            let kinds = try await stage.nextChanges(6).map(\.kind)
            #expect(kinds == [.created, .online, .assigned, .withdrawn, .released, .approved])
        }
    }

    @Test func `a rider can move to another zone only without a task, and is offline there`() async throws {
        try await ZoneStage.set { stage in
            let hamburg = ZoneID("hamburg")!
            func move(_ request: String) async throws -> Riders.Description {
                try await stage.riders.describe(
                    ZoneStage.rider, in: hamburg, isApproved: true, capacity: 1,
                    by: .init(PersonID("s")!, request: request)
                ).get().value
            }
            try await stage.online()
            #expect(try await stage.riders.zone(of: ZoneStage.rider).get() == ZoneStage.zone)
            _ = try await stage.assign(ZoneStage.jobs[0])
            #expect(try await move("1") == .activeTasks([ZoneStage.jobs[0]], in: ZoneStage.zone))
            #expect(try await stage.riders.zone(of: ZoneStage.rider).get() == ZoneStage.zone)
            _ = try await stage.release(ZoneStage.jobs[0])
            guard case .created = try await move("2") else {
                Issue.record("not moved")
                return
            }
            #expect(try await stage.riders.zone(of: ZoneStage.rider).get() == hamburg)
            #expect(try await stage.members() == [])
            #expect(try await stage.record() == nil)
            #expect(try await stage.riders.read(ZoneStage.rider, in: hamburg).get()?.status == .offline)
            #expect(Set(try await stage.riders.zones().get()) == [hamburg, ZoneStage.zone])
            // A repeated request from before the move must not bring the rider back.
            let back = try await stage.riders.describe(
                ZoneStage.rider, in: ZoneStage.zone, isApproved: true, capacity: 1,
                by: .init(PersonID("s")!, request: "3")
            ).get().value
            guard case .created(let version) = back else {
                Issue.record("\(back)")
                return
            }
            guard case .created = try await move("2") else {
                Issue.record("another answer")
                return
            }
            #expect(try await stage.riders.zone(of: ZoneStage.rider).get() == ZoneStage.zone)
            #expect(try await stage.record()?.version == version)
            guard case .created = try await move("4") else {
                Issue.record("not moved")
                return
            }
            // A caller that was interrupted between the two steps repeats the call.
            _ = try await stage.riders.remove(
                ZoneStage.rider, from: hamburg, because: "left", by: .init(ZoneStage.rider)
            )
            .get()
            guard case .created = try await move("5") else {
                Issue.record("not described")
                return
            }
        }
    }

    @Test func `an unchanged description is not published again`() async throws {
        try await ZoneStage.set { stage in
            try await stage.describe(capacity: 3)
            _ = try await stage.nextChange()
            try await stage.base.leavesEverythingUnchanged { try await stage.describe(capacity: 3) }
            #expect(try await stage.base.hasNoMessages())
            try await stage.describe(capacity: 4)
            #expect(try await stage.nextChange().kind == .described)
        }
    }
}

import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// The scripts of tasks and heartbeats read everything before they write, so an error never leaves half a change.
@Suite struct RiderTaskScriptTests {
    private static let job = ZoneStage.jobs[0]
    private static let requester = Riders.Requester(ZoneStage.service.actor, request: "r")

    @Test(arguments: RiderFault.allCases.filter { $0 != .due })
    func `a task is not assigned in part because of malformed data`(fault: RiderFault) async throws {
        try await ZoneStage.set { stage in
            try await stage.online()
            try await stage.expectRefusal(of: fault) {
                stage.riders.assign(Self.job, to: ZoneStage.rider, in: ZoneStage.zone, by: Self.requester)
            }
        }
    }

    @Test(arguments: RiderFault.allCases.filter { $0 != .due && $0 != .owners })
    func `a task is not advanced in part because of malformed data`(fault: RiderFault) async throws {
        try await ZoneStage.set { stage in
            try await stage.riders.setUpTask(Self.job)
            try await stage.expectRefusal(of: fault) {
                stage.riders.advance(
                    Self.job, of: ZoneStage.rider, in: ZoneStage.zone, to: .pickedUp, by: Self.requester)
            }
        }
    }

    @Test(arguments: RiderFault.allCases)
    func `a task is not released in part because of malformed data`(fault: RiderFault) async throws {
        try await ZoneStage.set { stage in
            try await stage.riders.setUpTask(Self.job)
            try await stage.expectRefusal(of: fault) {
                stage.riders.release(
                    Self.job, of: ZoneStage.rider, in: ZoneStage.zone, because: .completed, by: Self.requester)
            }
        }
    }

    @Test(arguments: [RiderFault.noNumber, .endless, .noCapacity, .noDevice, .pool, .due])
    func `a heartbeat is not recorded in part because of malformed data`(fault: RiderFault) async throws {
        try await ZoneStage.set { stage in
            try await stage.online()
            try await stage.expectRefusal(of: fault) {
                stage.riders.heartbeat(of: ZoneStage.rider, in: ZoneStage.zone)
            }
        }
    }

    @Test(arguments: RiderFault.changesOfStatus)
    func `another device does not take over in part because of malformed data`(fault: RiderFault) async throws {
        try await ZoneStage.set { stage in
            try await stage.online()
            try await stage.expectRefusal(of: fault) {
                stage.riders.heartbeat(
                    of: ZoneStage.rider, in: ZoneStage.zone, device: DeviceID("phone-2"), takesOver: true)
            }
        }
    }

    @Test func `a rider is not removed in part because the zone's next checks are of another type`() async throws {
        try await ZoneStage.set { stage in
            try await stage.describe()
            try await stage.expectRefusal(of: .due) {
                stage.riders.remove(ZoneStage.rider, from: ZoneStage.zone, because: "left", by: Self.requester)
            }
        }
    }
}
